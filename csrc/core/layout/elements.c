#include "elements.h"

#include <string.h>

typedef struct axis {
    int64_t length, strides[USM_ELEMENTS_OPERANDS];
} axis;

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* Faster axes first: by the result, then by the operands in turn. */
static bool faster(const axis *a, const axis *b, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t x = magnitude(a->strides[i]), y = magnitude(b->strides[i]);
        if (x != y) {
            return x < y;
        }
    }
    return false;
}

static bool merges(const axis *inner, const axis *outer, int n)
{
    for (int i = 0; i < n; i++) {
        if (outer->strides[i] != inner->strides[i] * inner->length) {
            return false;
        }
    }
    return true;
}

bool usm_elements_plan(usm_elements *elements, int first, int ndim, const int64_t *shape, int n,
                       const int64_t *const *strides, const int *sizes)
{
    axis axes[USM_MAX_NDIM];
    int count = 0, kept = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] == 1) {
            continue;
        }
        axis next = {.length = shape[i]};
        for (int k = 0; k < n; k++) {
            next.strides[k] = strides[k][i] * sizes[k];
        }
        int at = count++;
        for (; at > 0 && faster(&next, &axes[at - 1], n); at--) {
            axes[at] = axes[at - 1];
        }
        axes[at] = next;
    }
    for (int i = 1; i < count; i++) {
        if (merges(&axes[kept], &axes[i], n)) {
            axes[kept].length *= axes[i].length;
        } else {
            axes[++kept] = axes[i];
        }
    }
    kept += count > 0;
    if (first + kept > USM_ELEMENTS_AXES) {
        return false;
    }
    for (int i = first; i < USM_ELEMENTS_AXES; i++) {
        bool used = i - first < kept;
        elements->shape[i] = used ? axes[i - first].length : 1;
        for (int k = 0; k < USM_ELEMENTS_OPERANDS; k++) {
            elements->strides[k][i] = used && k < n ? axes[i - first].strides[k] : 0;
        }
    }
    if (first == 0 && kept == 0) { /* one element: side by side with itself */
        for (int k = 0; k < n; k++) {
            elements->strides[k][0] = sizes[k];
        }
    }
    return true;
}

void usm_elements_range(const usm_elements *elements, int64_t n[3])
{
    n[0] = elements->shape[0];
    n[1] = elements->shape[1];
    n[2] = 1;
    for (int i = 2; i < USM_ELEMENTS_AXES; i++) {
        n[2] *= elements->shape[i];
    }
}
