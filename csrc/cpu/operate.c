/*
 * Rows of elementwise operations: what is of another type than the computation, or not side by side, passes
 * through buffers in the first cache.
 */
#include "operate.h"

#include "cpu.h"
#include "kernels/abi/operate.h"
#include "processor.h"
#include "row.h"
#include "vector_math.h"

#include <stdalign.h>
#include <string.h>

#define BUFFER_BYTES 8192

/* An argument or the result, as the loops see it. */
typedef struct operand {
    char *data; /* of the row */
    int64_t stride;
    bool direct;         /* the loop works on memory itself */
    usm_cpu_row convert; /* from or to the buffer */
    const char *filled;  /* the one element that the buffer repeats; NULL: none */
    alignas(64) char buffer[BUFFER_BYTES];
} operand;

const usm_cpu_type_loops *usm_cpu_loops_of(int computed)
{
    if (usm_cpu_loops_avx512[computed].operations != NULL && USM_CPU_HAS("avx512bw") &&
        USM_CPU_HAS("avx512dq") && USM_CPU_HAS("avx512vl")) {
        return &usm_cpu_loops_avx512[computed];
    }
    if (usm_cpu_loops_avx2[computed].operations != NULL && usm_cpu_has_avx2()) {
        return &usm_cpu_loops_avx2[computed];
    }
    return &usm_cpu_loops_baseline[computed];
}

usm_cpu_loop usm_cpu_loop_of(int computed, int64_t operation)
{
    usm_cpu_loop found = usm_cpu_loops_of(computed)->operations[operation];
    return found != NULL ? found : usm_cpu_loops_baseline[computed].operations[operation];
}

/* USM_OP_* of "usm_operate_1_exp_float32", the kernel of one operation; -1: it is no such name. */
static int operation_of(const char *kernel)
{
#define NAME(name, inputs, kinds, copies, modular, truth, promotes, result, costly) \
    [USM_OP_##name] = "usm_operate_" #inputs "_" #name "_float",
    static const char *const names[USM_OPERATIONS] = {USM_OPERATION_TABLE(NAME)};
#undef NAME
    for (int i = 0; i < USM_OPERATIONS; i++) {
        if (names[i] != NULL && strncmp(kernel, names[i], strlen(names[i])) == 0) {
            return i;
        }
    }
    return -1;
}

const char *usm_cpu_loops_about(const char *kernel, const char **library)
{
    const char *type = strrchr(kernel, '_') + 1;
    int computed = usm_dtype_from_name(type, strlen(type)), operation = operation_of(kernel);
    computed = computed >= 0 && computed < USM_COMPUTED_DTYPES ? computed : USM_BOOL; /* without such loops */
    const usm_cpu_type_loops *loops = usm_cpu_loops_of(computed);
    bool is_512 = loops == &usm_cpu_loops_avx512[computed];
    bool is_256 = loops == &usm_cpu_loops_avx2[computed] || (computed == USM_BOOL && usm_cpu_has_avx2());
#if defined(__x86_64__)
    const usm_vector_math *math = operation >= 0 ? usm_cpu_vector_math(is_512 ? 64 : is_256 ? 32 : 16) : NULL;
    *library =
        math != NULL && math->functions[computed == USM_FLOAT64][operation] != NULL ? math->path : NULL;
    return is_512 ? "AVX-512" : is_256 ? "AVX2" : "SSE2";
#else
    (void)operation, (void)is_512, (void)is_256;
    *library = NULL;
    return "the instructions of every such processor";
#endif
}

/* Elements [at, at + n) of an argument, side by side and in the type of the computation. */
static const char *load(operand *argument, int64_t at, int64_t n, int64_t size)
{
    const char *from = argument->data + at * argument->stride;
    if (argument->direct) {
        return from;
    }
    if (argument->stride != 0) {
        argument->convert(argument->buffer, from, n, size, argument->stride);
    } else if (argument->filled != from) {
        argument->convert(argument->buffer, from, 1, size, 0);
        for (int64_t have = 1; have < n; have *= 2) { /* the row's first piece is its longest */
            memcpy(argument->buffer + have * size, argument->buffer,
                   (size_t)((n - have < have ? n - have : have) * size));
        }
        argument->filled = from;
    }
    return argument->buffer;
}

static void operate_row(usm_cpu_loop loop, operand *operands, int n, int64_t from, int64_t to, int64_t size)
{
    operand *result = &operands[0];
    bool direct = true;
    for (int i = 0; i < n; i++) {
        direct = direct && operands[i].direct;
    }
    int64_t piece = direct ? to - from : BUFFER_BYTES / size;
    for (int64_t at = from; at < to; at += piece) {
        int64_t count = to - at < piece ? to - at : piece;
        const char *a = load(&operands[1], at, count, size);
        const char *b = n > 2 ? load(&operands[2], at, count, size) : NULL;
        char *out = result->data + at * result->stride;
        loop(result->direct ? out : result->buffer, a, b, count);
        if (!result->direct) {
            result->convert(out, result->buffer, count, result->stride, size);
        }
    }
}

/* Bytes from an operand's first element to that of this row, as usm_offset of elements.h counts them. */
static int64_t row_offset(const usm_elements *e, int operand, int64_t i1, int64_t i2)
{
    int64_t at = i1 * e->strides[operand][1];
    for (int i = 2; i2 != 0; i++) {
        at += i2 % e->shape[i] * e->strides[operand][i];
        i2 /= e->shape[i];
    }
    return at;
}

void usm_cpu_operate(char *const *data, int n, const usm_elements *e, const size_t *lo, const size_t *hi)
{
    int computed = USM_OPERATE_TYPE(e->extra, USM_OPERATE_COMPUTED);
    int64_t size = usm_dtype_table[computed].itemsize;
    usm_cpu_loop loop = usm_cpu_loop_of(computed, e->op);
    operand operands[3];
    for (int i = 0; i < n; i++) {
        int type = USM_OPERATE_TYPE(e->extra, i);
        operands[i].stride = e->strides[i][0];
        operands[i].direct = type == computed && operands[i].stride == size;
        operands[i].convert = i == 0 ? usm_cpu_cast_row((usm_dtype)type, (usm_dtype)computed)
                                     : usm_cpu_cast_row((usm_dtype)computed, (usm_dtype)type);
        operands[i].filled = NULL;
    }
    for (size_t i2 = lo[2]; i2 < hi[2]; i2++) {
        for (size_t i1 = lo[1]; i1 < hi[1]; i1++) {
            for (int i = 0; i < n; i++) {
                operands[i].data = data[i] + row_offset(e, i, (int64_t)i1, (int64_t)i2);
            }
            operate_row(loop, operands, n, (int64_t)lo[0], (int64_t)hi[0], size);
        }
    }
}
