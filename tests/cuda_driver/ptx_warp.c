/* What threads of one warp do together, once all of them that take part have come to it. */
#include "ptx.h"

#define WARP 32

static uint64_t *slots_of(ptx_fiber *fiber)
{
    return fiber->slots + fiber->frames[fiber->depth].slots;
}

static void shuffle(ptx_fiber *warp, uint32_t n, uint32_t members)
{
    uint64_t values[WARP];
    for (uint32_t i = 0; i < n; i++) {
        values[i] = members >> i & 1 ? slots_of(&warp[i])[warp[i].waits->a] : 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if ((members >> i & 1) == 0) {
            continue;
        }
        const ptx_ins *ins = warp[i].waits;
        uint64_t *slots = slots_of(&warp[i]);
        int32_t lane = (int32_t)(slots[ins->c] & 31), clamp = (int32_t)(slots[ins->c + 1] & 31),
                segment = (int32_t)(slots[ins->c + 1] >> 8 & 31), own = (int32_t)i, from;
        int32_t most = (own & segment) | (clamp & ~segment), least = own & segment;
        bool inside;
        switch (ins->x) {
            case SHFL_UP:
                from = own - lane;
                inside = from >= most;
                break;
            case SHFL_DOWN:
                from = own + lane;
                inside = from <= most;
                break;
            case SHFL_BFLY:
                from = own ^ lane;
                inside = from <= most;
                break;
            default:
                from = least | (lane & ~segment);
                inside = from <= most;
        }
        from = inside ? from : own;
        slots[ins->d] = from < (int32_t)n ? values[from] : values[own];
        slots[ins->imm] = inside;
    }
}

static uint64_t reduce(int kind, ptx_type type, uint64_t a, uint64_t b)
{
    switch (kind) {
        case ATOM_ADD:
            return (uint32_t)(a + b);
        case ATOM_MIN:
            return type == T_S32 ? ((int32_t)a < (int32_t)b ? a : b) : (uint32_t)a < (uint32_t)b ? a : b;
        case ATOM_MAX:
            return type == T_S32 ? ((int32_t)a > (int32_t)b ? a : b) : (uint32_t)a > (uint32_t)b ? a : b;
        case ATOM_AND:
            return a & b;
        case ATOM_OR:
            return a | b;
        default:
            return a ^ b;
    }
}

static void vote(ptx_fiber *warp, uint32_t n, uint32_t members)
{
    uint32_t truth = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (members >> i & 1 && slots_of(&warp[i])[warp[i].waits->a] != 0) {
            truth |= 1u << i;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (members >> i & 1) {
            const ptx_ins *ins = warp[i].waits;
            slots_of(&warp[i])[ins->d] = ins->x == VOTE_ANY   ? truth != 0
                                         : ins->x == VOTE_ALL ? truth == members
                                         : ins->x == VOTE_UNI ? truth == 0 || truth == members
                                                              : truth;
        }
    }
}

static void redux(ptx_fiber *warp, uint32_t n, uint32_t members)
{
    uint64_t result = 0;
    bool first = true;
    for (uint32_t i = 0; i < n; i++) {
        if (members >> i & 1) {
            const ptx_ins *ins = warp[i].waits;
            uint64_t value = (uint32_t)slots_of(&warp[i])[ins->a];
            result = first ? value : reduce(ins->x >> 8, (ptx_type)(ins->x & 255), result, value);
            first = false;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (members >> i & 1) {
            slots_of(&warp[i])[warp[i].waits->d] = (uint32_t)result;
        }
    }
}

static void match(ptx_fiber *warp, uint32_t n, uint32_t members)
{
    uint32_t same[WARP] = {0};
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n && members >> i & 1; j++) {
            uint64_t mask = warp[i].waits->x & 2 ? UINT64_MAX : UINT32_MAX;
            if (members >> j & 1) {
                uint64_t a = slots_of(&warp[i])[warp[i].waits->a], b = slots_of(&warp[j])[warp[j].waits->a];
                same[i] |= (a & mask) == (b & mask) ? 1u << j : 0;
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (members >> i & 1) {
            const ptx_ins *ins = warp[i].waits;
            bool all = same[i] == members;
            slots_of(&warp[i])[ins->d] = ins->x & 1 ? (all ? members : 0) : same[i];
            slots_of(&warp[i])[ins->imm] = all;
        }
    }
}

/* The members of the mask that a waiting thread names, if all of them wait for the same; else 0. */
static uint32_t gathered(ptx_fiber *warp, uint32_t n, uint32_t i)
{
    uint32_t mask = (uint32_t)slots_of(&warp[i])[warp[i].waits->b], members = 0;
    for (uint32_t j = 0; j < n; j++) {
        if ((mask >> j & 1) == 0 || warp[j].stop == STOP_EXIT) {
            continue;
        }
        if (warp[j].stop != STOP_WARP || warp[j].waits != warp[i].waits) {
            return 0;
        }
        members |= 1u << j;
    }
    return members;
}

bool ptx_warp(ptx_runner *runner, uint32_t first, uint32_t end)
{
    ptx_fiber *warp = &runner->fibers[first];
    uint32_t n = end - first;
    bool progress = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t members = warp[i].stop == STOP_WARP ? gathered(warp, n, i) : 0;
        if (members == 0) {
            continue;
        }
        switch (warp[i].waits->op) {
            case OP_SHFL:
                shuffle(warp, n, members);
                break;
            case OP_VOTE:
                vote(warp, n, members);
                break;
            case OP_REDUX:
                redux(warp, n, members);
                break;
            case OP_MATCH:
                match(warp, n, members);
                break;
            default:
                break;
        }
        for (uint32_t j = 0; j < n; j++) {
            if (members >> j & 1) {
                warp[j].waits = NULL;
                warp[j].stop = STOP_READY;
            }
        }
        progress = true;
    }
    return progress;
}
