/* The interpreter's loop: one thread of a block, until it ends, waits for others, or faults. */
#include "ptx_slots.h"

#include <fenv.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>

static uint8_t *own_memory(ptx_runner *runner, ptx_fiber *fiber, ptx_space space, u64 at, size_t size)
{
    uint8_t *base = space == SPACE_SHARED  ? runner->shared
                    : space == SPACE_LOCAL ? fiber->local
                                           : fiber->params;
    u64 end = space == SPACE_SHARED  ? runner->shared_size
              : space == SPACE_LOCAL ? fiber->room_local
                                     : fiber->room_params;
    if ((at & (size - 1)) != 0 || at + size > end || at + size < at) {
        runner->fault = (at & (size - 1)) != 0 ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS;
        return NULL;
    }
    return base + at;
}

static u64 read_as(const void *at, ptx_type type)
{
    u64 value = 0;
    memcpy(&value, at, ptx_size_of(type));
    return type == T_S8    ? (u64)(s8)value
           : type == T_S16 ? (u64)(s16)value
           : type == T_S32 ? (u64)(s32)value
                           : value;
}

void ptx_constants(const ptx_function *function, const ptx_module *module, uint64_t *slots)
{
    for (size_t i = 0; i < function->n_consts; i++) {
        const ptx_const *one = &function->consts[i];
        u64 base = one->kind == CONST_GLOBAL   ? module->base
                   : one->kind == CONST_SHARED ? module->shared[one->value].offset
                                               : 0;
        slots[one->slot] = (one->kind == CONST_SHARED ? 0 : one->value) + base + (u64)one->plus;
    }
}

/* Begins a call: a frame with its constants and arguments. False: no room, or no function. */
static bool enter(ptx_runner *runner, ptx_fiber *fiber, const ptx_call *site)
{
    ptx_frame *frame = &fiber->frames[fiber->depth];
    const ptx_module *module = runner->module;
    u64 index = (u64)site->callee;
    if (site->callee < 0) {
        index = fiber->slots[frame->slots + site->slot] - CODE_WINDOW;
    }
    if (index >= module->n_functions || !module->functions[index].defined || fiber->depth + 1 == 64) {
        return false;
    }
    const ptx_function *callee = &module->functions[index];
    ptx_frame *next = frame + 1;
    *next = (ptx_frame){.function = callee,
                        .slots = frame->slots + frame->function->slots,
                        .params = (frame->params + frame->function->frame_size + 15) & ~15u,
                        .local = (frame->local + frame->function->local_size + 15) & ~15u};
    if (next->slots + callee->slots > fiber->room_slots ||
        next->params + callee->frame_size > fiber->room_params ||
        next->local + callee->local_size > fiber->room_local) {
        return false;
    }
    frame->site = site;
    memcpy(fiber->slots + next->slots, fiber->slots + frame->slots, S_COUNT * sizeof(u64));
    ptx_constants(callee, module, fiber->slots + next->slots);
    for (u32 i = 0; i < callee->n_params && i < site->n_args; i++) {
        memcpy(fiber->params + next->params + callee->params[i].offset,
               fiber->params + frame->params + site->args[i], callee->params[i].size);
    }
    fiber->depth++;
    return true;
}

static void leave(ptx_fiber *fiber)
{
    ptx_frame *frame = &fiber->frames[fiber->depth--], *caller = frame - 1;
    const ptx_call *site = caller->site;
    if (site->has_result && frame->function->has_result) {
        memcpy(fiber->params + caller->params + site->result,
               fiber->params + frame->params + frame->function->result.offset, frame->function->result.size);
    }
}

/* How often branches may be taken until it is asked whether the context still works. */
#define PATIENCE (1 << 16)

#define NEXT goto *labels[(++ins)->op]
#define STAY goto *labels[ins->op]
#define SLOT(index) (&slots[index])

/* A global or generic address that the cache knows; else ptx_reach. */
#define REACH(at, address, bytes, writes)                                                         \
    do {                                                                                          \
        u64 wanted = (address), entry = ((uintptr_t)ins >> 3) % CACHED;                           \
        u64 offset = wanted - runner->cache[entry].start;                                         \
        if (__builtin_expect(offset < runner->cache[entry].size && (wanted & ((bytes)-1)) == 0 && \
                                 offset + (bytes) <= runner->cache[entry].size &&                 \
                                 (!(writes) || runner->cache[entry].writable),                    \
                             1)) {                                                                \
            at = (char *)(uintptr_t)wanted + runner->cache[entry].shadow;                         \
        } else {                                                                                  \
            runner->way = entry;                                                                  \
            at = ptx_reach(runner, fiber, wanted, bytes, writes);                                 \
            if (at == NULL) {                                                                     \
                goto fault;                                                                       \
            }                                                                                     \
        }                                                                                         \
    } while (0)

ptx_stop ptx_run(ptx_runner *runner, ptx_fiber *fiber)
{
    static const void *const labels[] = {
#define OP1(name, out, in, expression) &&L_##name##_##in,
#define OP2(name, out, in, expression) &&L_##name##_##in,
#define OP3(name, out, in, expression) &&L_##name##_##in,
#define OPX(name) &&L_##name,
#include "ptx_ops.inc"
#undef OP1
#undef OP2
#undef OP3
#undef OPX
    };
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};
    ptx_frame *frame = &fiber->frames[fiber->depth];
    u64 *slots = fiber->slots + frame->slots;
    const ptx_ins *ins = frame->function->code + frame->pc;
    int patience = PATIENCE;
    char *at;
    STAY;

#define OP1(name, out, in, expression)       \
    L_##name##_##in:                         \
    {                                        \
        in a = get_##in(SLOT(ins->a));       \
        put_##out(SLOT(ins->d), expression); \
        NEXT;                                \
    }
#define OP2(name, out, in, expression)                             \
    L_##name##_##in:                                               \
    {                                                              \
        u64 wide_b = slots[ins->b];                                \
        in a = get_##in(SLOT(ins->a)), b = get_##in(SLOT(ins->b)); \
        (void)wide_b;                                              \
        (void)b;                                                   \
        put_##out(SLOT(ins->d), expression);                       \
        NEXT;                                                      \
    }
#define OP3(name, out, in, expression)                                                         \
    L_##name##_##in:                                                                           \
    {                                                                                          \
        u64 wide_b = slots[ins->b], wide_c = slots[ins->c];                                    \
        in a = get_##in(SLOT(ins->a)), b = get_##in(SLOT(ins->b)), c = get_##in(SLOT(ins->c)); \
        (void)wide_b;                                                                          \
        (void)wide_c;                                                                          \
        (void)b;                                                                               \
        (void)c;                                                                               \
        put_##out(SLOT(ins->d), expression);                                                   \
        NEXT;                                                                                  \
    }
#define OPX(name)
#include "ptx_ops.inc"
#undef OP1
#undef OP2
#undef OP3
#undef OPX

L_CVT:
    slots[ins->d] = ptx_convert(slots[ins->a], ins->imm);
    NEXT;
L_CVT_PACK:
    slots[ins->d] = ptx_convert(slots[ins->a], ins->imm) << 16 | ptx_convert(slots[ins->b], ins->imm);
    NEXT;
L_SEL:
    slots[ins->d] = slots[ins->c] != 0 ? slots[ins->a] : slots[ins->b];
    NEXT;
L_LOP3:
    slots[ins->d] = logic((u32)slots[ins->a], (u32)slots[ins->b], (u32)slots[ins->c], ins->imm);
    NEXT;
L_PRMT:
    slots[ins->d] = permute((u32)slots[ins->a], (u32)slots[ins->b], (u32)slots[ins->c], ins->imm);
    NEXT;
L_BFI32:
    slots[ins->d] = (u32)insert(slots[ins->a], slots[ins->b], (u32)slots[ins->c], (u32)slots[ins->imm], 32);
    NEXT;
L_BFI64:
    slots[ins->d] = insert(slots[ins->a], slots[ins->b], (u32)slots[ins->c], (u32)slots[ins->imm], 64);
    NEXT;
L_CARRY:
    slots[ins->d] = carry(fiber, slots[ins->a], slots[ins->b], ins->imm);
    NEXT;
L_ROUND:
    fesetround(modes[ins->imm]);
    NEXT;
L_CLOCK:
    slots[ins->d] = (u64)sim_now() >> (ins->imm ? 32 : 0);
    NEXT;
L_LOCAL_ADDRESS:
    slots[ins->d] = frame->local + (u64)ins->imm;
    NEXT;
L_PARAM_GENERIC:
    slots[ins->d] = ins->imm ? slots[ins->a] - PARAM_WINDOW - frame->params
                             : slots[ins->a] + PARAM_WINDOW + frame->params;
    NEXT;
L_ALIGN:
    if (((slots[ins->a] + (u64)(s64)ins->imm) & (ins->c - 1)) != 0) {
        runner->fault = CUDA_ERROR_MISALIGNED_ADDRESS;
        goto fault;
    }
    NEXT;

#define LOAD(name, type)                                                    \
    L_LD_##name:                                                            \
    {                                                                       \
        type value;                                                         \
        REACH(at, slots[ins->a] + (u64)(s64)ins->imm, sizeof value, false); \
        memcpy(&value, at, sizeof value);                                   \
        slots[ins->d] = (u64)value;                                         \
        NEXT;                                                               \
    }
#define STORE(name, type)                                                  \
    L_ST_##name:                                                           \
    {                                                                      \
        type value = (type)slots[ins->d];                                  \
        REACH(at, slots[ins->a] + (u64)(s64)ins->imm, sizeof value, true); \
        memcpy(at, &value, sizeof value);                                  \
        NEXT;                                                              \
    }
    LOAD(U8, u8)
    LOAD(S8, s8)
    LOAD(U16, u16)
    LOAD(S16, s16)
    LOAD(U32, u32)
    LOAD(S32, s32)
    LOAD(U64, u64)
    STORE(8, u8)
    STORE(16, u16)
    STORE(32, u32)
    STORE(64, u64)

L_LDS:
L_STS : {
    u64 address = slots[ins->a] + (u64)(s64)ins->imm + (ins->b == SPACE_PARAM ? frame->params : 0);
    size_t size = ptx_size_of((ptx_type)ins->x);
    at = (char *)own_memory(runner, fiber, (ptx_space)ins->b, address, size);
    if (at == NULL) {
        goto fault;
    }
    if (ins->op == OP_LDS) {
        slots[ins->d] = read_as(at, (ptx_type)ins->x);
    } else {
        memcpy(at, &slots[ins->d], size);
    }
    NEXT;
}
L_ATOM:
    REACH(at, slots[ins->a] + (u64)(s64)ins->imm, ptx_size_of((ptx_type)(ins->x & 255)), true);
    slots[ins->d] = ptx_atomic(ins, at, slots[ins->b], slots[ins->c]);
    NEXT;
L_FENCE:
    atomic_thread_fence(memory_order_seq_cst);
    NEXT;
L_ISSPACE : {
    u64 window = slots[ins->a] & WINDOW_MASK;
    slots[ins->d] = ins->imm == SPACE_SHARED  ? window == SHARED_WINDOW
                    : ins->imm == SPACE_LOCAL ? window == LOCAL_WINDOW
                                              : window < CODE_WINDOW;
    NEXT;
}
L_BRA:
    if (ins->imm <= 0 && --patience == 0) {
        goto ask;
    }
    ins += ins->imm;
    STAY;
L_BRA_IF:
    if (slots[ins->a] == 0) {
        NEXT;
    }
    if (ins->imm <= 0 && --patience == 0) {
        goto ask;
    }
    ins += ins->imm;
    STAY;
L_BRA_UNLESS:
    if (slots[ins->a] != 0) {
        NEXT;
    }
    if (ins->imm <= 0 && --patience == 0) {
        goto ask;
    }
    ins += ins->imm;
    STAY;
L_BRX:
    if ((u32)slots[ins->a] >= ins->b) {
        runner->fault = CUDA_ERROR_INVALID_PC;
        goto fault;
    }
    ins += ins->imm + (s32)slots[ins->a];
    STAY;
ask:
    patience = PATIENCE;
    if (__atomic_load_n(&runner->context->sticky, __ATOMIC_RELAXED) != CUDA_SUCCESS) {
        runner->fault = (CUresult)runner->context->sticky;
        goto fault;
    }
    STAY;
L_CALL:
    frame->pc = (size_t)(ins - frame->function->code) + 1;
    if (!enter(runner, fiber, &frame->function->call_sites[ins->imm])) {
        runner->fault = CUDA_ERROR_ILLEGAL_INSTRUCTION;
        goto fault;
    }
    frame = &fiber->frames[fiber->depth];
    slots = fiber->slots + frame->slots;
    ins = frame->function->code;
    STAY;
L_RET:
    if (fiber->depth == 0) {
        goto L_EXIT;
    }
    leave(fiber);
    frame = &fiber->frames[fiber->depth];
    slots = fiber->slots + frame->slots;
    ins = frame->function->code + frame->pc;
    STAY;
L_TRAP:
    runner->fault = CUDA_ERROR_LAUNCH_FAILED;
    goto fault;
L_ASSERT:
    runner->fault = CUDA_ERROR_ASSERT;
    goto fault;
L_PRINT : {
    u64 format;
    u32 result = 0;
    memcpy(&format, fiber->params + frame->params + ins->a, 8);
    for (;; format++) {
        REACH(at, format, 1, false);
        if (*at == '\0') {
            break;
        }
        fputc(*at, stdout);
        result++;
    }
    memcpy(fiber->params + frame->params + ins->c, &result, 4);
    NEXT;
}
L_ACTIVE:
    slots[ins->d] = UINT64_C(1) << fiber->lane;
    NEXT;
L_BARRIER:
    fiber->stop = STOP_BARRIER;
    goto wait;
L_SHFL:
L_VOTE:
L_REDUX:
L_MATCH:
L_SYNCWARP:
    fiber->stop = STOP_WARP;
wait:
    fiber->waits = ins;
    frame->pc = (size_t)(ins - frame->function->code) + 1;
    return fiber->stop;
L_EXIT:
    fiber->stop = STOP_EXIT;
    return STOP_EXIT;
fault:
    frame->pc = (size_t)(ins - frame->function->code);
    fesetround(FE_TONEAREST);
    fiber->stop = STOP_FAULT;
    return STOP_FAULT;
}
