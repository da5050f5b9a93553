/* Products of matrices: matmul and its operator, tensordot and vecdot, and explain_matmul. */
#include "docstrings.h"
#include "operation.h"
#include "py/args.h"
#include "py/arrays/operands.h"

#include "core/ops/matmul.h"

/* Two arrays whose axes were put into the order of usm_contraction. */
typedef struct product {
    usmpy_operands operands;
    usm_contraction axes;
    usm_view views[2];
    int64_t shapes[2][USM_MAX_NDIM], strides[2][USM_MAX_NDIM];
    int ndim; /* of the result */
    int64_t shape[USM_MAX_NDIM];
} product;

/* The rule of a function for shapes; `option` is its axes argument. 0, or -1 with an exception. */
typedef int (*usmpy_arrange)(product *p, PyObject *option);

static usmpy_array *argument(const product *p, int i)
{
    return p->operands.arrays[i];
}

static int refuse_no_axes(const product *p)
{
    return usmpy_refuse(PyExc_ValueError, "%s(): %s has 0 dimensions; 1 or more are needed",
                        p->operands.function, argument(p, 0)->ndim == 0 ? "x1" : "x2");
}

/* Adds an axis of argument i to its view. */
static void add_axis(product *p, int i, int axis)
{
    usm_view *view = &p->views[i];
    p->shapes[i][view->ndim] = usmpy_shape(argument(p, i))[axis];
    p->strides[i][view->ndim++] = usmpy_strides(argument(p, i))[axis];
}

/* Adds the axis to the result, too. */
static int add_free_axis(product *p, int i, int axis)
{
    if (p->ndim == USM_MAX_NDIM) {
        return usmpy_refuse(PyExc_ValueError, "%s(): the result has more than %d dimensions",
                            p->operands.function, USM_MAX_NDIM);
    }
    p->shape[p->ndim++] = usmpy_shape(argument(p, i))[axis];
    add_axis(p, i, axis);
    return 0;
}

/* The first axes of the result and of both views: those given, which broadcast. lengths[i] and steps[i]
 * have n[i] elements. */
static int add_batch(product *p, const int *n, int64_t (*lengths)[USM_MAX_NDIM],
                     int64_t (*steps)[USM_MAX_NDIM])
{
    p->ndim = n[0];
    memcpy(p->shape, lengths[0], (size_t)n[0] * sizeof **lengths);
    if (!usmpy_broadcast_shape(&p->ndim, p->shape, n[1], lengths[1])) {
        char texts[2][200];
        return usmpy_refuse(
            PyExc_ValueError, "%s(): the other axes of x1 and x2, %s and %s, do not broadcast",
            p->operands.function, usm_layout_text(n[0], lengths[0], texts[0], sizeof texts[0]),
            usm_layout_text(n[1], lengths[1], texts[1], sizeof texts[1]));
    }
    for (int i = 0; i < 2; i++) {
        usm_layout_broadcast(n[i], lengths[i], steps[i], p->ndim, p->shape, p->strides[i]);
        memcpy(p->shapes[i], p->shape, (size_t)p->ndim * sizeof *p->shape);
        p->views[i].ndim = p->ndim;
    }
    p->axes.batch = p->ndim;
    return 0;
}

/* The axes of both arguments without those that `last` says: as add_batch takes them. */
static int add_others(product *p, const int (*without)[2])
{
    int64_t lengths[2][USM_MAX_NDIM], steps[2][USM_MAX_NDIM];
    int n[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        for (int axis = 0; axis < argument(p, i)->ndim; axis++) {
            if (axis != without[i][0] && axis != without[i][1]) {
                lengths[i][n[i]] = usmpy_shape(argument(p, i))[axis];
                steps[i][n[i]++] = usmpy_strides(argument(p, i))[axis];
            }
        }
    }
    return add_batch(p, n, lengths, steps);
}

static int arrange_matmul(product *p, PyObject *Py_UNUSED(none))
{
    usmpy_array *x1 = argument(p, 0), *x2 = argument(p, 1);
    if (x1->ndim == 0 || x2->ndim == 0) {
        return refuse_no_axes(p);
    }
    const int inner[2] = {x1->ndim - 1, x2->ndim > 1 ? x2->ndim - 2 : 0};
    const int without[2][2] = {{inner[0], x1->ndim - 2}, {inner[1], x2->ndim - 1}};
    int64_t k1 = usmpy_shape(x1)[inner[0]], k2 = usmpy_shape(x2)[inner[1]];
    if (k1 != k2) {
        return usmpy_refuse(PyExc_ValueError, "%s(): x1 has %lld %s%s and x2 %lld %s%s; they must match",
                            p->operands.function, (long long)k1, x1->ndim > 1 ? "column" : "element",
                            usmpy_plural(k1), (long long)k2, x2->ndim > 1 ? "row" : "element",
                            usmpy_plural(k2));
    }
    if (add_others(p, without) < 0) {
        return -1;
    }
    p->axes.inner = 1;
    p->axes.rows = x1->ndim > 1;
    p->axes.columns = x2->ndim > 1;
    if (p->axes.rows && add_free_axis(p, 0, x1->ndim - 2) < 0) {
        return -1;
    }
    add_axis(p, 0, inner[0]);
    add_axis(p, 1, inner[1]);
    return p->axes.columns ? add_free_axis(p, 1, x2->ndim - 1) : 0;
}

static int arrange_vecdot(product *p, PyObject *option)
{
    usmpy_array *x1 = argument(p, 0), *x2 = argument(p, 1);
    int least = x1->ndim < x2->ndim ? x1->ndim : x2->ndim, from_last = 1;
    if (option != NULL) {
        int64_t value;
        int axis = usmpy_parse_axis(option, least, "axis");
        if (axis < 0 || usmpy_parse_int(option, "axis", &value) < 0) {
            return -1;
        }
        if (value >= 0 && x1->ndim != x2->ndim) {
            return usmpy_refuse(PyExc_ValueError,
                                "%s(): x1 and x2 have different numbers of dimensions; axis must be negative",
                                p->operands.function);
        }
        from_last = least - axis;
    } else if (least == 0) {
        return refuse_no_axes(p);
    }
    const int axes[2] = {x1->ndim - from_last, x2->ndim - from_last};
    const int without[2][2] = {{axes[0], axes[0]}, {axes[1], axes[1]}};
    int64_t n1 = usmpy_shape(x1)[axes[0]], n2 = usmpy_shape(x2)[axes[1]];
    if (n1 != n2) {
        return usmpy_refuse(PyExc_ValueError,
                            "%s(): x1 has length %lld along the axis and x2 %lld; they must match",
                            p->operands.function, (long long)n1, (long long)n2);
    }
    if (add_others(p, without) < 0) {
        return -1;
    }
    p->axes.inner = 1;
    p->axes.conjugates = true;
    add_axis(p, 0, axes[0]);
    add_axis(p, 1, axes[1]);
    return 0;
}

/* axes= of tensordot: how many, in axes[0] of x1 and axes[1] of x2; -1 with an exception. */
static int parse_pairs(const product *p, PyObject *option, int (*axes)[USM_MAX_NDIM])
{
    usmpy_array *x1 = argument(p, 0), *x2 = argument(p, 1);
    int64_t count = 2;
    int n[2];
    PyObject *pair = option == NULL || PyLong_Check(option) ? NULL : usmpy_sequence_of(option, "axes", 2);
    if (pair != NULL) {
        int same = PyTuple_GET_SIZE(pair) == 2;
        for (int i = 0; i < 2 && same; i++) {
            n[i] = usmpy_parse_axes(PyTuple_GET_ITEM(pair, i), argument(p, i)->ndim, axes[i], "axes");
            same = n[i] >= 0;
        }
        Py_DECREF(pair);
        if (PyErr_Occurred()) {
            return -1;
        }
        return same && n[0] == n[1]
                   ? n[0]
                   : usmpy_refuse(PyExc_ValueError,
                                  "%s(): axes are an int, or a pair of as many axes of x1 as of x2",
                                  p->operands.function);
    }
    if (PyErr_Occurred() || (option != NULL && usmpy_parse_int(option, "axes", &count) < 0)) {
        return -1;
    }
    if (count < 0 || count > x1->ndim || count > x2->ndim) {
        return usmpy_refuse(PyExc_ValueError, "%s(): axes is %lld; x1 has %d dimension%s and x2 %d",
                            p->operands.function, (long long)count, (int)x1->ndim, usmpy_plural(x1->ndim),
                            (int)x2->ndim);
    }
    for (int i = 0; i < count; i++) {
        axes[0][i] = x1->ndim - (int)count + i;
        axes[1][i] = i;
    }
    return (int)count;
}

static int arrange_tensordot(product *p, PyObject *option)
{
    usmpy_array *x1 = argument(p, 0), *x2 = argument(p, 1);
    int axes[2][USM_MAX_NDIM], n = parse_pairs(p, option, axes);
    uint64_t reduced_axes[2] = {0, 0};
    for (int k = 0; k < n; k++) {
        int64_t n1 = usmpy_shape(x1)[axes[0][k]], n2 = usmpy_shape(x2)[axes[1][k]];
        if (n1 != n2) {
            return usmpy_refuse(
                PyExc_ValueError,
                "%s(): axis %d of x1 has length %lld and axis %d of x2 length %lld; they must match",
                p->operands.function, axes[0][k], (long long)n1, axes[1][k], (long long)n2);
        }
        reduced_axes[0] |= UINT64_C(1) << axes[0][k];
        reduced_axes[1] |= UINT64_C(1) << axes[1][k];
    }
    if (n < 0) {
        return -1;
    }
    p->axes = (usm_contraction){0, x1->ndim - n, x2->ndim - n, n, false};
    for (int axis = 0; axis < x1->ndim; axis++) {
        if ((reduced_axes[0] >> axis & 1) == 0 && add_free_axis(p, 0, axis) < 0) {
            return -1;
        }
    }
    for (int k = 0; k < n; k++) {
        add_axis(p, 0, axes[0][k]);
        add_axis(p, 1, axes[1][k]);
    }
    for (int axis = 0; axis < x2->ndim; axis++) {
        if ((reduced_axes[1] >> axis & 1) == 0 && add_free_axis(p, 1, axis) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Takes the arguments of a call: 0, or -1 with an exception, and nothing to drop. */
static int take(usmpy_state *state, const char *function, PyObject *const *arguments, usmpy_arrange arrange,
                product *p)
{
    usmpy_deferred_poll();
    if (usmpy_operands_take(state, function, arguments, 2, 0, USMPY_TAKE_ARRAYS, &p->operands) < 0) {
        return -1;
    }
    p->ndim = 0;
    p->axes = (usm_contraction){0};
    for (int i = 0; i < 2; i++) {
        p->views[i] = usmpy_view(argument(p, i));
        p->views[i].ndim = 0;
        p->views[i].shape = p->shapes[i];
        p->views[i].strides = p->strides[i];
    }
    int status =
        p->operands.dtype == USM_BOOL
            ? usmpy_refuse(PyExc_TypeError, "%s(): the common type of x1 and x2 is bool; numbers are allowed",
                           function)
            : arrange(p, arrange == arrange_matmul ? NULL : arguments[2]);
    if (status < 0) {
        usmpy_operands_drop(&p->operands);
    }
    return status;
}

/* arguments: x1, x2, and the axes argument of those functions that have one. */
static PyObject *multiply(usmpy_state *state, const char *function, PyObject *const *arguments,
                          usmpy_arrange arrange)
{
    product p;
    if (take(state, function, arguments, arrange, &p) < 0) {
        return NULL;
    }
    const usmpy_operands *o = &p.operands;
    usmpy_array *result = usmpy_array_empty(state, o->queue, o->kind, o->dtype, p.ndim, p.shape, 'C', false);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result);
        usm_error error;
        usm_status status =
            usm_matmul_submit(usmpy_queue_of(o->queue), &dst, &p.views[0], &p.views[1], &p.axes, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    usmpy_operands_drop(&p.operands);
    return (PyObject *)result;
}

PyObject *usmpy_explain_matmul(usmpy_state *state, PyObject *const *arguments)
{
    product p;
    usm_matmul_plan plan;
    char texts[2][200];
    if (take(state, "explain_matmul", arguments, arrange_matmul, &p) < 0) {
        return NULL;
    }
    usm_matmul_plan_make(usmpy_queue_of(p.operands.queue), p.operands.dtype, &p.views[0], &p.views[1],
                         &p.axes, &plan);
    usmpy_array *x1 = argument(&p, 0), *x2 = argument(&p, 1);
    PyObject *text = PyUnicode_FromFormat(
        "matmul of %s and %s, computed in %s%s\nby: %s%s%s\nx1: %s\nx2: %s",
        usm_layout_text(x1->ndim, usmpy_shape(x1), texts[0], sizeof texts[0]),
        usm_layout_text(x2->ndim, usmpy_shape(x2), texts[1], sizeof texts[1]),
        usm_dtype_table[plan.computed].name, plan.parts ? ": four products of real and imaginary parts" : "",
        plan.dots              ? "products element by element, and their sum"
        : plan.library != NULL ? "the library "
                               : "usmpy's own kernel",
        plan.library != NULL ? plan.library
        : plan.why != NULL   ? "; no BLAS library: "
                             : "",
        plan.library == NULL && plan.why != NULL ? plan.why : "",
        plan.copies[0] && !plan.dots ? "through a compact copy" : "in place",
        plan.copies[1] && !plan.dots ? "through a compact copy" : "in place");
    usmpy_operands_drop(&p.operands);
    return text;
}

USMPY_FUNCTION_OF(matmul, multiply, arrange_matmul)
USMPY_FUNCTION_OF(tensordot, multiply, arrange_tensordot)
USMPY_FUNCTION_OF(vecdot, multiply, arrange_vecdot)
USMPY_ENTRY(explain_matmul, usmpy_explain_matmul(state, arguments))

PyMethodDef usmpy_matmul_functions[] = {
    USMPY_ROW(matmul), USMPY_ROW(tensordot), USMPY_ROW(vecdot), USMPY_ROW(explain_matmul), {0},
};

PyObject *usmpy_array_matmul(PyObject *a, PyObject *b)
{
    usmpy_state *state = usmpy_find_state();
    PyObject *const arguments[] = {a, b};
    return usmpy_is_array(state, a) && usmpy_is_array(state, b)
               ? multiply(state, "matmul", arguments, arrange_matmul)
               : Py_NewRef(Py_NotImplemented);
}

/* The product is computed into new memory, and copied into a. */
PyObject *usmpy_array_inplace_matmul(PyObject *a, PyObject *b)
{
    usmpy_array *to = (usmpy_array *)a;
    PyObject *const arguments[] = {a, b};
    if (!usmpy_is_array(to->state, b)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (usmpy_check_writable(to) < 0) {
        return NULL;
    }
    usmpy_array *result = (usmpy_array *)multiply(to->state, "matmul", arguments, arrange_matmul);
    int status = -1;
    if (result != NULL &&
        (result->dtype != to->dtype || !usmpy_has_shape(to, result->ndim, usmpy_shape(result)))) {
        char own[200], needed[200];
        PyErr_Format(
            result->dtype != to->dtype ? PyExc_TypeError : PyExc_ValueError,
            "x1 @= x2: the product has dtype %s and shape %s, and x1 has dtype %s and shape %s; they "
            "must match, or write x1 = x1 @ x2",
            usm_dtype_table[result->dtype].name,
            usm_layout_text(result->ndim, usmpy_shape(result), needed, sizeof needed),
            usm_dtype_table[to->dtype].name, usm_layout_text(to->ndim, usmpy_shape(to), own, sizeof own));
    } else if (result != NULL) {
        status = usmpy_array_copy(to, result);
    }
    Py_XDECREF(result);
    return status < 0 ? NULL : Py_NewRef(a);
}
