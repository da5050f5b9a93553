/* Addresses in kernels, and atomic operations. */
#include "ptx.h"

static bool usable(const ptx_runner *runner, const sim_block *block, bool writes)
{
    int device = runner->context->device;
    if (block->physical != NULL) {
        return sim_block_allows(block, device, writes);
    }
    if (block->type == CU_MEMORYTYPE_HOST || block->managed || block->device == device) {
        return true;
    }
    return block->pool != NULL ? block->pool->access >> device & 1
                               : runner->context->peers >> block->device & 1;
}

static void *reach_global(ptx_runner *runner, uint64_t address, size_t size, bool writes)
{
    const sim_map *map = runner->map;
    size_t low = 0, high = map->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map->blocks[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const sim_block *block = low > 0 ? &map->blocks[low - 1] : NULL;
    if (block == NULL || address - block->start >= block->size) {
        return sim.pageable ? (void *)(uintptr_t)address : NULL;
    }
    if (size > block->size - (address - block->start) || !usable(runner, block, writes)) {
        return NULL;
    }
    size_t entry = runner->way;
    runner->cache[entry].start = block->start;
    runner->cache[entry].size = block->size;
    runner->cache[entry].shadow = block->shadow;
    runner->cache[entry].writable = usable(runner, block, true);
    return (char *)(uintptr_t)address + block->shadow;
}

void *ptx_reach(ptx_runner *runner, ptx_fiber *fiber, uint64_t address, size_t size, bool writes)
{
    void *at = NULL;
    uint64_t offset = address & ~WINDOW_MASK;
    if ((address & (size - 1)) != 0) {
        runner->fault = CUDA_ERROR_MISALIGNED_ADDRESS;
        runner->fault_at = address;
        return NULL;
    }
    switch (address & WINDOW_MASK) {
        case SHARED_WINDOW:
            at = offset + size <= runner->shared_size ? runner->shared + offset : NULL;
            break;
        case LOCAL_WINDOW:
            at = offset + size <= fiber->room_local ? fiber->local + offset : NULL;
            break;
        case PARAM_WINDOW:
            at = offset + size <= fiber->room_params ? fiber->params + offset : NULL;
            break;
        default:
            at = reach_global(runner, address, size, writes);
    }
    if (at == NULL) {
        runner->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
        runner->fault_at = address;
    }
    return at;
}

static uint64_t combine(int kind, ptx_type type, uint64_t a, uint64_t b)
{
    bool wide = ptx_size_of(type) == 8, less;
    float single, other;
    double real, second;
    switch (kind) {
        case ATOM_ADD:
            if (type == T_F32) {
                memcpy(&single, &a, 4);
                memcpy(&other, &b, 4);
                single += other;
                a = 0;
                memcpy(&a, &single, 4);
                return a;
            }
            if (type == T_F64) {
                memcpy(&real, &a, 8);
                memcpy(&second, &b, 8);
                real += second;
                memcpy(&a, &real, 8);
                return a;
            }
            if (type == T_F16) {
                return ptx_to_half((double)ptx_from_half((uint16_t)a) + ptx_from_half((uint16_t)b), ROUND_RN);
            }
            return a + b;
        case ATOM_MIN:
        case ATOM_MAX:
            less = type == T_S32   ? (int32_t)a < (int32_t)b
                   : type == T_S64 ? (int64_t)a < (int64_t)b
                   : wide          ? a < b
                                   : (uint32_t)a < (uint32_t)b;
            return less == (kind == ATOM_MIN) ? a : b;
        case ATOM_INC:
            return (uint32_t)a >= (uint32_t)b ? 0 : a + 1;
        case ATOM_DEC:
            return (uint32_t)a == 0 || (uint32_t)a > (uint32_t)b ? b : a - 1;
        case ATOM_AND:
            return a & b;
        case ATOM_OR:
            return a | b;
        case ATOM_XOR:
            return a ^ b;
        default:
            return b;
    }
}

uint64_t ptx_atomic(const ptx_ins *ins, void *at, uint64_t b, uint64_t c)
{
    int kind = ins->x >> 8;
    ptx_type type = (ptx_type)(ins->x & 255);
    if (ptx_size_of(type) == 8) {
        uint64_t old = __atomic_load_n((uint64_t *)at, __ATOMIC_SEQ_CST), new;
        do {
            new = kind == ATOM_CAS ? (old == b ? c : old) : combine(kind, type, old, b);
        } while (!__atomic_compare_exchange_n((uint64_t *)at, &old, new, false, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST));
        return old;
    }
    if (ptx_size_of(type) == 2) {
        uint16_t old = __atomic_load_n((uint16_t *)at, __ATOMIC_SEQ_CST), new;
        do {
            new = (uint16_t)(kind == ATOM_CAS ? (old == (uint16_t)b ? c : old) : combine(kind, type, old, b));
        } while (!__atomic_compare_exchange_n((uint16_t *)at, &old, new, false, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST));
        return old;
    }
    uint32_t old = __atomic_load_n((uint32_t *)at, __ATOMIC_SEQ_CST), new;
    do {
        new = (uint32_t)(kind == ATOM_CAS ? (old == (uint32_t)b ? c : old) : combine(kind, type, old, b));
    } while (
        !__atomic_compare_exchange_n((uint32_t *)at, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
