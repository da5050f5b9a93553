/* Slots of a frame, names, and operands of instructions. */
#include "ptx_decode.h"

uint32_t ptx_slot(ptx_parser *parser)
{
    return parser->function->slots++;
}

ptx_ins *ptx_emit(ptx_parser *parser, ptx_op op, uint32_t d, uint32_t a, uint32_t b, uint32_t c, int64_t imm)
{
    ptx_function *function = parser->function;
    if (function->n == function->room) {
        size_t room = function->room == 0 ? 64 : 2 * function->room;
        ptx_ins *code = ptx_alloc(parser->module, room * sizeof *code);
        uint32_t *lines = ptx_alloc(parser->module, room * sizeof *lines);
        if (function->n > 0) {
            memcpy(code, function->code, function->n * sizeof *code);
            memcpy(lines, function->lines, function->n * sizeof *lines);
        }
        function->code = code;
        function->lines = lines;
        function->room = room;
    }
    if (imm < INT32_MIN || imm > INT32_MAX) {
        ptx_fail(parser, "the offset %lld is too large", (long long)imm);
    }
    function->lines[function->n] = parser->statement;
    function->code[function->n] = (ptx_ins){(uint16_t)op, 0, d, a, b, c, (int32_t)imm};
    return &function->code[function->n++];
}

uint32_t ptx_constant(ptx_parser *parser, ptx_const_kind kind, uint64_t value, int64_t plus)
{
    ptx_function *function = parser->function;
    if (kind == CONST_PLAIN && value == 0) {
        return S_ZERO;
    }
    for (size_t i = 0; i < function->n_consts; i++) {
        const ptx_const *one = &function->consts[i];
        if (one->kind == kind && one->value == value && one->plus == plus) {
            return one->slot;
        }
    }
    function->consts =
        ptx_grow(parser->module, function->consts, function->n_consts, sizeof *function->consts);
    function->consts[function->n_consts++] = (ptx_const){ptx_slot(parser), kind, value, plus};
    return function->slots - 1;
}

/* Names that are no register: addresses of variables and functions, special registers. */

static const struct {
    const char *name;
    ptx_special special;
} specials[] = {
    {"%tid.x", S_TID_X},
    {"%tid.y", S_TID_Y},
    {"%tid.z", S_TID_Z},
    {"%ntid.x", S_NTID_X},
    {"%ntid.y", S_NTID_Y},
    {"%ntid.z", S_NTID_Z},
    {"%ctaid.x", S_CTAID_X},
    {"%ctaid.y", S_CTAID_Y},
    {"%ctaid.z", S_CTAID_Z},
    {"%nctaid.x", S_NCTAID_X},
    {"%nctaid.y", S_NCTAID_Y},
    {"%nctaid.z", S_NCTAID_Z},
    {"%laneid", S_LANEID},
    {"%warpid", S_WARPID},
    {"%nwarpid", S_NWARPID},
    {"%lanemask_eq", S_LANEMASK_EQ},
    {"%lanemask_le", S_LANEMASK_LE},
    {"%lanemask_lt", S_LANEMASK_LT},
    {"%lanemask_ge", S_LANEMASK_GE},
    {"%lanemask_gt", S_LANEMASK_GT},
    {"%dynamic_smem_size", S_DYNAMIC_SIZE},
    {"%total_smem_size", S_TOTAL_SIZE},
    {"WARP_SZ", S_WARP_SIZE},
    {"%smid", S_ZERO},
    {"%nsmid", S_WARP_SIZE},
    {"%gridid", S_ZERO},
};

static uint32_t shared_slot(ptx_parser *parser, size_t index)
{
    parser->function->shared_used[index] = true;
    return parser->module->shared[index].dynamic ? S_DYNAMIC : ptx_constant(parser, CONST_SHARED, index, 0);
}

/* A slot that holds what the name stands for. */
uint32_t ptx_name_slot(ptx_parser *parser, const char *name)
{
    ptx_module *module = parser->module;
    uint32_t index;
    const ptx_scope_symbol *symbol = ptx_symbol(parser, name, &index);
    if (symbol != NULL && symbol->kind == SYMBOL_REGISTERS) {
        return symbol->first + index;
    }
    if (symbol != NULL && symbol->kind == SYMBOL_LOCAL) {
        uint32_t slot = ptx_slot(parser);
        ptx_emit(parser, OP_LOCAL_ADDRESS, slot, 0, 0, 0, symbol->first);
        return slot;
    }
    if (symbol != NULL && symbol->kind == SYMBOL_SHARED) {
        return shared_slot(parser, symbol->first);
    }
    if (symbol != NULL) {
        return ptx_constant(parser, CONST_PLAIN, symbol->first, 0);
    }
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (strcmp(specials[i].name, name) == 0) {
            return specials[i].special;
        }
    }
    if (strncmp(name, "%clock", 6) == 0 || strncmp(name, "%globaltimer", 12) == 0) {
        uint32_t slot = ptx_slot(parser);
        ptx_emit(parser, OP_CLOCK, slot, 0, 0, 0, strcmp(name, "%clock_hi") == 0);
        return slot;
    }
    for (size_t i = 0; i < module->n_shared; i++) {
        if (strcmp(module->shared[i].name, name) == 0) {
            return shared_slot(parser, i);
        }
    }
    for (size_t i = 0; i < module->n_variables; i++) {
        if (strcmp(module->variables[i].name, name) == 0) {
            return ptx_constant(parser, CONST_GLOBAL, module->variables[i].offset, 0);
        }
    }
    int function = ptx_function_index(module, name);
    if (function >= 0) {
        return ptx_constant(parser, CONST_PLAIN, CODE_WINDOW + (uint64_t)function, 0);
    }
    ptx_fail(parser, "Unknown symbol '%s'", name);
}

static bool is_special(const char *name)
{
    return name[0] == '%' || strcmp(name, "WARP_SZ") == 0;
}

static void parse_items(ptx_parser *parser, operand *out, const char *end)
{
    while (!ptx_accept(parser, end)) {
        out->items = ptx_grow(parser->module, out->items, out->n_items, sizeof *out->items);
        memset(&out->items[out->n_items], 0, sizeof *out->items);
        ptx_operand(parser, &out->items[out->n_items++]);
        ptx_accept(parser, ",");
    }
}

void ptx_operand(ptx_parser *parser, operand *out)
{
    memset(out, 0, sizeof *out);
    out->negated = ptx_accept(parser, "!");
    bool minus = ptx_accept(parser, "-");
    if (ptx_accept(parser, "{")) {
        out->kind = O_VECTOR;
        parse_items(parser, out, "}");
    } else if (ptx_accept(parser, "(")) {
        out->kind = O_LIST;
        parse_items(parser, out, ")");
    } else if (ptx_accept(parser, "[")) {
        operand base;
        ptx_operand(parser, &base);
        out->kind = O_ADDRESS;
        out->slot = base.kind == O_SLOT ? base.slot : S_ZERO;
        out->name = base.kind == O_NAME ? base.name : NULL;
        out->plus = base.kind == O_NUMBER ? (int64_t)base.number : base.plus;
        if (ptx_accept(parser, "+")) {
            out->plus += ptx_integer(parser);
        } else if (ptx_is(parser, "-")) {
            out->plus += ptx_integer(parser);
        }
        ptx_expect(parser, "]");
    } else if (parser->token == TOKEN_WORD) {
        if (strcmp(parser->word, "_") == 0) {
            out->kind = O_SINK;
            out->slot = ptx_slot(parser);
            ptx_next(parser);
        } else {
            uint32_t index;
            const char *name = ptx_name(parser);
            const ptx_scope_symbol *symbol = ptx_symbol(parser, name, &index);
            bool slot = is_special(name) || (symbol != NULL && symbol->kind == SYMBOL_REGISTERS);
            out->kind = slot ? O_SLOT : O_NAME;
            out->slot = slot ? ptx_name_slot(parser, name) : 0;
            out->name = name;
        }
        if (out->kind != O_NAME && ptx_accept(parser, "|")) {
            operand second;
            ptx_operand(parser, &second);
            out->kind = O_PAIR;
            out->second = second.slot;
        }
        if (out->kind == O_NAME && ptx_is(parser, "+")) {
            out->plus = (ptx_next(parser), ptx_integer(parser));
        }
    } else if (parser->token == TOKEN_SIGN || parser->token == TOKEN_END || parser->token == TOKEN_STRING) {
        ptx_fail(parser, "syntax error near '%s'", parser->word);
    } else {
        out->kind = O_NUMBER;
        out->token = parser->token;
        out->number = minus ? 0 - parser->number : parser->number;
        out->decimal = minus ? -parser->decimal : parser->decimal;
        ptx_next(parser);
    }
}

static uint64_t number_as(const operand *operand, ptx_type type)
{
    uint64_t bits = operand->number;
    float single;
    double wide = operand->token == TOKEN_DECIMAL ? operand->decimal : (double)(int64_t)operand->number;
    if (operand->token == TOKEN_FLOAT32 || operand->token == TOKEN_FLOAT64) {
        if (operand->token == TOKEN_FLOAT64 && type == T_F32) {
            memcpy(&wide, &bits, 8);
            single = (float)wide;
            bits = 0;
            memcpy(&bits, &single, 4);
        }
    } else if (type == T_F32) {
        single = (float)wide;
        bits = 0;
        memcpy(&bits, &single, 4);
    } else if (type == T_F64) {
        memcpy(&bits, &wide, 8);
    } else if (operand->token == TOKEN_DECIMAL) {
        bits = (uint64_t)wide;
    }
    return bits;
}

/* The slot of a source. */
uint32_t ptx_source(ptx_parser *parser, const operand *operand, ptx_type type)
{
    uint32_t slot;
    switch (operand->kind) {
        case O_SLOT:
        case O_SINK:
            slot = operand->slot;
            break;
        case O_NUMBER:
            slot = ptx_constant(parser, CONST_PLAIN, number_as(operand, type), 0);
            break;
        case O_NAME:
            slot = ptx_name_slot(parser, operand->name);
            if (operand->plus != 0) {
                uint32_t sum = ptx_slot(parser);
                ptx_emit(parser, OP_add_u64, sum, slot,
                         ptx_constant(parser, CONST_PLAIN, (uint64_t)operand->plus, 0), 0, 0);
                slot = sum;
            }
            break;
        default:
            ptx_fail(parser, "arguments mismatch for an instruction");
    }
    if (operand->negated) {
        uint32_t other = ptx_slot(parser);
        ptx_emit(parser, OP_not_pred, other, slot, 0, 0, 0);
        slot = other;
    }
    return slot;
}

uint32_t ptx_target(ptx_parser *parser, const operand *operand)
{
    if (operand->kind != O_SLOT && operand->kind != O_SINK && operand->kind != O_PAIR) {
        ptx_fail(parser, "arguments mismatch for an instruction: its result is no register");
    }
    return operand->slot;
}

bool ptx_has(const statement *s, const char *part)
{
    for (size_t i = 1; i < s->n_parts; i++) {
        if (strcmp(s->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

void ptx_need(ptx_parser *parser, const statement *s, size_t n)
{
    if (s->n != n) {
        ptx_fail(parser, "arguments mismatch for instruction '%s': %zu where %zu are expected", s->parts[0],
                 s->n, n);
    }
}

ptx_type ptx_last_type(ptx_parser *parser, const statement *s)
{
    for (size_t i = s->n_parts; i-- > 1;) {
        ptx_type type = ptx_type_of(s->parts[i]);
        if (type != T_NONE) {
            return type;
        }
    }
    ptx_fail(parser, "the instruction '%s' has no type", s->parts[0]);
}
