/* Arithmetic, comparisons, conversions, bits. */
#include "ptx_decode.h"

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
        if (ptx_has(s, modes[i][0]) || ptx_has(s, modes[i][1])) {
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
    if (multiplies && (ptx_has(s, "hi") || ptx_has(s, "wide"))) {
        strcat(name, ptx_has(s, "hi") ? "hi" : "wide");
    } else if (strcmp(name, "mul24") == 0 || strcmp(name, "mad24") == 0) {
        name[3] = '\0';
    } else if (strcmp(name, "mad") == 0 && type[0] == 'f') {
        strcpy(name, "fma");
    } else if (strcmp(name, "shf") == 0) {
        snprintf(name, sizeof name, "shf%s_%s", s->parts[1], s->parts[2]);
    } else if (strcmp(name, "testp") == 0) {
        snprintf(name, sizeof name, "test_%s", s->parts[1]);
    } else if (ptx_has(s, "NaN")) {
        strcat(name, "nan");
    } else if (ptx_has(s, "shiftamt")) {
        strcat(name, "shift");
    }
    int op = find_op(name, type);
    if (op < 0) {
        ptx_fail(parser, "the instruction '%s' with type '%s' is not known here", s->parts[0], type);
    }
    ptx_need(parser, s, (size_t)names[op].arity + 1);
    ptx_type operand_type = ptx_type_of(type);
    uint32_t sources[3] = {0};
    for (int i = 0; i < names[op].arity; i++) {
        sources[i] = ptx_source(parser, &s->operands[i + 1], operand_type);
    }
    bool floats = operand_type == T_F32 || operand_type == T_F64;
    ptx_round round = floats ? rounding(s) : ROUND_RN;
    uint32_t d = ptx_target(parser, &s->operands[0]);
    if (round != ROUND_RN) {
        ptx_emit(parser, OP_ROUND, 0, 0, 0, 0, round);
    }
    ptx_emit(parser, (ptx_op)op, d, sources[0], sources[1], sources[2], 0);
    if (round != ROUND_RN) {
        ptx_emit(parser, OP_ROUND, 0, 0, 0, 0, ROUND_RN);
    }
    if (ptx_has(s, "sat") && floats) {
        ptx_emit(parser, operand_type == T_F32 ? OP_sat_f32 : OP_sat_f64, d, d, 0, 0, 0);
    }
}

/* add.cc, addc, sub.cc, subc, mad.lo.cc, madc.hi: the product is in `a` before the carry is added. */
static void decode_carry(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0], *type = s->parts[s->n_parts - 1];
    bool multiplies = name[0] == 'm', wide = type[1] == '6', subtracts = name[0] == 's';
    ptx_type operand_type = ptx_type_of(type);
    ptx_need(parser, s, multiplies ? 4 : 3);
    uint32_t a = ptx_source(parser, &s->operands[1], operand_type),
             b = ptx_source(parser, &s->operands[2], operand_type);
    if (multiplies) {
        uint32_t product = ptx_slot(parser);
        int op = find_op(ptx_has(s, "hi") ? "mulhi" : "mul", type);
        ptx_emit(parser, (ptx_op)op, product, a, b, 0, 0);
        a = product;
        b = ptx_source(parser, &s->operands[3], operand_type);
    }
    bool takes = name[strlen(name) - 1] == 'c';
    ptx_emit(parser, OP_CARRY, ptx_target(parser, &s->operands[0]), a, b, 0,
             (wide ? 1 : 0) | (subtracts ? 2 : 0) | (takes ? 4 : 0) | (ptx_has(s, "cc") ? 8 : 0));
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
    uint32_t d = ptx_target(parser, &s->operands[0]), a = ptx_source(parser, &s->operands[1], operand_type),
             b = ptx_source(parser, &s->operands[2], operand_type);
    bool pair = s->operands[0].kind == O_PAIR;
    if (s->n == 3 && !pair) {
        ptx_emit(parser, (ptx_op)op, d, a, b, 0, 0);
        return;
    }
    uint32_t c = s->n > 3 ? ptx_source(parser, &s->operands[3], T_PRED) : S_ZERO;
    ptx_op join = ptx_has(s, "and") ? OP_and_pred : ptx_has(s, "xor") ? OP_xor_pred : OP_or_pred;
    uint32_t compared = ptx_slot(parser), inverse = ptx_slot(parser);
    ptx_emit(parser, (ptx_op)op, compared, a, b, 0, 0);
    ptx_emit(parser, OP_not_pred, inverse, compared, 0, 0, 0);
    uint32_t held = ptx_slot(parser);
    ptx_emit(parser, OP_mov_u64, held, c, 0, 0, 0); /* d may be c */
    ptx_emit(parser, join, d, compared, held, 0, 0);
    if (pair) {
        ptx_emit(parser, join, s->operands[0].second, inverse, held, 0, 0);
    }
}

/* set.lt.u32.f32: all ones, or 1.0, instead of a predicate. */
static void decode_set(ptx_parser *parser, const statement *s)
{
    statement compare = *s;
    compare.parts[0] = "setp";
    uint32_t d = ptx_target(parser, &s->operands[0]), truth = ptx_slot(parser);
    compare.operands[0] = (operand){.kind = O_SLOT, .slot = truth};
    decode_setp(parser, &compare);
    bool floats = ptx_type_of(s->parts[s->n_parts - 2]) == T_F32;
    ptx_emit(parser, OP_SEL, d, ptx_constant(parser, CONST_PLAIN, floats ? 0x3f800000 : UINT32_MAX, 0),
             S_ZERO, truth, 0);
}

static void decode_cvt(ptx_parser *parser, const statement *s)
{
    ptx_type from = ptx_type_of(s->parts[s->n_parts - 1]), to = ptx_type_of(s->parts[s->n_parts - 2]);
    uint32_t d = ptx_target(parser, &s->operands[0]);
    const char *to_name = s->parts[s->n_parts - 2];
    if (strcmp(to_name, "f16x2") == 0 || strcmp(to_name, "bf16x2") == 0) {
        ptx_need(parser, s, 3);
        ptx_type half = to_name[0] == 'b' ? T_BF16 : T_F16;
        uint32_t a = ptx_source(parser, &s->operands[1], T_F32),
                 b = ptx_source(parser, &s->operands[2], T_F32);
        ptx_emit(parser, OP_CVT_PACK, d, a, b, 0, CVT_CODE(half, T_F32, rounding(s), 0, 0));
        return;
    }
    ptx_need(parser, s, 2);
    uint32_t a = ptx_source(parser, &s->operands[1], from);
    if (to == T_NONE || from == T_NONE) {
        ptx_fail(parser, "the conversion from '%s' to '%s' is not known here", s->parts[s->n_parts - 1],
                 to_name);
    }
    bool integers = to <= T_S64 && from <= T_S64, saturates = ptx_has(s, "sat");
    if (integers && !saturates) {
        static const ptx_op extend[] = {
            [T_U8] = OP_ext_u8,   [T_S8] = OP_ext_s8,   [T_U16] = OP_ext_u16, [T_S16] = OP_ext_s16,
            [T_U32] = OP_ext_u32, [T_S32] = OP_ext_s32, [T_U64] = OP_mov_u64, [T_S64] = OP_mov_u64};
        ptx_emit(parser, extend[ptx_size_of(to) <= ptx_size_of(from) ? to : from], d, a, 0, 0, 0);
        return;
    }
    int op = -1;
    if (!saturates && rounding(s) == ROUND_RN && (to == T_F32 || to == T_F64) && from != to) {
        op = find_op(to == T_F32 ? "to_f32" : "to_f64", s->parts[s->n_parts - 1]);
        op = op >= 0 && strcmp(names[op].type, s->parts[s->n_parts - 1]) == 0 ? op : -1;
    }
    if (op >= 0) {
        ptx_emit(parser, (ptx_op)op, d, a, 0, 0, 0);
        return;
    }
    bool integral = ptx_has(s, "rni") || ptx_has(s, "rzi") || ptx_has(s, "rmi") || ptx_has(s, "rpi");
    ptx_emit(parser, OP_CVT, d, a, 0, 0, CVT_CODE(to, from, rounding(s), integral, saturates));
}

static void decode_mov(ptx_parser *parser, const statement *s)
{
    const operand *d = &s->operands[0], *a = &s->operands[1];
    ptx_type type = ptx_last_type(parser, s);
    ptx_need(parser, s, 2);
    if (d->kind == O_VECTOR) {
        uint32_t bits = ptx_size_of(type) * 8 / (uint32_t)d->n_items, from = ptx_slot(parser);
        static const ptx_op cut[] = {[8] = OP_ext_u8, [16] = OP_ext_u16, [32] = OP_ext_u32};
        ptx_emit(parser, OP_mov_u64, from, ptx_source(parser, a, type), 0, 0, 0);
        for (uint32_t i = 0; i < d->n_items; i++) {
            uint32_t shifted = ptx_slot(parser);
            ptx_emit(parser, OP_shr_u64, shifted, from, ptx_constant(parser, CONST_PLAIN, i * bits, 0), 0, 0);
            ptx_emit(parser, cut[bits], ptx_target(parser, &d->items[i]), shifted, 0, 0, 0);
        }
    } else if (a->kind == O_VECTOR) {
        uint32_t bits = ptx_size_of(type) * 8 / (uint32_t)a->n_items, sum = ptx_slot(parser);
        static const ptx_op cut[] = {[8] = OP_ext_u8, [16] = OP_ext_u16, [32] = OP_ext_u32};
        ptx_emit(parser, OP_mov_u64, sum, S_ZERO, 0, 0, 0);
        for (uint32_t i = 0; i < a->n_items; i++) {
            uint32_t part = ptx_slot(parser);
            ptx_emit(parser, cut[bits], part, ptx_source(parser, &a->items[i], type), 0, 0, 0);
            ptx_emit(parser, OP_shl_u64, part, part, ptx_constant(parser, CONST_PLAIN, i * bits, 0), 0, 0);
            ptx_emit(parser, OP_or_u64, sum, sum, part, 0, 0);
        }
        ptx_emit(parser, OP_mov_u64, ptx_target(parser, d), sum, 0, 0, 0);
    } else {
        ptx_emit(parser, OP_mov_u64, ptx_target(parser, d), ptx_source(parser, a, type), 0, 0, 0);
    }
}

static bool decode_bits(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "selp") == 0) {
        ptx_need(parser, s, 4);
        ptx_type type = ptx_last_type(parser, s);
        uint32_t a = ptx_source(parser, &s->operands[1], type), b = ptx_source(parser, &s->operands[2], type),
                 c = ptx_source(parser, &s->operands[3], T_PRED);
        ptx_emit(parser, OP_SEL, ptx_target(parser, &s->operands[0]), a, b, c, 0);
    } else if (strcmp(name, "lop3") == 0) {
        ptx_need(parser, s, 5);
        uint32_t a = ptx_source(parser, &s->operands[1], T_U32),
                 b = ptx_source(parser, &s->operands[2], T_U32),
                 c = ptx_source(parser, &s->operands[3], T_U32);
        ptx_emit(parser, OP_LOP3, ptx_target(parser, &s->operands[0]), a, b, c,
                 (int64_t)s->operands[4].number);
    } else if (strcmp(name, "prmt") == 0) {
        static const char *const modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
        int mode = 0;
        for (int i = 1; i < 7; i++) {
            mode = ptx_has(s, modes[i]) ? i : mode;
        }
        ptx_need(parser, s, 4);
        uint32_t a = ptx_source(parser, &s->operands[1], T_U32),
                 b = ptx_source(parser, &s->operands[2], T_U32),
                 c = ptx_source(parser, &s->operands[3], T_U32);
        ptx_emit(parser, OP_PRMT, ptx_target(parser, &s->operands[0]), a, b, c, mode);
    } else if (strcmp(name, "bfi") == 0) {
        ptx_need(parser, s, 5);
        ptx_type type = ptx_last_type(parser, s);
        uint32_t a = ptx_source(parser, &s->operands[1], type), b = ptx_source(parser, &s->operands[2], type),
                 c = ptx_source(parser, &s->operands[3], T_U32),
                 d = ptx_source(parser, &s->operands[4], T_U32);
        ptx_emit(parser, type == T_U32 ? OP_BFI32 : OP_BFI64, ptx_target(parser, &s->operands[0]), a, b, c,
                 d);
    } else if (strcmp(name, "isspacep") == 0) {
        ptx_need(parser, s, 2);
        ptx_emit(parser, OP_ISSPACE, ptx_target(parser, &s->operands[0]),
                 ptx_source(parser, &s->operands[1], T_U64), 0, 0, ptx_space_of(s));
    } else {
        return false;
    }
    return true;
}

void ptx_decode_arithmetic(ptx_parser *parser, const statement *s)
{
    const char *name = s->parts[0];
    if (strcmp(name, "mov") == 0) {
        decode_mov(parser, s);
    } else if (strcmp(name, "setp") == 0) {
        decode_setp(parser, s);
    } else if (strcmp(name, "set") == 0) {
        decode_set(parser, s);
    } else if (strcmp(name, "cvt") == 0) {
        decode_cvt(parser, s);
    } else if (ptx_has(s, "cc") || strcmp(name, "addc") == 0 || strcmp(name, "subc") == 0 ||
               strcmp(name, "madc") == 0) {
        decode_carry(parser, s);
    } else if (!decode_bits(parser, s)) {
        decode_plain(parser, s);
    }
}
