/* Branches, calls, barriers, and what warps do together. */
#include "ptx_decode.h"

static void decode_call(ptx_parser *parser, const statement *s)
{
    ptx_function *function = parser->function;
    ptx_call call = {.callee = -1};
    size_t at = 0;
    if (s->operands[0].kind == O_LIST) {
        uint32_t index;
        ptx_scope_symbol *symbol =
            s->operands[0].n_items == 1 ? ptx_symbol(parser, s->operands[0].items[0].name, &index) : NULL;
        if (symbol == NULL || symbol->kind != SYMBOL_PARAM) {
            ptx_fail(parser, "the result of a call is no parameter");
        }
        call.has_result = true;
        call.result = symbol->first;
        at = 1;
    }
    const operand *callee = &s->operands[at];
    const operand *arguments = s->n > at + 1 ? &s->operands[at + 1] : NULL;
    for (size_t i = 0; arguments != NULL && arguments->kind == O_LIST && i < arguments->n_items; i++) {
        uint32_t index;
        const operand *argument = &arguments->items[i];
        ptx_scope_symbol *symbol =
            argument->kind == O_NAME ? ptx_symbol(parser, argument->name, &index) : NULL;
        if (symbol == NULL || symbol->kind != SYMBOL_PARAM || call.n_args == 32) {
            ptx_fail(parser, "an argument of a call is no parameter");
        }
        call.args[call.n_args++] = symbol->first;
    }
    if (callee->kind == O_NAME) {
        if (strcmp(callee->name, "__assertfail") == 0) {
            ptx_emit(parser, OP_ASSERT, 0, 0, 0, 0, 0);
            return;
        }
        if (strcmp(callee->name, "vprintf") == 0) {
            ptx_emit(parser, OP_PRINT, 0, call.args[0], call.args[1], call.result, 0);
            return;
        }
        call.callee = ptx_function_index(parser->module, callee->name);
        if (call.callee < 0) {
            ptx_fail(parser, "Unknown symbol '%s'", callee->name);
        }
    } else {
        call.slot = ptx_source(parser, callee, T_U64);
        function->indirect = true;
    }
    function->calls = true;
    function->call_sites = ptx_grow(parser->module, function->call_sites, function->n_calls, sizeof call);
    function->call_sites[function->n_calls] = call;
    ptx_emit(parser, OP_CALL, 0, 0, 0, 0, (int64_t)function->n_calls++);
}

static void decode_barrier(ptx_parser *parser, const statement *s)
{
    parser->function->collective = true;
    if (ptx_has(s, "warp")) {
        ptx_emit(parser, OP_SYNCWARP, 0, 0, 0, 0, 0)->b = ptx_source(parser, &s->operands[0], T_U32);
        return;
    }
    if (ptx_has(s, "arrive")) {
        ptx_fail(parser, "bar.arrive is not known here");
    }
    if (!ptx_has(s, "red")) {
        ptx_emit(parser, OP_BARRIER, 0, 0, 0, 0, BAR_PLAIN);
        return;
    }
    int kind = ptx_has(s, "popc") ? BAR_POPC : ptx_has(s, "and") ? BAR_AND : BAR_OR;
    uint32_t p = ptx_source(parser, &s->operands[s->n - 1], T_PRED);
    ptx_emit(parser, OP_BARRIER, ptx_target(parser, &s->operands[0]), p, 0, 0, kind);
}

static void decode_shfl(ptx_parser *parser, const statement *s)
{
    int mode = ptx_has(s, "up")     ? SHFL_UP
               : ptx_has(s, "down") ? SHFL_DOWN
               : ptx_has(s, "bfly") ? SHFL_BFLY
                                    : SHFL_IDX;
    parser->function->collective = true;
    ptx_need(parser, s, 5);
    /* Lane and clamp in one slot's place: two slots that follow one another. */
    uint32_t a = ptx_source(parser, &s->operands[1], T_U32),
             lane = ptx_source(parser, &s->operands[2], T_U32),
             clamp = ptx_source(parser, &s->operands[3], T_U32),
             mask = ptx_source(parser, &s->operands[4], T_U32);
    uint32_t both = ptx_slot(parser), second = ptx_slot(parser);
    ptx_emit(parser, OP_mov_u64, both, lane, 0, 0, 0);
    ptx_emit(parser, OP_mov_u64, second, clamp, 0, 0, 0);
    bool pair = s->operands[0].kind == O_PAIR;
    uint32_t p = pair ? s->operands[0].second : ptx_slot(parser);
    ptx_ins *ins = ptx_emit(parser, OP_SHFL, ptx_target(parser, &s->operands[0]), a, mask, both, p);
    ins->x = (uint16_t)mode;
}

/* Operations of a warp with one source and the mask last: the mask is in b. */
static void decode_warp(ptx_parser *parser, const statement *s, ptx_op op)
{
    int kind = 0;
    parser->function->collective = true;
    if (op == OP_VOTE) {
        kind = ptx_has(s, "any")   ? VOTE_ANY
               : ptx_has(s, "all") ? VOTE_ALL
               : ptx_has(s, "uni") ? VOTE_UNI
                                   : VOTE_BALLOT;
    } else if (op == OP_REDUX) {
        static const char *const kinds[] = {"add", "min", "max", "", "", "and", "or", "xor"};
        for (int i = 0; i < 8; i++) {
            kind =
                kinds[i][0] != '\0' && ptx_has(s, kinds[i]) ? i << 8 | (int)ptx_last_type(parser, s) : kind;
        }
    } else {
        kind = (ptx_has(s, "all") ? 1 : 0) | (ptx_size_of(ptx_last_type(parser, s)) == 8 ? 2 : 0);
    }
    ptx_need(parser, s, 3);
    uint32_t a = ptx_source(parser, &s->operands[1], T_U64),
             mask = ptx_source(parser, &s->operands[2], T_U32);
    bool pair = s->operands[0].kind == O_PAIR;
    uint32_t p = pair ? s->operands[0].second : ptx_slot(parser);
    ptx_emit(parser, op, ptx_target(parser, &s->operands[0]), a, mask, 0, p)->x = (uint16_t)kind;
}

bool ptx_decode_control(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "bra") == 0) {
        ptx_emit(parser, OP_BRA, 0, 0, 0, 0, (int64_t)ptx_label(parser, s->operands[0].name));
    } else if (strcmp(name, "brx") == 0) {
        ptx_need(parser, s, 2);
        uint32_t index = ptx_source(parser, &s->operands[0], T_U32);
        ptx_emit(parser, OP_BRX, 0, index, 0, 0, (int64_t)ptx_label(parser, s->operands[1].name));
    } else if (strcmp(name, "call") == 0) {
        decode_call(parser, s);
    } else if (strcmp(name, "ret") == 0) {
        ptx_emit(parser, parser->function->entry ? OP_EXIT : OP_RET, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "exit") == 0) {
        ptx_emit(parser, OP_EXIT, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "trap") == 0) {
        ptx_emit(parser, OP_TRAP, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0) {
        decode_barrier(parser, s);
    } else if (strcmp(name, "membar") == 0 || strcmp(name, "fence") == 0) {
        ptx_emit(parser, OP_FENCE, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "shfl") == 0) {
        decode_shfl(parser, s);
    } else if (strcmp(name, "vote") == 0) {
        decode_warp(parser, s, OP_VOTE);
    } else if (strcmp(name, "redux") == 0) {
        decode_warp(parser, s, OP_REDUX);
    } else if (strcmp(name, "match") == 0) {
        decode_warp(parser, s, OP_MATCH);
    } else if (strcmp(name, "activemask") == 0) {
        ptx_emit(parser, OP_ACTIVE, ptx_target(parser, &s->operands[0]), 0, 0, 0, 0);
    } else {
        return strcmp(name, "prefetch") == 0 || strcmp(name, "prefetchu") == 0 ||
               strcmp(name, "nanosleep") == 0 || strcmp(name, "brkpt") == 0 || strcmp(name, "discard") == 0;
    }
    return true;
}
