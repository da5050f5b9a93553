/*
 * NVIDIA's cuBLAS, opened when a product of matrices first asks for it. Its functions are declared here, by
 * its documentation: the package with cuda.h has no cublas header. Launches of usm_matmul_float32 and
 * usm_matmul_float64 become calls of it.
 */
#include "program.h"

#include "core/base/heap.h"
#include "core/base/library.h"
#include "kernels/abi/matmul.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cublas_context *cublas_handle;

typedef struct cublas_api {
    int (*cublasCreate)(cublas_handle *handle);
    int (*cublasSetStream)(cublas_handle handle, CUstream stream);
    int (*cublasGemmStridedBatchedEx)(cublas_handle handle, int op_a, int op_b, int m, int n, int k,
                                      const void *alpha, const void *a, int a_type, int lda,
                                      long long a_batch, const void *b, int b_type, int ldb,
                                      long long b_batch, const void *beta, void *c, int c_type, int ldc,
                                      long long c_batch, int batch, int compute, int algorithm);
} cublas_api;

/* Of cublas_api.h and library_types.h. Pedantic: float32 is never rounded to TF32. */
enum {
    CUBLAS_SUCCESS = 0,
    OP_N = 0,
    OP_T = 1,
    TYPE_32F = 0,
    TYPE_64F = 1,
    COMPUTE_32F_PEDANTIC = 69,
    COMPUTE_64F = 70,
    DEFAULT_ALGORITHM = -1
};

static const usm_symbol symbols[] = {
    {"cublasCreate_v2", offsetof(cublas_api, cublasCreate), true},
    {"cublasSetStream_v2", offsetof(cublas_api, cublasSetStream), true},
    {"cublasGemmStridedBatchedEx", offsetof(cublas_api, cublasGemmStridedBatchedEx), true},
};

static cublas_api cublas;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static enum { NOT_TRIED, OPENED, ABSENT } library;
static char path[USM_LIBRARY_PATH];

/* One of a device: a stream is set for each call, under the lock. Lives as long as the process. */
struct usm_cuda_blas {
    pthread_mutex_t lock;
    cublas_handle handle; /* NULL: the library could not make one */
};

#define MOST_NAMES 8

/* The library of the driver's own generation alone: a newer one does not run on it. */
static bool open_library(void)
{
    static const char *const folders[] = {"/usr/local/cuda/lib64", "python*/site-packages/nvidia/*/lib",
                                          "../lib64/python*/site-packages/nvidia/*/lib",
                                          "python*/dist-packages/nvidia/*/lib"};
    char texts[MOST_NAMES][256];
    const char *names[MOST_NAMES + 1], *own = getenv("USMPY_CUBLAS_LIBRARY");
    int driver = 0, n = 0;
    if (own != NULL && strcmp(own, "none") == 0) {
        return false;
    }
    if (own != NULL && own[0] != '\0') {
        names[n++] = own;
    } else {
        (void)usm_cuda.cuDriverGetVersion(&driver);
        snprintf(texts[n++], sizeof *texts, "libcublas.so.%d", driver / 1000);
        for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
            snprintf(texts[n++], sizeof *texts, "%s/libcublas.so.%d", folders[k], driver / 1000);
        }
        for (int i = 0; i < n; i++) {
            names[i] = texts[i];
        }
    }
    names[n] = NULL;
    return usm_library_open(names, NULL, symbols, sizeof symbols / sizeof *symbols, &cublas, path, NULL) ==
           USM_OK;
}

/* The device's context is current. */
static struct usm_cuda_blas *make_handle(void)
{
    struct usm_cuda_blas *blas = usm_calloc(1, sizeof *blas);
    if (blas != NULL) {
        pthread_mutex_init(&blas->lock, NULL);
        if (cublas.cublasCreate(&blas->handle) != CUBLAS_SUCCESS) {
            blas->handle = NULL;
        }
    }
    return blas;
}

const char *usm_cuda_multiply_library(usm_device *device)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    struct usm_cuda_blas *blas = atomic_load_explicit(&native->blas, memory_order_acquire);
    if (blas == NULL) {
        usm_cuda_scope scope;
        pthread_mutex_lock(&opening);
        if (library == NOT_TRIED) {
            library = open_library() ? OPENED : ABSENT;
        }
        blas = atomic_load_explicit(&native->blas, memory_order_acquire);
        if (library == OPENED && blas == NULL && usm_cuda_enter(device, &scope, NULL) == USM_OK) {
            usm_cuda_relax(&scope); /* it allocates memory and loads modules */
            blas = make_handle();
            usm_cuda_leave(&scope);
            atomic_store_explicit(&native->blas, blas, memory_order_release);
        }
        pthread_mutex_unlock(&opening);
    }
    return blas != NULL && blas->handle != NULL ? path : NULL;
}

/* A row-major matrix is a column-major one transposed. */
static int operation(long column, long row, int *leading)
{
    *leading = (int)(column == 1 ? row : column);
    return column == 1 ? OP_N : OP_T;
}

static bool fits(const usm_matmul *r)
{
    const long values[] = {r->m, r->n, r->k, r->a_row, r->a_column, r->b_row, r->b_column, r->batch[2]};
    bool small = r->c_column == 1 && r->c_row == r->n;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        small = small && values[i] >= 1 && values[i] <= INT_MAX;
    }
    return small && ((r->a_column == 1 && r->a_row >= r->k) || (r->a_row == 1 && r->a_column >= r->m)) &&
           ((r->b_column == 1 && r->b_row >= r->n) || (r->b_row == 1 && r->b_column >= r->k));
}

bool usm_cuda_multiply(CUstream stream, const usm_launch *launch)
{
    static const double one = 1, zero = 0;
    static const float single_one = 1, single_zero = 0;
    const usm_cuda_kernel *native = launch->kernel->native;
    const usm_device *device = launch->kernel->program->place->device;
    struct usm_cuda_blas *blas =
        atomic_load_explicit(&usm_cuda_device_of(device)->blas, memory_order_acquire);
    const usm_matmul *r = usm_argument_value(&launch->arguments[3]);
    if (blas == NULL || blas->handle == NULL || !fits(r)) {
        return false;
    }
    bool wide = native->product_size == sizeof(double);
    int type = wide ? TYPE_64F : TYPE_32F, a_leading, b_leading;
    int op_a = operation(r->a_column, r->a_row, &a_leading);
    int op_b = operation(r->b_column, r->b_row, &b_leading);
    char *c = launch->arguments[0].as.pointer;
    const char *a = launch->arguments[1].as.pointer, *b = launch->arguments[2].as.pointer;
    long size = native->product_size, each = r->m * r->n;
    pthread_mutex_lock(&blas->lock);
    bool done = cublas.cublasSetStream(blas->handle, stream) == CUBLAS_SUCCESS;
    for (long i = 0; i < r->batch[0] && done; i++) {
        for (long j = 0; j < r->batch[1] && done; j++, c += r->batch[2] * each * size) {
            done = cublas.cublasGemmStridedBatchedEx(
                       blas->handle, op_b, op_a, (int)r->n, (int)r->m, (int)r->k,
                       wide ? (const void *)&one : &single_one,
                       b + (i * r->b_batch[0] + j * r->b_batch[1]) * size, type, b_leading, r->b_batch[2],
                       a + (i * r->a_batch[0] + j * r->a_batch[1]) * size, type, a_leading, r->a_batch[2],
                       wide ? (const void *)&zero : &single_zero, c, type, (int)r->n, each, (int)r->batch[2],
                       wide ? COMPUTE_64F : COMPUTE_32F_PEDANTIC, DEFAULT_ALGORITHM) == CUBLAS_SUCCESS;
        }
    }
    pthread_mutex_unlock(&blas->lock);
    return done; /* else the kernel computes all of it again */
}
