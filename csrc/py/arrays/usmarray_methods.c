/* The methods of USMArray, and those that are functions of the module: x.reshape(...) is reshape(x, ...). */
#include "array.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/exchange/native.h"
#include "py/functions/manipulation.h"

#define MOST 16 /* arguments, keywords among them, that need no memory from the heap */

/* callable(self, *args, **keywords). Takes the reference to the callable, or NULL with an exception. */
static PyObject *call_with_self(PyObject *self, PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    Py_ssize_t n = nargs + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)) + 1;
    PyObject *few[MOST], **all = n > MOST ? PyMem_New(PyObject *, n) : few, *result = NULL;
    if (all == NULL) {
        PyErr_NoMemory();
    } else if (callable != NULL) {
        all[0] = self;
        for (Py_ssize_t i = 1; i < n; i++) {
            all[i] = args[i - 1];
        }
        result = PyObject_Vectorcall(callable, all, (size_t)nargs + 1, kwnames);
    }
    if (all != few) {
        PyMem_Free(all);
    }
    Py_XDECREF(callable);
    return result;
}

/* A function of this module. */
static PyObject *call(PyObject *self, usmpy_name function, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames)
{
    usmpy_state *state = ((usmpy_array *)self)->state;
    PyObject *callable = PyObject_GetAttr(state->module, state->names[function]);
    return call_with_self(self, callable, args, nargs, kwnames);
}

/* A function of this module; several ints may stand for one tuple of them: x.reshape(2, 3). */
static PyObject *call_with_tuple(PyObject *self, usmpy_name function, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    Py_ssize_t more = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (nargs < 2 || more > MOST - 1) {
        return call(self, function, args, nargs, kwnames);
    }
    PyObject *own[MOST], *tuple = PyTuple_New(nargs);
    if (tuple == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    own[0] = tuple;
    for (Py_ssize_t i = 0; i < more; i++) {
        own[1 + i] = args[nargs + i];
    }
    PyObject *result = call(self, function, own, 1, kwnames);
    Py_DECREF(tuple);
    return result;
}

/* Methods that are functions of the module, and how their calls are passed on. */
#define FUNCTIONS(EACH)            \
    EACH(reshape, call_with_tuple) \
    EACH(squeeze, call)            \
    EACH(swapaxes, call)           \
    EACH(repeat, call)             \
    EACH(take, call)               \
    EACH(nonzero, call)            \
    EACH(argmax, call)             \
    EACH(argmin, call)             \
    EACH(argsort, call)            \
    EACH(all, call)                \
    EACH(any, call)                \
    EACH(sum, call)                \
    EACH(prod, call)               \
    EACH(max, call)                \
    EACH(min, call)                \
    EACH(put, call)                \
    EACH(mean, call)               \
    EACH(var, call)                \
    EACH(std, call)                \
    EACH(clip, call)
#define FUNCTION(name, how)                                                                         \
    static PyObject *enter_USMArray_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs, \
                                           PyObject *kwnames)                                       \
    {                                                                                               \
        return how(self, USMPY_##name, args, nargs, kwnames);                                       \
    }
FUNCTIONS(FUNCTION)

/* NumPy's protocols, which are functions written in Python. */
#define PYTHON_FUNCTION(module, name)                                                               \
    static PyObject *enter_USMArray_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs, \
                                           PyObject *kwnames)                                       \
    {                                                                                               \
        PyObject *function = usmpy_function(((usmpy_array *)self)->state, module, #name);           \
        return call_with_self(self, function, args, nargs, kwnames);                                \
    }
PYTHON_FUNCTION("usmpy._numpy.functions", array_function)
PYTHON_FUNCTION("usmpy._numpy.functions", array_ufunc)

/* x.transpose(), x.transpose(axes), x.transpose(0, 2, 1). */
static PyObject *transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_array *array = (usmpy_array *)self;
    if (nargs > 0 && !(nargs == 1 && args[0] == Py_None)) {
        return call_with_tuple(self, USMPY_permute_dims, args, nargs, NULL);
    }
    int axes[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        axes[i] = array->ndim - 1 - i;
    }
    return usmpy_check_unpacked(array, "permute_dims") < 0 ? NULL
                                                           : (PyObject *)usmpy_array_permuted(array, axes);
}

/* All elements in one dimension: reshape(x, (-1,), order=order, copy=copy). */
static PyObject *flat(usmpy_array *array, PyObject *order, PyObject *copy)
{
    PyObject *shape = usmpy_int_tuple(1, &array->size);
    PyObject *const arguments[] = {(PyObject *)array, shape, order, copy};
    PyObject *result = shape == NULL ? NULL : usmpy_reshape(array->state, arguments);
    Py_XDECREF(shape);
    return result;
}

static PyObject *ravel(usmpy_array *array, PyObject *const *arguments)
{
    return flat(array, arguments[0], Py_None);
}

static PyObject *flatten(usmpy_array *array, PyObject *const *arguments)
{
    return flat(array, arguments[0], Py_True);
}

/* Entry points of methods whose parameters are those of the stub: method(array, arguments). */
#define METHODS(EACH)                      \
    EACH(copy, usmpy_array_copy_method)    \
    EACH(to_device, usmpy_array_to_device) \
    EACH(astype, usmpy_array_astype)       \
    EACH(tobytes, usmpy_array_tobytes)     \
    EACH(wait, usmpy_array_wait)           \
    EACH(ravel, ravel)                     \
    EACH(flatten, flatten)
#define METHOD(name, method)                                                          \
    USMPY_ENTER(USMArray_##name, usmpy_deferred_poll(), ((usmpy_array *)self)->state, \
                method((usmpy_array *)self, arguments))
METHODS(METHOD)
USMPY_MEMBER(USMArray_lend, usmpy_array_lend)
USMPY_CLASS_MEMBER(USMArray_from_pointer, usmpy_array_from_pointer)

/* x[...] = value. */
static PyObject *fill(PyObject *self, PyObject *value)
{
    if (usmpy_array_ass_subscript(self, Py_Ellipsis, value) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *array_html(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return usmpy_call("usmpy._inspection.html", "array_html", "(O)", self);
}

static PyObject *array_namespace(PyObject *Py_UNUSED(self), PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {"api_version", NULL};
    PyObject *version = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:__array_namespace__", (char **)keywords, &version)) {
        return NULL;
    }
    return usmpy_call("usmpy._arrays.namespace", "namespace", "(O)", version);
}

/* No implicit copy to the host. NumPy uses memory that the host can read through the buffer protocol. */
static PyObject *array_array(PyObject *self, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return PyErr_Format(
        PyExc_TypeError,
        "NumPy cannot use this array implicitly (dtype %s, usm_type %s); call asnumpy() for a copy on "
        "the host, or numpy.from_dlpack",
        usm_dtype_table[((usmpy_array *)self)->dtype].name,
        usm_kind_name(((usmpy_array *)self)->alloc->kind));
}

static PyObject *array_copy(PyObject *self, PyObject *Py_UNUSED(memo))
{
    usmpy_array *array = (usmpy_array *)self;
    return (PyObject *)usmpy_array_duplicate(array, array->queue, array->alloc->kind, array->dtype, 'K');
}

static PyObject *array_reduce(PyObject *self, PyObject *protocol)
{
    return usmpy_call("usmpy._processes.pickles", "reduce_array", "(OO)", self, protocol);
}

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

#define ROW(name, how) USMPY_MEMBER_ROW(USMArray, name),
PyMethodDef usmpy_array_methods[] = {
    USMPY_CLASS_MEMBER_ROW(USMArray, from_pointer),
    {"item", (PyCFunction)(void (*)(void))usmpy_array_item_method, METH_FASTCALL, USMPY_DOC_USMArray_item},
    {"tolist", usmpy_array_tolist, METH_NOARGS, USMPY_DOC_USMArray_tolist},
    {"asnumpy", usmpy_array_asnumpy, METH_NOARGS, USMPY_DOC_USMArray_asnumpy},
    USMPY_MEMBER_ROW(USMArray, lend),
    {"get_ipc_handle", usmpy_array_get_ipc_handle, METH_NOARGS, USMPY_DOC_USMArray_get_ipc_handle},
    USMPY_METHOD("__dlpack__", usmpy_array_dlpack, USMPY_DOC_USMArray___dlpack__),
    USMPY_METHOD("__arrow_c_array__", usmpy_array_arrow, USMPY_DOC_USMArray___arrow_c_array__),
    USMPY_METHOD("__arrow_c_device_array__", usmpy_array_arrow_device,
                 USMPY_DOC_USMArray___arrow_c_device_array__),
    {"__dlpack_device__", usmpy_array_dlpack_device, METH_NOARGS, USMPY_DOC_USMArray___dlpack_device__},
    {"__format__", usmpy_array_format, METH_O, USMPY_DOC_USMArray___format__},
    USMPY_METHOD("__array_function__", enter_USMArray_array_function, USMPY_DOC_USMArray___array_function__),
    USMPY_METHOD("__array_ufunc__", enter_USMArray_array_ufunc, USMPY_DOC_USMArray___array_ufunc__),
    {"__complex__", usmpy_array_complex, METH_NOARGS, USMPY_DOC_USMArray___complex__},
    {"__array_namespace__", KEYWORDS(array_namespace), USMPY_DOC_USMArray___array_namespace__},
    {"__array__", KEYWORDS(array_array), USMPY_DOC_USMArray___array__},
    {"_repr_html_", array_html, METH_NOARGS, USMPY_DOC_USMArray__repr_html_},
    {"__copy__", array_copy, METH_NOARGS, USMPY_DOC_USMArray___copy__},
    {"__deepcopy__", array_copy, METH_O, USMPY_DOC_USMArray___deepcopy__},
    {"__reduce_ex__", array_reduce, METH_O, USMPY_DOC_USMArray___reduce_ex__},
    {"transpose", (PyCFunction)(void (*)(void))transpose, METH_FASTCALL, USMPY_DOC_USMArray_transpose},
    {"fill", fill, METH_O, USMPY_DOC_USMArray_fill},
    METHODS(ROW) FUNCTIONS(ROW){0},
};
