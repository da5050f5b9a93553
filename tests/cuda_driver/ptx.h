/*
 * PTX, decoded: each instruction is an operation over slots, 64 bits each, of a frame. A frame's slots hold
 * special registers, registers, temporaries and constants alike, so that all operands are read in the same
 * way.
 */
#ifndef SIM_PTX_H
#define SIM_PTX_H

#include "sim.h"

#include <setjmp.h>

/* Where generic addresses of a block's and a thread's own memory lie; addresses below are global. */
#define SHARED_WINDOW UINT64_C(0x7e00000000000000)
#define LOCAL_WINDOW UINT64_C(0x7d00000000000000)
#define PARAM_WINDOW UINT64_C(0x7c00000000000000)
#define CODE_WINDOW UINT64_C(0x7b00000000000000) /* addresses of functions */
#define WINDOW_MASK UINT64_C(0xff00000000000000)

typedef enum ptx_type {
    T_NONE,
    T_U8,
    T_S8,
    T_U16,
    T_S16,
    T_U32,
    T_S32,
    T_U64,
    T_S64,
    T_F16,
    T_BF16,
    T_F32,
    T_F64,
    T_PRED
} ptx_type;

typedef enum ptx_space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM } ptx_space;

typedef enum ptx_op {
#define OP1(name, out, in, expression) OP_##name##_##in,
#define OP2(name, out, in, expression) OP_##name##_##in,
#define OP3(name, out, in, expression) OP_##name##_##in,
#define OPX(name) OP_##name,
#include "ptx_ops.inc"
#undef OP1
#undef OP2
#undef OP3
#undef OPX
    OP_KINDS
} ptx_op;

typedef struct ptx_ins {
    uint16_t op;
    uint16_t x; /* what the operation says it is */
    uint32_t d, a, b, c;
    int32_t imm;
} ptx_ins;

/* Slots of special registers, at the start of each frame. */
typedef enum ptx_special {
    S_ZERO,
    S_TID_X,
    S_TID_Y,
    S_TID_Z,
    S_NTID_X,
    S_NTID_Y,
    S_NTID_Z,
    S_CTAID_X,
    S_CTAID_Y,
    S_CTAID_Z,
    S_NCTAID_X,
    S_NCTAID_Y,
    S_NCTAID_Z,
    S_LANEID,
    S_WARPID,
    S_NWARPID,
    S_LANEMASK_EQ,
    S_LANEMASK_LE,
    S_LANEMASK_LT,
    S_LANEMASK_GE,
    S_LANEMASK_GT,
    S_DYNAMIC,      /* where dynamic shared memory begins */
    S_DYNAMIC_SIZE, /* %dynamic_smem_size */
    S_TOTAL_SIZE,   /* %total_smem_size */
    S_WARP_SIZE,
    S_COUNT
} ptx_special;

typedef enum ptx_const_kind { CONST_PLAIN, CONST_GLOBAL, CONST_SHARED } ptx_const_kind;

typedef struct ptx_const {
    uint32_t slot;
    ptx_const_kind kind;
    uint64_t value; /* an offset from the module's data; an index of a shared variable */
    int64_t plus;
} ptx_const;

typedef struct ptx_param {
    const char *name;
    uint32_t offset, size;
} ptx_param;

typedef struct ptx_function ptx_function;

typedef struct ptx_call {
    int callee; /* index of a function; -1: the address in a slot */
    uint32_t slot;
    uint32_t n_args; /* offsets in the caller's frame of parameters */
    uint32_t args[32];
    uint32_t result;
    bool has_result;
} ptx_call;

struct ptx_function {
    const char *name;
    bool entry, defined;
    ptx_ins *code;
    uint32_t *lines;
    size_t n, room;
    uint32_t slots;
    ptx_const *consts;
    size_t n_consts, room_consts;
    ptx_param *params; /* in the frame's parameters from 0 on */
    size_t n_params;
    uint32_t params_size; /* of the arguments alone */
    ptx_param result;
    bool has_result;
    uint32_t frame_size; /* of all .param variables */
    uint32_t local_size;
    uint32_t shared_size; /* an entry: static */
    bool *shared_used;    /* by index; calls included after linking */
    bool collective;      /* its threads wait for each other; calls included after linking */
    bool calls, indirect;
    ptx_call *call_sites;
    size_t n_calls;
    int max_threads, required[3];
    int dynamic_limit; /* set with cuFuncSetAttribute */
};

typedef struct ptx_shared {
    const char *name;
    uint32_t size, align, offset;
    bool dynamic, common;
} ptx_shared;

typedef struct ptx_variable {
    const char *name;
    uint32_t offset, size, align;
    bool constant, external;
} ptx_variable;

typedef struct ptx_relocation {
    uint32_t at, size;
    const char *name;
    int64_t plus;
} ptx_relocation;

typedef struct ptx_module {
    void *memory; /* a list of everything allocated */
    ptx_function *functions;
    size_t n_functions;
    ptx_shared *shared;
    size_t n_shared;
    ptx_variable *variables;
    size_t n_variables;
    unsigned char *data; /* initial contents of the variables */
    uint32_t data_size;
    ptx_relocation *relocations;
    size_t n_relocations;
    uint64_t base; /* the address of the data on the device */
    int version, target;
} ptx_module;

/* ptx_parse.c. NULL with a message where the text is not understood. */
ptx_module *ptx_parse(const char *text, char *message, size_t size);
void ptx_free(ptx_module *module);
ptx_function *ptx_find(const ptx_module *module, const char *name);

/* ptx_lex.c */
typedef enum ptx_token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_INTEGER,
    TOKEN_FLOAT32,
    TOKEN_FLOAT64,
    TOKEN_DECIMAL,
    TOKEN_STRING,
    TOKEN_SIGN
} ptx_token;

typedef struct ptx_scope_symbol ptx_scope_symbol;

typedef struct ptx_parser {
    const char *at;
    unsigned line, statement; /* where the parser is; where the statement began */
    ptx_token token;
    char word[512]; /* TOKEN_WORD; TOKEN_SIGN has one character */
    uint64_t number;
    double decimal;
    ptx_module *module;
    ptx_function *function; /* the one whose body this is */
    ptx_scope_symbol *symbols;
    size_t n_symbols, room_symbols;
    struct ptx_label {
        const char *name;
        int64_t at;        /* -1: not seen yet */
        uint32_t *targets; /* of .branchtargets */
        size_t n_targets;
    } * labels;
    size_t n_labels, room_labels;
    jmp_buf failed;
    char *message;
    size_t message_size;
} ptx_parser;

void ptx_fail(ptx_parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void ptx_next(ptx_parser *parser);
bool ptx_is(const ptx_parser *parser, const char *text);
/* Takes the token if it is this one. */
bool ptx_accept(ptx_parser *parser, const char *text);
void ptx_expect(ptx_parser *parser, const char *text);
void *ptx_alloc(ptx_module *module, size_t size);
char *ptx_name(ptx_parser *parser); /* a copy of the word */
/* An array with room for one more element. */
void *ptx_grow(ptx_module *module, void *array, size_t n, size_t size);
int64_t ptx_integer(ptx_parser *parser);

/* ptx_parse.c, for the decoder: names of the body. */
typedef enum ptx_symbol_kind { SYMBOL_REGISTERS, SYMBOL_LOCAL, SYMBOL_PARAM, SYMBOL_SHARED } ptx_symbol_kind;

struct ptx_scope_symbol {
    ptx_symbol_kind kind;
    const char *name;
    uint32_t first, count; /* slots, or an offset, or an index; count 0: the name alone */
    unsigned depth;
};

ptx_scope_symbol *ptx_symbol(ptx_parser *parser, const char *name, uint32_t *index);
size_t ptx_label(ptx_parser *parser, const char *name);
ptx_type ptx_type_of(const char *name);
uint32_t ptx_size_of(ptx_type type);
int ptx_function_index(const ptx_module *module, const char *name);

/* ptx_lex.c, after the text */
void ptx_link(ptx_module *module);

/* ptx_decode.c */
void ptx_decode(ptx_parser *parser);
/* Labels become distances. */
void ptx_resolve(ptx_parser *parser);

/* ptx_convert.c: `imm` of OP_CVT, and the conversion. */
typedef enum ptx_round { ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP, ROUND_RA } ptx_round;
#define CVT_CODE(to, from, round, integral, saturate) \
    ((int32_t)((to) | (from) << 4 | (round) << 8 | (integral) << 12 | (saturate) << 13))
uint64_t ptx_convert(uint64_t value, int32_t code);
float ptx_from_half(uint16_t half);
uint16_t ptx_to_half(double value, ptx_round round);

/* ptx_memory.c */
typedef struct ptx_runner ptx_runner;
typedef struct ptx_fiber ptx_fiber;

typedef struct ptx_frame {
    const ptx_function *function;
    uint32_t slots, params, local; /* where the frame begins */
    size_t pc;
    const ptx_call *site; /* what it has called */
} ptx_frame;

typedef enum ptx_stop { STOP_EXIT, STOP_BARRIER, STOP_WARP, STOP_FAULT, STOP_READY } ptx_stop;

/* One thread of a block. */
struct ptx_fiber {
    uint64_t *slots;
    uint8_t *params, *local;
    uint32_t room_slots, room_params, room_local;
    ptx_frame *frames;
    int depth;
    ptx_stop stop;
    const ptx_ins *waits; /* at this operation, for others */
    uint32_t lane, warp;
    bool carry;
};

#define CACHED 16

/* What runs one block after the other. */
struct ptx_runner {
    const ptx_module *module;
    sim_context *context;
    const sim_launch *launch;
    const ptx_function *entry;
    sim_map *map;
    uint8_t *shared;
    uint32_t shared_size;
    struct {
        uint64_t start, size; /* of an allocation */
        ptrdiff_t shadow;
        bool writable;
    } cache[CACHED];
    size_t way; /* where ptx_reach remembers what it finds: an instruction's own place */
    ptx_fiber *fibers;
    uint32_t n_fibers;
    CUresult fault;
    uint64_t fault_at; /* the address, where it is one's fault */
    uint32_t block[3];
};

/* Where a generic address is; NULL after a fault. */
void *ptx_reach(ptx_runner *runner, ptx_fiber *fiber, uint64_t address, size_t size, bool writes);
uint64_t ptx_atomic(const ptx_ins *ins, void *at, uint64_t b, uint64_t c);

/* ptx_run.c. Runs the thread until it ends, waits, or faults. */
ptx_stop ptx_run(ptx_runner *runner, ptx_fiber *fiber);
void ptx_constants(const ptx_function *function, const ptx_module *module, uint64_t *slots);

/* ptx_warp.c. Operations that threads of a warp do together. */
bool ptx_warp(ptx_runner *runner, uint32_t first, uint32_t end);

enum { ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_EXCH, ATOM_CAS };
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ANY, VOTE_ALL, VOTE_UNI, VOTE_BALLOT };
enum { BAR_PLAIN, BAR_POPC, BAR_AND, BAR_OR };

/* module.c and launch.c */
struct sim_module {
    sim_object base;
    sim_context *context;
    ptx_module *ptx;
    sim_block *data;
    sim_kernel **kernels; /* a function each */
};

struct sim_kernel {
    sim_object base;
    sim_module *module;
    ptx_function *function;
};

#endif
