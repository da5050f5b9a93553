#include "operation.h"

#include "elementwise.h"
#include "logic.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/operate.h"

#include <string.h>

typedef struct row {
    const char *name;
    uint8_t inputs, kinds, copies; /* kinds: 1 << usm_row_kind, added up */
    bool modular, truth, promotes;
    uint8_t result;
    bool costly;
} row;

#define ROW(name, inputs, kinds, copies, modular, truth, promotes, result, costly) \
    [USM_OP_##name] = {#name, inputs, kinds, copies, modular, truth, promotes, result, costly},
static const row rows[USM_OPERATIONS] = {USM_OPERATION_TABLE(ROW) USM_HIDDEN_TABLE(ROW)};

/* The kinds of COMPUTED in operations.py, in its order. */
enum { UNSIGNED = 1, SIGNED = 2, REAL = 4, COMPLEX = 8 };

static unsigned kind_of(usm_dtype dtype)
{
    static const uint8_t kinds[] = {[USM_DTYPE_KIND_BOOL] = 0,
                                    [USM_DTYPE_KIND_INT] = SIGNED,
                                    [USM_DTYPE_KIND_UINT] = UNSIGNED,
                                    [USM_DTYPE_KIND_FLOAT] = REAL,
                                    [USM_DTYPE_KIND_COMPLEX] = COMPLEX};
    return kinds[usm_dtype_table[dtype].kind];
}

int usm_operation_named(const char *name)
{
    for (int i = 0; i < USM_OPERATIONS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *usm_operation_name(int operation)
{
    return rows[operation].name;
}

int usm_operation_inputs(int operation)
{
    return rows[operation].inputs;
}

/* As NumPy: the smallest floating-point type that holds all values of 8, 16 or, nearly, more bits. */
static usm_dtype real_for_integer(usm_dtype dtype, bool has_fp64)
{
    int bits = usm_dtype_table[dtype].bits;
    return bits <= 8 ? USM_FLOAT16 : bits == 16 ? USM_FLOAT32 : has_fp64 ? USM_FLOAT64 : USM_FLOAT32;
}

static usm_dtype real_of(usm_dtype dtype)
{
    return dtype == USM_COMPLEX64 ? USM_FLOAT32 : dtype == USM_COMPLEX128 ? USM_FLOAT64 : dtype;
}

/* The type whose loops compute it. */
static usm_dtype computed_of(const row *row, usm_dtype dtype)
{
    static const uint8_t wraps[] = {
        [USM_INT8] = USM_UINT8, [USM_INT16] = USM_UINT16, [USM_INT32] = USM_UINT32, [USM_INT64] = USM_UINT64};
    if (dtype == USM_FLOAT16 || dtype == USM_BFLOAT16) {
        return USM_FLOAT32;
    }
    return row->modular && kind_of(dtype) == SIGNED ? (usm_dtype)wraps[dtype] : dtype;
}

usm_operation_types usm_operation_types_of(int operation, usm_dtype common, bool has_fp64)
{
    const row *row = &rows[operation];
    usm_operation_types types = {.computed = USM_NO_DTYPE, .argument = common};
    if (common == USM_BOOL && row->truth) {
        types.computed = types.result = USM_BOOL;
        return types;
    }
    if (row->promotes && usm_dtype_table[common].kind <= USM_DTYPE_KIND_UINT) {
        /* Quotients of small integers need more digits than functions of them: as NumPy. */
        types.argument = real_for_integer(operation == USM_OP_divide ? USM_INT64 : common, has_fp64);
    }
    if (types.argument < USM_COMPUTED_DTYPES && (kind_of(types.argument) & row->kinds) != 0) {
        types.computed = computed_of(row, types.argument);
        types.result = row->result == USM_RESULT_BOOL   ? USM_BOOL
                       : row->result == USM_RESULT_REAL ? real_of(types.argument)
                                                        : types.argument;
    }
    return types;
}

/* By what a place knows a kernel: texts that last. Modules are csrc/kernels/src/operate.cl, by type. */
typedef struct names {
    const char *module, *options, *function[2], *packs[2]; /* functions by the number of arguments, less 1 */
} names;

#define CHEAP(type, number)                                                                             \
    {                                                                                                   \
        "operate." type, "-D USM_COMPUTE=" number " -D USM_ONE=-1",                                     \
            {"usm_operate_1_" type, "usm_operate_2_" type}, {"usm_packs_1_" type, "usm_packs_2_" type}, \
    }
static const names cheap[USM_COMPUTED_DTYPES] = {USM_SIGNED_ROWS(CHEAP), USM_REAL_ROWS(CHEAP),
                                                 USM_COMPLEX_ROWS(CHEAP)};

/* Each costly operation is a module of its own: float32, float64, complex64, complex128. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define ALONE(name, type, number)                                                               \
    {                                                                                           \
        "operate." #name "_" type, "-D USM_COMPUTE=" number " -D USM_ONE=" TEXT(USM_OP_##name), \
            {"usm_operate_1_" #name "_" type, "usm_operate_2_" #name "_" type},                 \
            {"usm_packs_1_" #name "_" type, "usm_packs_2_" #name "_" type},                     \
    }
#define COSTLY_0(name)
#define COSTLY_1(name)                                                             \
    [USM_OP_##name] = {ALONE(name, "float32", "10"), ALONE(name, "float64", "11"), \
                       ALONE(name, "complex64", "12"), ALONE(name, "complex128", "13")},
#define COSTLY(name, inputs, kinds, copies, modular, truth, promotes, result, costly) COSTLY_##costly(name)
static const names costly[USM_OPERATIONS][4] = {USM_OPERATION_TABLE(COSTLY)};

/* Processors run the host's loops, which take operands of any types; others costly operations on packs. */
static usm_elementwise kernel_of(const usm_queue *queue, int operation, usm_dtype computed)
{
    bool alone = rows[operation].costly && (kind_of(computed) & (REAL | COMPLEX)) != 0;
    bool on_host = usm_builtin_is_on_host(queue);
    const names *names = alone ? &costly[operation][computed - USM_FLOAT32] : &cheap[computed];
    int inputs = rows[operation].inputs;
    return (usm_elementwise){
        .module = names->module,
        .function = alone && !on_host ? NULL : names->function[inputs - 1],
        .packs = on_host ? NULL : names->packs[inputs - 1],
        .computed = computed,
        .options = names->options,
        .op = operation,
    };
}

static bool is_copy(int operation, const usm_operation_types *types)
{
    return types->computed != USM_BOOL && (rows[operation].copies & kind_of(types->argument)) != 0;
}

/* What stands for the kernel on the host. */
static void find_loops(const usm_queue *queue, const usm_elementwise *kernel, usm_operation_plan *plan)
{
    usm_builtin builtin;
    usm_builtin_init(&builtin, kernel->module, kernel->function, kernel->options);
    const usm_kernel *found = usm_builtin_is_on_host(queue) ? usm_builtin_kernel_find(queue, &builtin) : NULL;
    if (found != NULL) {
        plan->instructions = found->computed_by.instructions;
        plan->library = found->computed_by.library;
    }
}

static const usm_elementwise logic = {.module = "logic", .function = "usm_logic"};

void usm_operation_loops(const usm_queue *queue, usm_dtype computed, usm_operation_plan *plan)
{
    const usm_elementwise kernel = computed == USM_BOOL ? logic : kernel_of(queue, USM_OP_add, computed);
    find_loops(queue, &kernel, plan);
}

void usm_operation_plan_make(const usm_queue *queue, int operation, const usm_operation_types *types,
                             usm_operation_plan *plan)
{
    const usm_elementwise kernel =
        types->computed == USM_BOOL ? logic : kernel_of(queue, operation, types->computed);
    *plan = (usm_operation_plan){.copies = is_copy(operation, types), .module = kernel.module};
    find_loops(queue, &kernel, plan);
    plan->scalar = plan->instructions != NULL && plan->library == NULL && rows[operation].costly &&
                   (kind_of(types->computed) & (REAL | COMPLEX)) != 0;
}

/* Two signed integers whose operation wraps: the kernels of unsigned ones read the same bits. */
static usm_dtype as_computed(usm_dtype dtype, usm_dtype computed)
{
    return kind_of(dtype) == SIGNED && kind_of(computed) == UNSIGNED &&
                   usm_dtype_table[dtype].bits == usm_dtype_table[computed].bits
               ? computed
               : dtype;
}

static usm_status submit_truth(usm_queue *queue, int operation, const usm_view *operands, bool fresh,
                               usm_error *error)
{
    unsigned table = operation == USM_OP_bitwise_and   ? USM_AND
                     : operation == USM_OP_bitwise_or  ? USM_OR
                     : operation == USM_OP_bitwise_xor ? USM_XOR
                                                       : USM_NOR;
    return usm_logic_submit(queue, table, operands, 1 + rows[operation].inputs, fresh, error);
}

usm_status usm_operation_submit(usm_queue *queue, int operation, const usm_operation_types *types,
                                const usm_view *operands, bool fresh, usm_error *error)
{
    const row *row = &rows[operation];
    if (types->computed == USM_BOOL) {
        return submit_truth(queue, operation, operands, fresh, error);
    }
    if (is_copy(operation, types)) {
        return usm_broadcast_submit(queue, &operands[0], &operands[1], error);
    }
    if (operation == USM_OP_nextafter && types->argument != types->computed) { /* a step of the narrow type */
        operation = types->argument == USM_FLOAT16 ? USM_OP_next_half : USM_OP_next_bfloat;
    }
    usm_dtype computed = usm_builtin_computed(queue, types->computed);
    usm_elementwise kernel = kernel_of(queue, operation, computed);
    int codes[3] = {0};
    for (int i = 0; i <= row->inputs; i++) {
        codes[i] = (int)as_computed(operands[i].dtype, types->computed);
    }
    kernel.extra = USM_OPERATE_TYPES(codes[0], codes[1], codes[2], computed);
    return usm_elementwise_submit(queue, &kernel, operands, 1 + row->inputs, fresh, error);
}
