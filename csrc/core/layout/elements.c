#include "elements.h"

#include "strided.h"

bool usm_elements_plan(usm_elements *elements, int first, int ndim, const int64_t *shape, int n,
                       const int64_t *const *strides, const int *sizes)
{
    usm_axis axes[USM_MAX_NDIM];
    int kept = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] != 1) {
            usm_axis *next = &axes[kept++];
            next->length = shape[i];
            for (int k = 0; k < n; k++) {
                next->strides[k] = strides[k][i] * sizes[k];
            }
        }
    }
    kept = usm_axes_merge(axes, kept, n);
    if (first + kept > USM_ELEMENTS_AXES) {
        return false;
    }
    for (int i = first; i < USM_ELEMENTS_AXES; i++) {
        bool used = i - first < kept;
        const usm_axis *axis = &axes[used ? kept - 1 - (i - first) : 0]; /* the fastest first */
        elements->shape[i] = used ? axis->length : 1;
        for (int k = 0; k < USM_ELEMENTS_OPERANDS; k++) {
            elements->strides[k][i] = used && k < n ? axis->strides[k] : 0;
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
