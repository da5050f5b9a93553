/* Products of matrices by a library with the C interface of BLAS. */
#include "matmul.h"

#include "core/base/blas.h"
#include "core/layout/dtype.h"

#include <string.h>

/* Of cblas.h. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

/* How a matrix lies: `transpose` of rows that are `leading` elements apart. */
typedef struct matrix {
    const void *data;
    int transpose;
    int64_t leading;
} matrix;

static matrix matrix_of(const void *data, int64_t row, int64_t column)
{
    return column == 1 ? (matrix){data, NO_TRANSPOSE, row} : (matrix){data, TRANSPOSE, column};
}

/* One product, for numbers of type T and sizes of type I. */
#define PRODUCT(name, T, I)                                                                              \
    static void name(void *gemm, void *gemv, void *c, matrix a, matrix b, const usm_matmul *r)           \
    {                                                                                                    \
        void (*multiply)(int, int, int, I, I, I, T, const T *, I, const T *, I, T, T *, I);              \
        void (*apply)(int, int, I, I, T, const T *, I, const T *, I, T, T *, I);                         \
        memcpy(&multiply, &gemm, sizeof gemm);                                                           \
        memcpy(&apply, &gemv, sizeof gemv);                                                              \
        if (r->n == 1) { /* a, times a vector */                                                         \
            bool flips = a.transpose == TRANSPOSE;                                                       \
            apply(ROW_MAJOR, a.transpose, (I)(flips ? r->k : r->m), (I)(flips ? r->m : r->k), 1, a.data, \
                  (I)a.leading, b.data, (I)r->b_row, 0, c, 1);                                           \
        } else if (r->m == 1) { /* b transposed, times a vector */                                       \
            bool flips = b.transpose == TRANSPOSE;                                                       \
            apply(ROW_MAJOR, flips ? NO_TRANSPOSE : TRANSPOSE, (I)(flips ? r->n : r->k),                 \
                  (I)(flips ? r->k : r->n), 1, b.data, (I)b.leading, a.data, (I)r->a_column, 0, c, 1);   \
        } else {                                                                                         \
            multiply(ROW_MAJOR, a.transpose, b.transpose, (I)r->m, (I)r->n, (I)r->k, 1, a.data,          \
                     (I)a.leading, b.data, (I)b.leading, 0, c, (I)r->n);                                 \
        }                                                                                                \
    }
PRODUCT(product_float_32, float, int32_t)
PRODUCT(product_float_64, float, int64_t)
PRODUCT(product_double_32, double, int32_t)
PRODUCT(product_double_64, double, int64_t)

void usm_cpu_blas(int computed, void *c, const void *a, const void *b, const usm_matmul *r)
{
    const usm_blas *blas = usm_blas_find();
    bool doubles = computed == USM_FLOAT64;
    int64_t size = usm_dtype_table[computed].itemsize;
    char *to = c;
    for (int64_t i = 0; i < r->batch[0]; i++) {
        for (int64_t j = 0; j < r->batch[1]; j++) {
            for (int64_t k = 0; k < r->batch[2]; k++, to += r->m * r->n * size) {
                int64_t at = i * r->a_batch[0] + j * r->a_batch[1] + k * r->a_batch[2];
                const matrix x = matrix_of((const char *)a + at * size, r->a_row, r->a_column);
                at = i * r->b_batch[0] + j * r->b_batch[1] + k * r->b_batch[2];
                const matrix y = matrix_of((const char *)b + at * size, r->b_row, r->b_column);
                if (doubles) {
                    (blas->wide ? product_double_64 : product_double_32)(blas->dgemm, blas->dgemv, to, x, y,
                                                                         r);
                } else {
                    (blas->wide ? product_float_64 : product_float_32)(blas->sgemm, blas->sgemv, to, x, y, r);
                }
            }
        }
    }
}
