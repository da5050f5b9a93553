#include "gather.h"

#include "py/errors.h"

#include "core/layout/elements.h"
#include "core/program/builtin.h"
#include "kernels/abi/index.h"

#include <string.h>

int64_t usmpy_read_int64(usmpy_array *array)
{
    PyObject *number = usmpy_array_index((PyObject *)array);
    int64_t value = number == NULL ? -1 : PyLong_AsLongLong(number);
    Py_XDECREF(number);
    return value;
}

static int submit(usmpy_state *state, usm_builtin *builtin, const usm_access *accesses, size_t n,
                  PyObject *queue)
{
    usm_error error;
    usm_status status = usm_builtin_submit(usmpy_queue_of(queue), builtin, accesses, n, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

int usmpy_move_rows(usmpy_state *state, usmpy_array *array, const usmpy_rows *rows, usmpy_array *other,
                    int64_t row_stride, const int64_t *other_strides, bool put)
{
    static const char *const functions[2][5] = {
        {"usm_gather_1", "usm_gather_2", "usm_gather_4", "usm_gather_8", "usm_gather_16"},
        {"usm_scatter_1", "usm_scatter_2", "usm_scatter_4", "usm_scatter_8", "usm_scatter_16"},
    };
    static const char *const options[5] = {"-D USM_ONLY=1", "-D USM_ONLY=2", "-D USM_ONLY=4", "-D USM_ONLY=8",
                                           "-D USM_ONLY=16"};
    int size = usm_dtype_table[array->dtype].itemsize;
    int which = __builtin_ctz((unsigned)size);
    usm_builtin builtin = {.module = "gather", .function = functions[put][which], .options = options[which]};
    const usm_access accesses[] = {{put ? array->alloc : other->alloc, USM_WRITE},
                                   {put ? other->alloc : array->alloc, USM_READ},
                                   {rows->offsets->alloc, USM_READ}};
    const int64_t *const strides[] = {put ? rows->strides : other_strides,
                                      put ? other_strides : rows->strides};
    const int sizes[] = {size, size};
    usm_elements elements = {.shape = {rows->offsets->size}};
    elements.strides[put ? 1 : 0][0] = row_stride * size;
    if (!usm_elements_plan(&elements, 1, rows->ndim, rows->shape, 2, strides, sizes)) {
        PyErr_Format(PyExc_ValueError,
                     "the array has more than %d axes beside the index that cannot be merged; copy it first",
                     USM_ELEMENTS_AXES - 1);
        return -1;
    }
    usm_builtin_pointer(&builtin, put ? array->data : other->data);
    usm_builtin_pointer(&builtin, put ? other->data : array->data);
    usm_builtin_pointer(&builtin, rows->offsets->data);
    usm_builtin_value(&builtin, &elements, sizeof elements);
    builtin.n[0] = 1;
    for (int i = 1; i < USM_ELEMENTS_AXES; i++) {
        builtin.n[0] *= elements.shape[i];
    }
    builtin.n[1] = rows->offsets->size;
    builtin.n[2] = 1;
    builtin.cost = (size_t)(builtin.n[0] * builtin.n[1]) * (size_t)(size + 8);
    return submit(state, &builtin, accesses, 3, array->queue);
}

static int submit_indices(usmpy_state *state, const char *function, usmpy_array *const *arrays, int n,
                          bool adds, const usm_indices *indices)
{
    usm_builtin builtin = {.module = "index", .function = function, .n = {indices->n, 1, 1}};
    usm_access accesses[3];
    for (int i = 0; i < n; i++) {
        usm_builtin_pointer(&builtin, arrays[i]->data);
        accesses[i] = (usm_access){arrays[i]->alloc, i == 1 ? USM_READ : adds ? USM_READ_WRITE : USM_WRITE};
    }
    usm_builtin_value(&builtin, indices, sizeof *indices);
    builtin.cost = (size_t)indices->n * 16;
    return submit(state, &builtin, accesses, (size_t)n, arrays[0]->queue);
}

int usmpy_locate(usmpy_state *state, usmpy_array *offsets, usmpy_array *index, usmpy_array *bad,
                 int64_t length, int64_t step, bool first)
{
    usmpy_array *const arrays[] = {offsets, index, bad};
    const usm_indices indices = {offsets->size, length, step, first, index->dtype == USM_UINT64};
    return submit_indices(state, "usm_locate", arrays, 3, true, &indices);
}

usmpy_array *usmpy_unravel_axis(usmpy_state *state, usmpy_array *flat, int64_t step, int64_t length,
                                usm_kind kind)
{
    usmpy_array *axis =
        usmpy_array_empty(state, flat->queue, kind, USM_INT64, 1, usmpy_shape(flat), 'C', false);
    usmpy_array *const arrays[] = {axis, flat};
    const usm_indices indices = {flat->size, length, step, 0, 0};
    if (axis != NULL && flat->size > 0 &&
        submit_indices(state, "usm_unravel", arrays, 2, false, &indices) < 0) {
        Py_CLEAR(axis);
    }
    return axis;
}
