/* Indexing of a few elements of the host by the calling thread. */
#include "few.h"

#include "core/ops/few.h"

static bool locate(usmpy_array *array, usmpy_array *key, usm_few_rows *rows)
{
    usm_queue *queue = usmpy_queue_of(array->queue);
    if (usmpy_queue_of(key->queue) != queue || array->size == 0 || !usm_few_may_begin(queue, key->size)) {
        return false;
    }
    const usm_view view = usmpy_view(array), keys = usmpy_view(key);
    return usm_few_locate(&view, &keys, rows);
}

usmpy_array *usmpy_few_select(usmpy_array *array, usmpy_array *key)
{
    usm_few_rows rows;
    int64_t shape[2 * USM_MAX_NDIM];
    if (!locate(array, key, &rows)) {
        return NULL;
    }
    int of_key = key->dtype == USM_BOOL ? 1 : key->ndim, rest = array->ndim - rows.ndim;
    if (of_key + rest > USM_MAX_NDIM) {
        return NULL;
    }
    memcpy(shape, key->dtype == USM_BOOL ? &rows.n : usmpy_shape(key), (size_t)of_key * sizeof *shape);
    memcpy(shape + of_key, usmpy_shape(array) + rows.ndim, (size_t)rest * sizeof *shape);
    usmpy_array *result = usmpy_array_beside(array, array->dtype, of_key + rest, shape);
    if (result == NULL || result->size == 0) {
        return result;
    }
    const usm_view src = usmpy_view(array), dst = usmpy_view(result);
    if (!usm_few_read(usmpy_queue_of(array->queue), &rows, &src, &dst)) {
        Py_CLEAR(result);
    }
    return result;
}

int usmpy_few_assign(usmpy_array *array, usmpy_array *key, PyObject *value)
{
    usm_few_rows rows;
    char element[USM_MAX_PATTERN];
    usm_view source = {.data = element};
    if (!locate(array, key, &rows) || rows.size != usm_dtype_table[array->dtype].itemsize) {
        return 0;
    }
    if (usmpy_is_array(array->state, value)) {
        usmpy_array *given = (usmpy_array *)value;
        bool fits = given->ndim == 0 || (given->ndim == 1 && usmpy_shape(given)[0] == rows.n &&
                                         (key->ndim == 1 || key->dtype == USM_BOOL));
        if (!fits || given->dtype != array->dtype || given->alloc == array->alloc ||
            usmpy_queue_of(given->queue) != usmpy_queue_of(array->queue)) {
            return 0;
        }
        source = usmpy_view(given);
    } else if (!PyLong_Check(value) && !PyFloat_Check(value) && !PyComplex_Check(value)) {
        return 0;
    } else if (usmpy_scalar_to_element(value, array->dtype, element) < 0) {
        return -1;
    }
    const usm_view dst = usmpy_view(array);
    return usm_few_write(usmpy_queue_of(array->queue), &rows, &dst, &source);
}

int usmpy_few_nonzero(usmpy_array *array, usmpy_array **axes)
{
    usm_few_found found;
    const usm_view view = usmpy_view(array);
    if (array->size > USM_FEW || !usm_few_nonzero(usmpy_queue_of(array->queue), &view, &found)) {
        return 0;
    }
    for (int axis = 0; axis < array->ndim; axis++) {
        axes[axis] = usmpy_array_beside(array, USM_INT64, 1, &found.n);
        const usm_view out = axes[axis] == NULL ? (usm_view){0} : usmpy_view(axes[axis]);
        if (axes[axis] == NULL || !usm_few_unravel(&found, &view, axis, &out)) {
            int status = axes[axis] == NULL ? -1 : 0;
            for (int i = 0; i <= axis; i++) {
                Py_CLEAR(axes[i]);
            }
            return status;
        }
    }
    return 1;
}
