/* Instructions of PTX become operations over slots. */
#include "ptx_decode.h"

static void split(ptx_parser *parser, statement *s)
{
    snprintf(s->text, sizeof s->text, "%.159s", parser->word);
    ptx_next(parser);
    while (ptx_accept(parser, ":")) { /* .shared::cta, .L1::no_allocate */
        ptx_expect(parser, ":");
        size_t length = strlen(s->text);
        snprintf(s->text + length, sizeof s->text - length, "::%.30s", parser->word);
        ptx_next(parser);
    }
    for (char *part = s->text; part != NULL && s->n_parts < MAX_PARTS;) {
        char *dot = strchr(part, '.');
        if (dot != NULL) {
            *dot = '\0';
        }
        s->parts[s->n_parts++] = part;
        part = dot == NULL ? NULL : dot + 1;
    }
}

void ptx_decode(ptx_parser *parser)
{
    statement s = {0};
    ptx_function *function = parser->function;
    parser->statement = parser->line;
    uint32_t guard = 0, index;
    bool guarded = ptx_accept(parser, "@"), negated = guarded && ptx_accept(parser, "!");
    if (guarded) {
        const char *name = ptx_name(parser);
        const ptx_scope_symbol *symbol = ptx_symbol(parser, name, &index);
        if (symbol == NULL || symbol->kind != SYMBOL_REGISTERS) {
            ptx_fail(parser, "Unknown symbol '%s'", name);
        }
        guard = symbol->first + index;
    }
    if (parser->token != TOKEN_WORD) {
        ptx_fail(parser, "syntax error near '%s'", parser->word);
    }
    split(parser, &s);
    size_t skip = function->n;
    bool branches = strcmp(s.parts[0], "bra") == 0;
    if (guarded && !branches) {
        ptx_emit(parser, negated ? OP_BRA_IF : OP_BRA_UNLESS, 0, guard, 0, 0, 0)->x =
            1; /* its distance is known */
    }
    while (!ptx_accept(parser, ";")) {
        if (s.n == sizeof s.operands / sizeof *s.operands) {
            ptx_fail(parser, "too many arguments for instruction '%s'", s.parts[0]);
        }
        ptx_operand(parser, &s.operands[s.n++]);
        if (!ptx_accept(parser, ",") && !ptx_is(parser, ";")) {
            ptx_fail(parser, "syntax error near '%s'", parser->word);
        }
    }
    if (!ptx_decode_memory(parser, &s) && !ptx_decode_control(parser, &s)) {
        ptx_decode_arithmetic(parser, &s);
    }
    if (guarded && branches) {
        function->code[function->n - 1].op = negated ? OP_BRA_UNLESS : OP_BRA_IF;
        function->code[function->n - 1].a = guard;
    } else if (guarded) {
        function->code[skip].imm = (int32_t)(function->n - skip);
    }
}

void ptx_resolve(ptx_parser *parser)
{
    ptx_function *function = parser->function;
    ptx_emit(parser, function->entry ? OP_EXIT : OP_RET, 0, 0, 0, 0, 0);
    size_t n = function->n;
    for (size_t i = 0; i < n; i++) {
        ptx_ins *ins = &function->code[i];
        bool branch =
            ins->op == OP_BRA || ((ins->op == OP_BRA_IF || ins->op == OP_BRA_UNLESS) && ins->x == 0);
        if (branch || ins->op == OP_BRX) {
            const struct ptx_label *label = &parser->labels[ins->imm];
            if (ins->op == OP_BRX) {
                /* The table is a run of branches at the end of the code. */
                size_t table = function->n, n_targets = label->n_targets;
                const uint32_t *targets = label->targets;
                for (size_t j = 0; j < n_targets; j++) {
                    const struct ptx_label *to = &parser->labels[targets[j]];
                    if (to->at < 0) {
                        ptx_fail(parser, "Unknown symbol '%s'", to->name);
                    }
                    ptx_emit(parser, OP_BRA, 0, 0, 0, 0, to->at - (int64_t)function->n);
                }
                ins = &function->code[i];
                ins->imm = (int32_t)(table - i);
                ins->b = (uint32_t)n_targets;
            } else if (label->at < 0) {
                ptx_fail(parser, "Unknown symbol '%s'", label->name);
            } else {
                ins->imm = (int32_t)(label->at - (int64_t)i);
            }
        }
    }
}

/* Branches, calls, barriers, and what warps do together. */

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

/* Loads, stores, atomic operations. */

ptx_space ptx_space_of(const statement *s)
{
    static const struct {
        const char *name;
        ptx_space space;
    } spaces[] = {{"global", SPACE_GLOBAL},      {"const", SPACE_GLOBAL}, {"shared", SPACE_SHARED},
                  {"shared::cta", SPACE_SHARED}, {"local", SPACE_LOCAL},  {"param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (ptx_has(s, spaces[i].name)) {
            return spaces[i].space;
        }
    }
    return SPACE_GENERIC;
}

/* The slot of an address; what is left of it as an offset is in *plus. */
static uint32_t address(ptx_parser *parser, const operand *operand, int64_t *plus)
{
    if (operand->kind != O_ADDRESS) {
        ptx_fail(parser, "an address was expected");
    }
    *plus = operand->plus;
    return operand->name != NULL ? ptx_name_slot(parser, operand->name) : operand->slot;
}

static ptx_op load_op(ptx_type type)
{
    switch (type) {
        case T_U8:
            return OP_LD_U8;
        case T_S8:
            return OP_LD_S8;
        case T_U16:
        case T_F16:
        case T_BF16:
            return OP_LD_U16;
        case T_S16:
            return OP_LD_S16;
        case T_U32:
        case T_F32:
            return OP_LD_U32;
        case T_S32:
            return OP_LD_S32;
        default:
            return OP_LD_U64;
    }
}

/* Everything but global and generic memory goes through one operation, with the type in x. */
static void memory(ptx_parser *parser, bool store, ptx_space space, ptx_type type, uint32_t value,
                   uint32_t base, int64_t plus)
{
    static const ptx_op stores[] = {[1] = OP_ST_8, [2] = OP_ST_16, [4] = OP_ST_32, [8] = OP_ST_64};
    if (space == SPACE_GLOBAL || space == SPACE_GENERIC) {
        ptx_emit(parser, store ? stores[ptx_size_of(type)] : load_op(type), value, base, 0, 0, plus);
        return;
    }
    ptx_ins *ins = ptx_emit(parser, store ? OP_STS : OP_LDS, value, base, space, 0, plus);
    ins->x = (uint16_t)type;
}

static void decode_access(ptx_parser *parser, const statement *s, bool store)
{
    ptx_type type = ptx_last_type(parser, s);
    ptx_space space = ptx_space_of(s);
    const operand *value = &s->operands[store ? 1 : 0], *at = &s->operands[store ? 0 : 1];
    int64_t plus;
    ptx_need(parser, s, s->n >= 2 ? s->n : 2); /* a cache policy may follow */
    uint32_t base = address(parser, at, &plus), size = ptx_size_of(type);
    if (value->kind != O_VECTOR) {
        memory(parser, store, space, type,
               store ? ptx_source(parser, value, type) : ptx_target(parser, value), base, plus);
        return;
    }
    uint32_t held = ptx_slot(parser);
    ptx_emit(parser, OP_mov_u64, held, base, 0, 0, 0); /* a loaded register may be the address */
    ptx_emit(parser, OP_ALIGN, 0, held, space, size * (uint32_t)value->n_items, plus);
    for (uint32_t i = 0; i < value->n_items; i++) {
        const operand *item = &value->items[i];
        memory(parser, store, space, type, store ? ptx_source(parser, item, type) : ptx_target(parser, item),
               held, plus + i * size);
    }
}

static void decode_atom(ptx_parser *parser, const statement *s, bool result)
{
    static const char *const kinds[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
    int kind = -1;
    int64_t plus;
    size_t first = result ? 1 : 0;
    ptx_type type = ptx_last_type(parser, s);
    for (int i = 0; i < 10; i++) {
        kind = ptx_has(s, kinds[i]) ? i : kind;
    }
    if (kind < 0) {
        ptx_fail(parser, "the atomic operation '%s' is not known here", s->parts[s->n_parts - 2]);
    }
    ptx_need(parser, s, first + (kind == ATOM_CAS ? 3 : 2));
    uint32_t d = result ? ptx_target(parser, &s->operands[0]) : ptx_slot(parser);
    uint32_t base = address(parser, &s->operands[first], &plus), at = ptx_slot(parser);
    ptx_space space = ptx_space_of(s);
    if (space == SPACE_SHARED) {
        ptx_emit(parser, OP_add_u64, at, base, ptx_constant(parser, CONST_PLAIN, SHARED_WINDOW, 0), 0, 0);
        base = at;
    }
    uint32_t b = ptx_source(parser, &s->operands[first + 1], type),
             c = kind == ATOM_CAS ? ptx_source(parser, &s->operands[first + 2], type) : S_ZERO;
    ptx_emit(parser, OP_ATOM, d, base, b, c, plus)->x = (uint16_t)(kind << 8 | type);
}

/* cvta.shared.u64 and its opposite cvta.to.shared.u64. */
static void decode_cvta(ptx_parser *parser, const statement *s)
{
    static const uint64_t windows[] = {[SPACE_SHARED] = SHARED_WINDOW,
                                       [SPACE_LOCAL] = LOCAL_WINDOW,
                                       [SPACE_PARAM] = PARAM_WINDOW,
                                       [SPACE_GLOBAL] = 0};
    ptx_space space = ptx_space_of(s);
    ptx_need(parser, s, 2);
    uint32_t d = ptx_target(parser, &s->operands[0]), a = ptx_source(parser, &s->operands[1], T_U64);
    uint64_t window = windows[space];
    if (window == 0) {
        ptx_emit(parser, OP_mov_u64, d, a, 0, 0, 0);
    } else if (space == SPACE_PARAM) {
        ptx_emit(parser, OP_PARAM_GENERIC, d, a, 0, 0, ptx_has(s, "to"));
    } else {
        ptx_emit(parser, ptx_has(s, "to") ? OP_sub_u64 : OP_add_u64, d, a,
                 ptx_constant(parser, CONST_PLAIN, window, 0), 0, 0);
    }
}

bool ptx_decode_memory(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "ld") == 0 || strcmp(name, "ldu") == 0 || strcmp(name, "st") == 0) {
        decode_access(parser, s, name[0] == 's');
    } else if (strcmp(name, "cvta") == 0) {
        decode_cvta(parser, s);
    } else if (strcmp(name, "atom") == 0 || strcmp(name, "red") == 0) {
        decode_atom(parser, s, name[0] == 'a');
    } else {
        return false;
    }
    return true;
}
