/* Instructions of PTX become operations over slots. */
#include "ptx.h"

#define MAX_PARTS 16

typedef enum operand_kind {
    O_SLOT,
    O_NUMBER,
    O_NAME,
    O_ADDRESS,
    O_VECTOR,
    O_PAIR,
    O_SINK,
    O_LIST
} operand_kind;

typedef struct operand {
    operand_kind kind;
    bool negated;
    ptx_token token; /* of a number */
    uint64_t number;
    double decimal;
    uint32_t slot, second; /* second: of a pair */
    const char *name;
    int64_t plus; /* of an address */
    struct operand *items;
    size_t n_items;
} operand;

/* One instruction: its name in parts, and operands. */
typedef struct statement {
    char text[160];
    const char *parts[MAX_PARTS];
    size_t n_parts;
    operand operands[8];
    size_t n;
} statement;

static uint32_t new_slot(ptx_parser *parser)
{
    return parser->function->slots++;
}

static ptx_ins *emit(ptx_parser *parser, ptx_op op, uint32_t d, uint32_t a, uint32_t b, uint32_t c,
                     int64_t imm)
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

static uint32_t constant(ptx_parser *parser, ptx_const_kind kind, uint64_t value, int64_t plus)
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
    function->consts[function->n_consts++] = (ptx_const){new_slot(parser), kind, value, plus};
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
    return parser->module->shared[index].dynamic ? S_DYNAMIC : constant(parser, CONST_SHARED, index, 0);
}

/* A slot that holds what the name stands for. */
static uint32_t name_slot(ptx_parser *parser, const char *name)
{
    ptx_module *module = parser->module;
    uint32_t index;
    const ptx_scope_symbol *symbol = ptx_symbol(parser, name, &index);
    if (symbol != NULL && symbol->kind == SYMBOL_REGISTERS) {
        return symbol->first + index;
    }
    if (symbol != NULL && symbol->kind == SYMBOL_LOCAL) {
        uint32_t slot = new_slot(parser);
        emit(parser, OP_LOCAL_ADDRESS, slot, 0, 0, 0, symbol->first);
        return slot;
    }
    if (symbol != NULL && symbol->kind == SYMBOL_SHARED) {
        return shared_slot(parser, symbol->first);
    }
    if (symbol != NULL) {
        return constant(parser, CONST_PLAIN, symbol->first, 0);
    }
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        if (strcmp(specials[i].name, name) == 0) {
            return specials[i].special;
        }
    }
    if (strncmp(name, "%clock", 6) == 0 || strncmp(name, "%globaltimer", 12) == 0) {
        uint32_t slot = new_slot(parser);
        emit(parser, OP_CLOCK, slot, 0, 0, 0, strcmp(name, "%clock_hi") == 0);
        return slot;
    }
    for (size_t i = 0; i < module->n_shared; i++) {
        if (strcmp(module->shared[i].name, name) == 0) {
            return shared_slot(parser, i);
        }
    }
    for (size_t i = 0; i < module->n_variables; i++) {
        if (strcmp(module->variables[i].name, name) == 0) {
            return constant(parser, CONST_GLOBAL, module->variables[i].offset, 0);
        }
    }
    int function = ptx_function_index(module, name);
    if (function >= 0) {
        return constant(parser, CONST_PLAIN, CODE_WINDOW + (uint64_t)function, 0);
    }
    ptx_fail(parser, "Unknown symbol '%s'", name);
}

static bool is_special(const char *name)
{
    return name[0] == '%' || strcmp(name, "WARP_SZ") == 0;
}

static void parse_operand(ptx_parser *parser, operand *out);

static void parse_items(ptx_parser *parser, operand *out, const char *end)
{
    while (!ptx_accept(parser, end)) {
        out->items = ptx_grow(parser->module, out->items, out->n_items, sizeof *out->items);
        memset(&out->items[out->n_items], 0, sizeof *out->items);
        parse_operand(parser, &out->items[out->n_items++]);
        ptx_accept(parser, ",");
    }
}

static void parse_operand(ptx_parser *parser, operand *out)
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
        parse_operand(parser, &base);
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
            out->slot = new_slot(parser);
            ptx_next(parser);
        } else {
            uint32_t index;
            const char *name = ptx_name(parser);
            const ptx_scope_symbol *symbol = ptx_symbol(parser, name, &index);
            bool slot = is_special(name) || (symbol != NULL && symbol->kind == SYMBOL_REGISTERS);
            out->kind = slot ? O_SLOT : O_NAME;
            out->slot = slot ? name_slot(parser, name) : 0;
            out->name = name;
        }
        if (out->kind != O_NAME && ptx_accept(parser, "|")) {
            operand second;
            parse_operand(parser, &second);
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
static uint32_t source(ptx_parser *parser, const operand *operand, ptx_type type)
{
    uint32_t slot;
    switch (operand->kind) {
        case O_SLOT:
        case O_SINK:
            slot = operand->slot;
            break;
        case O_NUMBER:
            slot = constant(parser, CONST_PLAIN, number_as(operand, type), 0);
            break;
        case O_NAME:
            slot = name_slot(parser, operand->name);
            if (operand->plus != 0) {
                uint32_t sum = new_slot(parser);
                emit(parser, OP_add_u64, sum, slot, constant(parser, CONST_PLAIN, (uint64_t)operand->plus, 0),
                     0, 0);
                slot = sum;
            }
            break;
        default:
            ptx_fail(parser, "arguments mismatch for an instruction");
    }
    if (operand->negated) {
        uint32_t other = new_slot(parser);
        emit(parser, OP_not_pred, other, slot, 0, 0, 0);
        slot = other;
    }
    return slot;
}

static uint32_t target(ptx_parser *parser, const operand *operand)
{
    if (operand->kind != O_SLOT && operand->kind != O_SINK && operand->kind != O_PAIR) {
        ptx_fail(parser, "arguments mismatch for an instruction: its result is no register");
    }
    return operand->slot;
}

static bool has(const statement *s, const char *part)
{
    for (size_t i = 1; i < s->n_parts; i++) {
        if (strcmp(s->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

static void need(ptx_parser *parser, const statement *s, size_t n)
{
    if (s->n != n) {
        ptx_fail(parser, "arguments mismatch for instruction '%s': %zu where %zu are expected", s->parts[0],
                 s->n, n);
    }
}

static ptx_type last_type(ptx_parser *parser, const statement *s)
{
    for (size_t i = s->n_parts; i-- > 1;) {
        ptx_type type = ptx_type_of(s->parts[i]);
        if (type != T_NONE) {
            return type;
        }
    }
    ptx_fail(parser, "the instruction '%s' has no type", s->parts[0]);
}

/* Operations by name and type. */

typedef struct named {
    const char *name, *type;
    int arity;
} named;

static const named names[] = {
#define OP1(name, out, in, expression) {#name, #in, 1},
#define OP2(name, out, in, expression) {#name, #in, 2},
#define OP3(name, out, in, expression) {#name, #in, 3},
#define OPX(name) {"", "", 0},
#include "ptx_ops.inc"
#undef OP1
#undef OP2
#undef OP3
#undef OPX
};

/* -1: none. Where signs do not matter there is only one, for the unsigned type. */
static int find_op(const char *name, const char *type)
{
    static const char *const same[][2] = {{"b16", "u16"}, {"b32", "u32"}, {"b64", "u64"}, {"s16", "u16"},
                                          {"s32", "u32"}, {"s64", "u64"}, {"b8", "u8"}};
    for (size_t i = 0; i < OP_KINDS; i++) {
        if (strcmp(names[i].name, name) == 0 && strcmp(names[i].type, type) == 0) {
            return (int)i;
        }
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (strcmp(same[i][0], type) == 0) {
            return find_op(name, same[i][1]);
        }
    }
    return -1;
}

static ptx_round rounding(const statement *s)
{
    static const char *const modes[][2] = {
        {"rn", "rni"}, {"rz", "rzi"}, {"rm", "rmi"}, {"rp", "rpi"}, {"rna", "rna"}};
    for (int i = 0; i < 5; i++) {
        if (has(s, modes[i][0]) || has(s, modes[i][1])) {
            return (ptx_round)i;
        }
    }
    return ROUND_RN;
}

static void decode_plain(ptx_parser *parser, const statement *s)
{
    char name[64];
    snprintf(name, sizeof name, "%s", s->parts[0]);
    const char *type = s->parts[s->n_parts - 1];
    bool multiplies = strcmp(name, "mul") == 0 || strcmp(name, "mad") == 0;
    if (multiplies && (has(s, "hi") || has(s, "wide"))) {
        strcat(name, has(s, "hi") ? "hi" : "wide");
    } else if (strcmp(name, "mul24") == 0 || strcmp(name, "mad24") == 0) {
        name[3] = '\0';
    } else if (strcmp(name, "mad") == 0 && type[0] == 'f') {
        strcpy(name, "fma");
    } else if (strcmp(name, "shf") == 0) {
        snprintf(name, sizeof name, "shf%s_%s", s->parts[1], s->parts[2]);
    } else if (strcmp(name, "testp") == 0) {
        snprintf(name, sizeof name, "test_%s", s->parts[1]);
    } else if (has(s, "NaN")) {
        strcat(name, "nan");
    } else if (has(s, "shiftamt")) {
        strcat(name, "shift");
    }
    int op = find_op(name, type);
    if (op < 0) {
        ptx_fail(parser, "the instruction '%s' with type '%s' is not known here", s->parts[0], type);
    }
    need(parser, s, (size_t)names[op].arity + 1);
    ptx_type operand_type = ptx_type_of(type);
    uint32_t sources[3] = {0};
    for (int i = 0; i < names[op].arity; i++) {
        sources[i] = source(parser, &s->operands[i + 1], operand_type);
    }
    bool floats = operand_type == T_F32 || operand_type == T_F64;
    ptx_round round = floats ? rounding(s) : ROUND_RN;
    uint32_t d = target(parser, &s->operands[0]);
    if (round != ROUND_RN) {
        emit(parser, OP_ROUND, 0, 0, 0, 0, round);
    }
    emit(parser, (ptx_op)op, d, sources[0], sources[1], sources[2], 0);
    if (round != ROUND_RN) {
        emit(parser, OP_ROUND, 0, 0, 0, 0, ROUND_RN);
    }
    if (has(s, "sat") && floats) {
        emit(parser, operand_type == T_F32 ? OP_sat_f32 : OP_sat_f64, d, d, 0, 0, 0);
    }
}

/* add.cc, addc, sub.cc, subc, mad.lo.cc, madc.hi: the product is in `a` before the carry is added. */
static void decode_carry(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0], *type = s->parts[s->n_parts - 1];
    bool multiplies = name[0] == 'm', wide = type[1] == '6', subtracts = name[0] == 's';
    ptx_type operand_type = ptx_type_of(type);
    need(parser, s, multiplies ? 4 : 3);
    uint32_t a = source(parser, &s->operands[1], operand_type),
             b = source(parser, &s->operands[2], operand_type);
    if (multiplies) {
        uint32_t product = new_slot(parser);
        int op = find_op(has(s, "hi") ? "mulhi" : "mul", type);
        emit(parser, (ptx_op)op, product, a, b, 0, 0);
        a = product;
        b = source(parser, &s->operands[3], operand_type);
    }
    bool takes = name[strlen(name) - 1] == 'c';
    emit(parser, OP_CARRY, target(parser, &s->operands[0]), a, b, 0,
         (wide ? 1 : 0) | (subtracts ? 2 : 0) | (takes ? 4 : 0) | (has(s, "cc") ? 8 : 0));
}

static void decode_setp(ptx_parser *parser, const statement *s)
{
    char name[32];
    const char *compare = s->parts[1], *type = s->parts[s->n_parts - 1];
    static const char *const unsigned_names[][2] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    for (int i = 0; i < 4; i++) {
        compare = strcmp(compare, unsigned_names[i][0]) == 0 ? unsigned_names[i][1] : compare;
    }
    snprintf(name, sizeof name, "set_%s", compare);
    int op = type[0] == 's' || type[0] == 'f' || type[0] == 'u' || type[0] == 'b' ? -1 : -2;
    for (size_t i = 0; i < OP_KINDS && op == -1; i++) {
        const char *same = type[0] == 'b' ? "u" : (char[]){type[0], '\0'};
        op = strcmp(names[i].name, name) == 0 && names[i].type[0] == same[0] &&
                     strcmp(names[i].type + 1, type + 1) == 0
                 ? (int)i
                 : -1;
    }
    if (op < 0 || s->n < 3) {
        ptx_fail(parser, "the comparison '%s' of type '%s' is not known here", compare, type);
    }
    ptx_type operand_type = ptx_type_of(type);
    uint32_t d = target(parser, &s->operands[0]), a = source(parser, &s->operands[1], operand_type),
             b = source(parser, &s->operands[2], operand_type);
    bool pair = s->operands[0].kind == O_PAIR;
    if (s->n == 3 && !pair) {
        emit(parser, (ptx_op)op, d, a, b, 0, 0);
        return;
    }
    uint32_t c = s->n > 3 ? source(parser, &s->operands[3], T_PRED) : S_ZERO;
    ptx_op join = has(s, "and") ? OP_and_pred : has(s, "xor") ? OP_xor_pred : OP_or_pred;
    uint32_t compared = new_slot(parser), inverse = new_slot(parser);
    emit(parser, (ptx_op)op, compared, a, b, 0, 0);
    emit(parser, OP_not_pred, inverse, compared, 0, 0, 0);
    uint32_t held = new_slot(parser);
    emit(parser, OP_mov_u64, held, c, 0, 0, 0); /* d may be c */
    emit(parser, join, d, compared, held, 0, 0);
    if (pair) {
        emit(parser, join, s->operands[0].second, inverse, held, 0, 0);
    }
}

/* set.lt.u32.f32: all ones, or 1.0, instead of a predicate. */
static void decode_set(ptx_parser *parser, const statement *s)
{
    statement compare = *s;
    compare.parts[0] = "setp";
    uint32_t d = target(parser, &s->operands[0]), truth = new_slot(parser);
    compare.operands[0] = (operand){.kind = O_SLOT, .slot = truth};
    decode_setp(parser, &compare);
    bool floats = ptx_type_of(s->parts[s->n_parts - 2]) == T_F32;
    emit(parser, OP_SEL, d, constant(parser, CONST_PLAIN, floats ? 0x3f800000 : UINT32_MAX, 0), S_ZERO, truth,
         0);
}

static void decode_cvt(ptx_parser *parser, const statement *s)
{
    ptx_type from = ptx_type_of(s->parts[s->n_parts - 1]), to = ptx_type_of(s->parts[s->n_parts - 2]);
    uint32_t d = target(parser, &s->operands[0]);
    const char *to_name = s->parts[s->n_parts - 2];
    if (strcmp(to_name, "f16x2") == 0 || strcmp(to_name, "bf16x2") == 0) {
        need(parser, s, 3);
        ptx_type half = to_name[0] == 'b' ? T_BF16 : T_F16;
        uint32_t a = source(parser, &s->operands[1], T_F32), b = source(parser, &s->operands[2], T_F32);
        emit(parser, OP_CVT_PACK, d, a, b, 0, CVT_CODE(half, T_F32, rounding(s), 0, 0));
        return;
    }
    need(parser, s, 2);
    uint32_t a = source(parser, &s->operands[1], from);
    if (to == T_NONE || from == T_NONE) {
        ptx_fail(parser, "the conversion from '%s' to '%s' is not known here", s->parts[s->n_parts - 1],
                 to_name);
    }
    bool integers = to <= T_S64 && from <= T_S64, saturates = has(s, "sat");
    if (integers && !saturates) {
        static const ptx_op extend[] = {
            [T_U8] = OP_ext_u8,   [T_S8] = OP_ext_s8,   [T_U16] = OP_ext_u16, [T_S16] = OP_ext_s16,
            [T_U32] = OP_ext_u32, [T_S32] = OP_ext_s32, [T_U64] = OP_mov_u64, [T_S64] = OP_mov_u64};
        emit(parser, extend[ptx_size_of(to) <= ptx_size_of(from) ? to : from], d, a, 0, 0, 0);
        return;
    }
    int op = -1;
    if (!saturates && rounding(s) == ROUND_RN && (to == T_F32 || to == T_F64) && from != to) {
        op = find_op(to == T_F32 ? "to_f32" : "to_f64", s->parts[s->n_parts - 1]);
        op = op >= 0 && strcmp(names[op].type, s->parts[s->n_parts - 1]) == 0 ? op : -1;
    }
    if (op >= 0) {
        emit(parser, (ptx_op)op, d, a, 0, 0, 0);
        return;
    }
    bool integral = has(s, "rni") || has(s, "rzi") || has(s, "rmi") || has(s, "rpi");
    emit(parser, OP_CVT, d, a, 0, 0, CVT_CODE(to, from, rounding(s), integral, saturates));
}

static void decode_mov(ptx_parser *parser, const statement *s)
{
    const operand *d = &s->operands[0], *a = &s->operands[1];
    ptx_type type = last_type(parser, s);
    need(parser, s, 2);
    if (d->kind == O_VECTOR) {
        uint32_t bits = ptx_size_of(type) * 8 / (uint32_t)d->n_items, from = new_slot(parser);
        static const ptx_op cut[] = {[8] = OP_ext_u8, [16] = OP_ext_u16, [32] = OP_ext_u32};
        emit(parser, OP_mov_u64, from, source(parser, a, type), 0, 0, 0);
        for (uint32_t i = 0; i < d->n_items; i++) {
            uint32_t shifted = new_slot(parser);
            emit(parser, OP_shr_u64, shifted, from, constant(parser, CONST_PLAIN, i * bits, 0), 0, 0);
            emit(parser, cut[bits], target(parser, &d->items[i]), shifted, 0, 0, 0);
        }
    } else if (a->kind == O_VECTOR) {
        uint32_t bits = ptx_size_of(type) * 8 / (uint32_t)a->n_items, sum = new_slot(parser);
        static const ptx_op cut[] = {[8] = OP_ext_u8, [16] = OP_ext_u16, [32] = OP_ext_u32};
        emit(parser, OP_mov_u64, sum, S_ZERO, 0, 0, 0);
        for (uint32_t i = 0; i < a->n_items; i++) {
            uint32_t part = new_slot(parser);
            emit(parser, cut[bits], part, source(parser, &a->items[i], type), 0, 0, 0);
            emit(parser, OP_shl_u64, part, part, constant(parser, CONST_PLAIN, i * bits, 0), 0, 0);
            emit(parser, OP_or_u64, sum, sum, part, 0, 0);
        }
        emit(parser, OP_mov_u64, target(parser, d), sum, 0, 0, 0);
    } else {
        emit(parser, OP_mov_u64, target(parser, d), source(parser, a, type), 0, 0, 0);
    }
}

/* Loads, stores, atomic operations. */

static ptx_space space_of(const statement *s)
{
    static const struct {
        const char *name;
        ptx_space space;
    } spaces[] = {{"global", SPACE_GLOBAL},      {"const", SPACE_GLOBAL}, {"shared", SPACE_SHARED},
                  {"shared::cta", SPACE_SHARED}, {"local", SPACE_LOCAL},  {"param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (has(s, spaces[i].name)) {
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
    return operand->name != NULL ? name_slot(parser, operand->name) : operand->slot;
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
        emit(parser, store ? stores[ptx_size_of(type)] : load_op(type), value, base, 0, 0, plus);
        return;
    }
    ptx_ins *ins = emit(parser, store ? OP_STS : OP_LDS, value, base, space, 0, plus);
    ins->x = (uint16_t)type;
}

static void decode_memory(ptx_parser *parser, const statement *s, bool store)
{
    ptx_type type = last_type(parser, s);
    ptx_space space = space_of(s);
    const operand *value = &s->operands[store ? 1 : 0], *at = &s->operands[store ? 0 : 1];
    int64_t plus;
    need(parser, s, s->n >= 2 ? s->n : 2); /* a cache policy may follow */
    uint32_t base = address(parser, at, &plus), size = ptx_size_of(type);
    if (value->kind != O_VECTOR) {
        memory(parser, store, space, type, store ? source(parser, value, type) : target(parser, value), base,
               plus);
        return;
    }
    uint32_t held = new_slot(parser);
    emit(parser, OP_mov_u64, held, base, 0, 0, 0); /* a loaded register may be the address */
    emit(parser, OP_ALIGN, 0, held, space, size * (uint32_t)value->n_items, plus);
    for (uint32_t i = 0; i < value->n_items; i++) {
        const operand *item = &value->items[i];
        memory(parser, store, space, type, store ? source(parser, item, type) : target(parser, item), held,
               plus + i * size);
    }
}

static void decode_atom(ptx_parser *parser, const statement *s, bool result)
{
    static const char *const kinds[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
    int kind = -1;
    int64_t plus;
    size_t first = result ? 1 : 0;
    ptx_type type = last_type(parser, s);
    for (int i = 0; i < 10; i++) {
        kind = has(s, kinds[i]) ? i : kind;
    }
    if (kind < 0) {
        ptx_fail(parser, "the atomic operation '%s' is not known here", s->parts[s->n_parts - 2]);
    }
    need(parser, s, first + (kind == ATOM_CAS ? 3 : 2));
    uint32_t d = result ? target(parser, &s->operands[0]) : new_slot(parser);
    uint32_t base = address(parser, &s->operands[first], &plus), at = new_slot(parser);
    ptx_space space = space_of(s);
    if (space == SPACE_SHARED) {
        emit(parser, OP_add_u64, at, base, constant(parser, CONST_PLAIN, SHARED_WINDOW, 0), 0, 0);
        base = at;
    }
    uint32_t b = source(parser, &s->operands[first + 1], type),
             c = kind == ATOM_CAS ? source(parser, &s->operands[first + 2], type) : S_ZERO;
    emit(parser, OP_ATOM, d, base, b, c, plus)->x = (uint16_t)(kind << 8 | type);
}

/* cvta.shared.u64 and its opposite cvta.to.shared.u64. */
static void decode_cvta(ptx_parser *parser, const statement *s)
{
    static const uint64_t windows[] = {[SPACE_SHARED] = SHARED_WINDOW,
                                       [SPACE_LOCAL] = LOCAL_WINDOW,
                                       [SPACE_PARAM] = PARAM_WINDOW,
                                       [SPACE_GLOBAL] = 0};
    ptx_space space = space_of(s);
    need(parser, s, 2);
    uint32_t d = target(parser, &s->operands[0]), a = source(parser, &s->operands[1], T_U64);
    uint64_t window = windows[space];
    if (window == 0) {
        emit(parser, OP_mov_u64, d, a, 0, 0, 0);
    } else if (space == SPACE_PARAM) {
        emit(parser, OP_PARAM_GENERIC, d, a, 0, 0, has(s, "to"));
    } else {
        emit(parser, has(s, "to") ? OP_sub_u64 : OP_add_u64, d, a, constant(parser, CONST_PLAIN, window, 0),
             0, 0);
    }
}

/* Control. */

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
            emit(parser, OP_ASSERT, 0, 0, 0, 0, 0);
            return;
        }
        if (strcmp(callee->name, "vprintf") == 0) {
            emit(parser, OP_PRINT, 0, call.args[0], call.args[1], call.result, 0);
            return;
        }
        call.callee = ptx_function_index(parser->module, callee->name);
        if (call.callee < 0) {
            ptx_fail(parser, "Unknown symbol '%s'", callee->name);
        }
    } else {
        call.slot = source(parser, callee, T_U64);
        function->indirect = true;
    }
    function->calls = true;
    function->call_sites = ptx_grow(parser->module, function->call_sites, function->n_calls, sizeof call);
    function->call_sites[function->n_calls] = call;
    emit(parser, OP_CALL, 0, 0, 0, 0, (int64_t)function->n_calls++);
}

static void decode_barrier(ptx_parser *parser, const statement *s)
{
    parser->function->collective = true;
    if (has(s, "warp")) {
        emit(parser, OP_SYNCWARP, 0, 0, 0, 0, 0)->b = source(parser, &s->operands[0], T_U32);
        return;
    }
    if (has(s, "arrive")) {
        ptx_fail(parser, "bar.arrive is not known here");
    }
    if (!has(s, "red")) {
        emit(parser, OP_BARRIER, 0, 0, 0, 0, BAR_PLAIN);
        return;
    }
    int kind = has(s, "popc") ? BAR_POPC : has(s, "and") ? BAR_AND : BAR_OR;
    uint32_t p = source(parser, &s->operands[s->n - 1], T_PRED);
    emit(parser, OP_BARRIER, target(parser, &s->operands[0]), p, 0, 0, kind);
}

static void decode_shfl(ptx_parser *parser, const statement *s)
{
    int mode = has(s, "up") ? SHFL_UP : has(s, "down") ? SHFL_DOWN : has(s, "bfly") ? SHFL_BFLY : SHFL_IDX;
    parser->function->collective = true;
    need(parser, s, 5);
    /* Lane and clamp in one slot's place: two slots that follow one another. */
    uint32_t a = source(parser, &s->operands[1], T_U32), lane = source(parser, &s->operands[2], T_U32),
             clamp = source(parser, &s->operands[3], T_U32), mask = source(parser, &s->operands[4], T_U32);
    uint32_t both = new_slot(parser), second = new_slot(parser);
    emit(parser, OP_mov_u64, both, lane, 0, 0, 0);
    emit(parser, OP_mov_u64, second, clamp, 0, 0, 0);
    bool pair = s->operands[0].kind == O_PAIR;
    uint32_t p = pair ? s->operands[0].second : new_slot(parser);
    ptx_ins *ins = emit(parser, OP_SHFL, target(parser, &s->operands[0]), a, mask, both, p);
    ins->x = (uint16_t)mode;
}

/* Operations of a warp with one source and the mask last: the mask is in b. */
static void decode_warp(ptx_parser *parser, const statement *s, ptx_op op)
{
    int kind = 0;
    parser->function->collective = true;
    if (op == OP_VOTE) {
        kind = has(s, "any") ? VOTE_ANY : has(s, "all") ? VOTE_ALL : has(s, "uni") ? VOTE_UNI : VOTE_BALLOT;
    } else if (op == OP_REDUX) {
        static const char *const kinds[] = {"add", "min", "max", "", "", "and", "or", "xor"};
        for (int i = 0; i < 8; i++) {
            kind = kinds[i][0] != '\0' && has(s, kinds[i]) ? i << 8 | (int)last_type(parser, s) : kind;
        }
    } else {
        kind = (has(s, "all") ? 1 : 0) | (ptx_size_of(last_type(parser, s)) == 8 ? 2 : 0);
    }
    need(parser, s, 3);
    uint32_t a = source(parser, &s->operands[1], T_U64), mask = source(parser, &s->operands[2], T_U32);
    bool pair = s->operands[0].kind == O_PAIR;
    uint32_t p = pair ? s->operands[0].second : new_slot(parser);
    emit(parser, op, target(parser, &s->operands[0]), a, mask, 0, p)->x = (uint16_t)kind;
}

static bool decode_control(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "bra") == 0) {
        emit(parser, OP_BRA, 0, 0, 0, 0, (int64_t)ptx_label(parser, s->operands[0].name));
    } else if (strcmp(name, "brx") == 0) {
        need(parser, s, 2);
        uint32_t index = source(parser, &s->operands[0], T_U32);
        emit(parser, OP_BRX, 0, index, 0, 0, (int64_t)ptx_label(parser, s->operands[1].name));
    } else if (strcmp(name, "call") == 0) {
        decode_call(parser, s);
    } else if (strcmp(name, "ret") == 0) {
        emit(parser, parser->function->entry ? OP_EXIT : OP_RET, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "exit") == 0) {
        emit(parser, OP_EXIT, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "trap") == 0) {
        emit(parser, OP_TRAP, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "bar") == 0 || strcmp(name, "barrier") == 0) {
        decode_barrier(parser, s);
    } else if (strcmp(name, "membar") == 0 || strcmp(name, "fence") == 0) {
        emit(parser, OP_FENCE, 0, 0, 0, 0, 0);
    } else if (strcmp(name, "shfl") == 0) {
        decode_shfl(parser, s);
    } else if (strcmp(name, "vote") == 0) {
        decode_warp(parser, s, OP_VOTE);
    } else if (strcmp(name, "redux") == 0) {
        decode_warp(parser, s, OP_REDUX);
    } else if (strcmp(name, "match") == 0) {
        decode_warp(parser, s, OP_MATCH);
    } else if (strcmp(name, "activemask") == 0) {
        emit(parser, OP_ACTIVE, target(parser, &s->operands[0]), 0, 0, 0, 0);
    } else {
        return strcmp(name, "prefetch") == 0 || strcmp(name, "prefetchu") == 0 ||
               strcmp(name, "nanosleep") == 0 || strcmp(name, "brkpt") == 0 || strcmp(name, "discard") == 0;
    }
    return true;
}

static bool decode_bits(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "selp") == 0) {
        need(parser, s, 4);
        ptx_type type = last_type(parser, s);
        uint32_t a = source(parser, &s->operands[1], type), b = source(parser, &s->operands[2], type),
                 c = source(parser, &s->operands[3], T_PRED);
        emit(parser, OP_SEL, target(parser, &s->operands[0]), a, b, c, 0);
    } else if (strcmp(name, "lop3") == 0) {
        need(parser, s, 5);
        uint32_t a = source(parser, &s->operands[1], T_U32), b = source(parser, &s->operands[2], T_U32),
                 c = source(parser, &s->operands[3], T_U32);
        emit(parser, OP_LOP3, target(parser, &s->operands[0]), a, b, c, (int64_t)s->operands[4].number);
    } else if (strcmp(name, "prmt") == 0) {
        static const char *const modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
        int mode = 0;
        for (int i = 1; i < 7; i++) {
            mode = has(s, modes[i]) ? i : mode;
        }
        need(parser, s, 4);
        uint32_t a = source(parser, &s->operands[1], T_U32), b = source(parser, &s->operands[2], T_U32),
                 c = source(parser, &s->operands[3], T_U32);
        emit(parser, OP_PRMT, target(parser, &s->operands[0]), a, b, c, mode);
    } else if (strcmp(name, "bfi") == 0) {
        need(parser, s, 5);
        ptx_type type = last_type(parser, s);
        uint32_t a = source(parser, &s->operands[1], type), b = source(parser, &s->operands[2], type),
                 c = source(parser, &s->operands[3], T_U32), d = source(parser, &s->operands[4], T_U32);
        emit(parser, type == T_U32 ? OP_BFI32 : OP_BFI64, target(parser, &s->operands[0]), a, b, c, d);
    } else if (strcmp(name, "isspacep") == 0) {
        need(parser, s, 2);
        emit(parser, OP_ISSPACE, target(parser, &s->operands[0]), source(parser, &s->operands[1], T_U64), 0,
             0, space_of(s));
    } else {
        return false;
    }
    return true;
}

static void decode_one(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "mov") == 0) {
        decode_mov(parser, s);
    } else if (strcmp(name, "ld") == 0 || strcmp(name, "ldu") == 0) {
        decode_memory(parser, s, false);
    } else if (strcmp(name, "st") == 0) {
        decode_memory(parser, s, true);
    } else if (strcmp(name, "setp") == 0) {
        decode_setp(parser, s);
    } else if (strcmp(name, "set") == 0) {
        decode_set(parser, s);
    } else if (strcmp(name, "cvt") == 0) {
        decode_cvt(parser, s);
    } else if (strcmp(name, "cvta") == 0) {
        decode_cvta(parser, s);
    } else if (strcmp(name, "atom") == 0 || strcmp(name, "red") == 0) {
        decode_atom(parser, s, name[0] == 'a');
    } else if (has(s, "cc") || strcmp(name, "addc") == 0 || strcmp(name, "subc") == 0 ||
               strcmp(name, "madc") == 0) {
        decode_carry(parser, s);
    } else if (!decode_control(parser, s) && !decode_bits(parser, s)) {
        decode_plain(parser, s);
    }
}

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
        emit(parser, negated ? OP_BRA_IF : OP_BRA_UNLESS, 0, guard, 0, 0, 0)->x =
            1; /* its distance is known */
    }
    while (!ptx_accept(parser, ";")) {
        if (s.n == sizeof s.operands / sizeof *s.operands) {
            ptx_fail(parser, "too many arguments for instruction '%s'", s.parts[0]);
        }
        parse_operand(parser, &s.operands[s.n++]);
        if (!ptx_accept(parser, ",") && !ptx_is(parser, ";")) {
            ptx_fail(parser, "syntax error near '%s'", parser->word);
        }
    }
    decode_one(parser, &s);
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
    emit(parser, function->entry ? OP_EXIT : OP_RET, 0, 0, 0, 0, 0);
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
                    emit(parser, OP_BRA, 0, 0, 0, 0, to->at - (int64_t)function->n);
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
