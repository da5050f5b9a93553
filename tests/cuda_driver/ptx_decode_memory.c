/* Loads, stores, atomic operations. */
#include "ptx_decode.h"

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
