/* What the files that decode instructions share. */
#ifndef SIM_PTX_DECODE_H
#define SIM_PTX_DECODE_H

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

/* ptx_operand.c. Parts of a frame, and what operands stand for. */
uint32_t ptx_slot(ptx_parser *parser);
ptx_ins *ptx_emit(ptx_parser *parser, ptx_op op, uint32_t d, uint32_t a, uint32_t b, uint32_t c, int64_t imm);
/* A slot that holds this from the start. */
uint32_t ptx_constant(ptx_parser *parser, ptx_const_kind kind, uint64_t value, int64_t plus);
/* A slot that holds what the name stands for. */
uint32_t ptx_name_slot(ptx_parser *parser, const char *name);
void ptx_operand(ptx_parser *parser, operand *out);
/* The slot of a source, and of a result. */
uint32_t ptx_source(ptx_parser *parser, const operand *operand, ptx_type type);
uint32_t ptx_target(ptx_parser *parser, const operand *operand);
bool ptx_has(const statement *s, const char *part);
void ptx_need(ptx_parser *parser, const statement *s, size_t n);
ptx_type ptx_last_type(ptx_parser *parser, const statement *s);

/* ptx_decode_arithmetic.c. Everything that is nothing else. */
void ptx_decode_arithmetic(ptx_parser *parser, const statement *s);
/* False: the instruction is none of theirs. */
bool ptx_decode_memory(ptx_parser *parser, const statement *s);
bool ptx_decode_control(ptx_parser *parser, const statement *s);
ptx_space ptx_space_of(const statement *s);

#endif
