#include "blas.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, field)                 \
    {                                         \
        name, offsetof(usm_blas, field), true \
    }
#define FUNCTIONS(prefix, suffix)                                                                      \
    {                                                                                                  \
        FUNCTION(prefix "cblas_sgemm" suffix, sgemm), FUNCTION(prefix "cblas_dgemm" suffix, dgemm),    \
            FUNCTION(prefix "cblas_sgemv" suffix, sgemv), FUNCTION(prefix "cblas_dgemv" suffix, dgemv) \
    }

/* The spellings of the functions: packages rename them, so that several copies can live in one process. */
typedef struct spelling {
    bool wide;
    usm_symbol symbols[4];
} spelling;

static const spelling spellings[] = {
    {true, FUNCTIONS("scipy_", "64_")},
    {false, FUNCTIONS("scipy_", "")},
    {true, FUNCTIONS("", "64_")},
    {false, FUNCTIONS("", "")},
};
#define SPELLINGS (sizeof spellings / sizeof *spellings)

static usm_blas blas; /* as open_any finds it, once a process */

static const char *const places[] = {
    "python*/site-packages/numpy.libs/lib*openblas*.so*",
    "python*/site-packages/scipy_openblas64/lib/libscipy_openblas64_.so",
    "python*/site-packages/scipy_openblas32/lib/libscipy_openblas.so",
    "libopenblas.so.0",
    "libcblas.so.3",
    "libblas.so.3",
};

/* One library by each of the spellings. */
static bool open_library(const char *name)
{
    const char *const names[] = {name, NULL};
    usm_error error;
    for (size_t i = 0; i < SPELLINGS; i++) {
        usm_status status = usm_library_open(names, NULL, spellings[i].symbols, 4, &blas, blas.path, &error);
        if (status == USM_OK) {
            blas.wide = spellings[i].wide;
            return true;
        }
        size_t used = strlen(blas.why);
        snprintf(blas.why + used, sizeof blas.why - used, "%s%.300s", used > 0 ? "; " : "", error.text);
        usm_error_clear(&error);
        if (status == USM_UNAVAILABLE) { /* no spelling changes that */
            break;
        }
    }
    blas.path[0] = '\0';
    return false;
}

static void open_any(void)
{
    const char *own = getenv("USMPY_BLAS_LIBRARY");
    if (own != NULL && strcmp(own, "none") == 0) {
        strcpy(blas.why, "USMPY_BLAS_LIBRARY is none");
    } else if (own != NULL && own[0] != '\0') {
        open_library(own);
    } else {
        for (size_t i = 0; i < sizeof places / sizeof *places && !open_library(places[i]); i++) {
        }
    }
}

const usm_blas *usm_blas_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_any);
    return &blas;
}
