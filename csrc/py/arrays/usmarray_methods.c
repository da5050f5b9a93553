/* The methods of USMArray, and those that are functions of the module: x.reshape(...) is reshape(x, ...). */
#include "array.h"
#include "docstrings.h"
#include "hints.h"
#include "py/args.h"
#include "py/exchange/native.h"

#define MOST 16 /* arguments, keywords among them, without memory of their own */

/* callable(self, *args, **keywords). Takes the reference to the callable, or NULL with an exception. */
static PyObject *call_with_self(PyObject *self, PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *few[MOST], **all = few;
    Py_ssize_t n = nargs + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames)) + 1;
    if (callable != NULL && n > MOST) {
        all = PyMem_New(PyObject *, n);
        if (all == NULL) {
            Py_CLEAR(callable);
            PyErr_NoMemory();
        }
    }
    PyObject *result = NULL;
    if (callable != NULL) {
        all[0] = self;
        for (Py_ssize_t i = 1; i < n; i++) {
            all[i] = args[i - 1];
        }
        result = PyObject_Vectorcall(callable, all, (size_t)nargs + 1, kwnames);
        Py_DECREF(callable);
    }
    if (all != few) {
        PyMem_Free(all);
    }
    return result;
}

/* A function of this module. */
static PyObject *call(PyObject *self, const char *function, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames)
{
    PyObject *callable = PyObject_GetAttrString(((usmpy_array *)self)->state->module, function);
    return call_with_self(self, callable, args, nargs, kwnames);
}

/* A function that is written in Python. */
static PyObject *call_python(PyObject *self, const char *function, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    return call_with_self(self, usmpy_import("usmpy._indexing", function), args, nargs, kwnames);
}

/* The same where several ints may stand for one tuple of them: x.reshape(2, 3). */
static PyObject *call_with_tuple(PyObject *self, const char *function, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames)
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

#define METHOD(name, function, how)                                                                   \
    static PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \
    {                                                                                                 \
        return how(self, function, args, nargs, kwnames);                                             \
    }

METHOD(reshape, "reshape", call_with_tuple)
METHOD(squeeze, "squeeze", call)
METHOD(swapaxes, "swapaxes", call)
METHOD(repeat, "repeat", call)
METHOD(take, "take", call)
METHOD(put, "put", call_python)
METHOD(nonzero, "nonzero", call)
METHOD(all, "all", call)
METHOD(any, "any", call)

/* x.transpose(), x.transpose(axes), x.transpose(0, 2, 1). */
static PyObject *transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_array *array = (usmpy_array *)self;
    if (nargs > 0 && !(nargs == 1 && args[0] == Py_None)) {
        return call_with_tuple(self, "permute_dims", args, nargs, NULL);
    }
    int64_t axes[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        axes[i] = array->ndim - 1 - i;
    }
    PyObject *tuple = usmpy_int_tuple(array->ndim, axes);
    PyObject *result = tuple == NULL ? NULL : call(self, "permute_dims", &tuple, 1, NULL);
    Py_XDECREF(tuple);
    return result;
}

/* All elements in one dimension: reshape(x, (-1,), ...). */
static PyObject *flat(PyObject *self, PyObject *order, bool copy)
{
    PyObject *shape = Py_BuildValue("(L)", (long long)((usmpy_array *)self)->size);
    PyObject *kwnames = Py_BuildValue("(ss)", "order", "copy");
    PyObject *const args[] = {shape, order, copy ? Py_True : Py_None};
    PyObject *result = shape == NULL || kwnames == NULL ? NULL : call(self, "reshape", args, 1, kwnames);
    Py_XDECREF(shape);
    Py_XDECREF(kwnames);
    return result;
}

static PyObject *ravel(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {"order", NULL};
    PyObject *order = Py_None;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "|O:ravel", (char **)keywords, &order)
               ? flat(self, order, false)
               : NULL;
}

static PyObject *flatten(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {"order", NULL};
    PyObject *order = Py_None;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "|O:flatten", (char **)keywords, &order)
               ? flat(self, order, true)
               : NULL;
}

/* x[...] = value. */
static PyObject *fill(PyObject *self, PyObject *value)
{
    if (usmpy_array_ass_subscript(self, Py_Ellipsis, value) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyObject *array_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return usmpy_array_shown(self, "usmpy._display.html", "array_html");
}

static PyObject *array_namespace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {"api_version", NULL};
    (void)self;
    PyObject *version = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:__array_namespace__", (char **)keywords, &version)) {
        return NULL;
    }
    PyObject *function = usmpy_import("usmpy._namespace", "namespace");
    PyObject *namespace = function == NULL ? NULL : PyObject_CallOneArg(function, version);
    Py_XDECREF(function);
    return namespace;
}

/* What the host cannot read has no host copy behind the user's back; what it can, NumPy takes as a buffer. */
static PyObject *array_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return PyErr_Format(
        PyExc_TypeError,
        "NumPy cannot use this array implicitly (dtype %s, usm_type %s); call asnumpy() for a copy on "
        "the host, or numpy.from_dlpack",
        usm_dtype_table[((usmpy_array *)self)->dtype].name,
        usm_kind_name(((usmpy_array *)self)->alloc->kind));
}

static PyObject *array_reduce(PyObject *self, PyObject *protocol)
{
    PyObject *function = usmpy_import("usmpy._pickle", "reduce_array");
    PyObject *result = function == NULL ? NULL : PyObject_CallFunctionObjArgs(function, self, protocol, NULL);
    Py_XDECREF(function);
    return result;
}

PyMethodDef usmpy_array_methods[] = {
    {"from_pointer", (PyCFunction)(void (*)(void))usmpy_array_from_pointer,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS, USMPY_DOC_USMArray_from_pointer},
    USMPY_METHOD("copy", usmpy_array_copy_method, USMPY_DOC_USMArray_copy),
    USMPY_METHOD("to_device", usmpy_array_to_device, USMPY_DOC_USMArray_to_device),
    USMPY_METHOD("astype", usmpy_array_astype, USMPY_DOC_USMArray_astype),
    {"item", (PyCFunction)(void (*)(void))usmpy_array_item_method, METH_FASTCALL, USMPY_DOC_USMArray_item},
    {"tolist", usmpy_array_tolist, METH_NOARGS, USMPY_DOC_USMArray_tolist},
    {"asnumpy", usmpy_array_asnumpy, METH_NOARGS, USMPY_DOC_USMArray_asnumpy},
    USMPY_METHOD("wait", usmpy_array_wait, USMPY_DOC_USMArray_wait),
    USMPY_METHOD("lend", usmpy_array_lend, USMPY_DOC_USMArray_lend),
    USMPY_METHOD("__dlpack__", usmpy_array_dlpack, USMPY_DOC_USMArray___dlpack__),
    {"__dlpack_device__", usmpy_array_dlpack_device, METH_NOARGS, USMPY_DOC_USMArray___dlpack_device__},
    {"tobytes", KEYWORDS(usmpy_array_tobytes), USMPY_DOC_USMArray_tobytes},
    {"__format__", usmpy_array_format, METH_O, USMPY_DOC_USMArray___format__},
    {"__array_ufunc__", KEYWORDS(usmpy_hint_ufunc), USMPY_DOC_USMArray___array_ufunc__},
    {"__complex__", usmpy_array_complex, METH_NOARGS, USMPY_DOC_USMArray___complex__},
    {"__array_namespace__", (PyCFunction)(void (*)(void))array_namespace, METH_VARARGS | METH_KEYWORDS,
     USMPY_DOC_USMArray___array_namespace__},
    {"__array__", (PyCFunction)(void (*)(void))array_array, METH_VARARGS | METH_KEYWORDS,
     USMPY_DOC_USMArray___array__},
    {"_repr_html_", array_html, METH_NOARGS, USMPY_DOC_USMArray__repr_html_},
    {"__reduce_ex__", array_reduce, METH_O, USMPY_DOC_USMArray___reduce_ex__},
    USMPY_METHOD("reshape", reshape, USMPY_DOC_USMArray_reshape),
    USMPY_METHOD("squeeze", squeeze, USMPY_DOC_USMArray_squeeze),
    USMPY_METHOD("swapaxes", swapaxes, USMPY_DOC_USMArray_swapaxes),
    USMPY_METHOD("repeat", repeat, USMPY_DOC_USMArray_repeat),
    USMPY_METHOD("take", take, USMPY_DOC_USMArray_take),
    USMPY_METHOD("put", put, USMPY_DOC_USMArray_put),
    USMPY_METHOD("nonzero", nonzero, USMPY_DOC_USMArray_nonzero),
    USMPY_METHOD("all", all, USMPY_DOC_USMArray_all),
    USMPY_METHOD("any", any, USMPY_DOC_USMArray_any),
    {"transpose", (PyCFunction)(void (*)(void))transpose, METH_FASTCALL, USMPY_DOC_USMArray_transpose},
    {"ravel", KEYWORDS(ravel), USMPY_DOC_USMArray_ravel},
    {"flatten", KEYWORDS(flatten), USMPY_DOC_USMArray_flatten},
    {"fill", fill, METH_O, USMPY_DOC_USMArray_fill},
    {0},
};
