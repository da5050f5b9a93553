/* USMArray: its life, its constructor, its type. */
#include "args.h"
#include "array.h"
#include "compare.h"
#include "deferred.h"
#include "errors.h"
#include "native.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* Room of the smallest object: four dimensions, the size that the free list keeps. */
#define SMALL_DIMS 8

usmpy_array *usmpy_array_new(usmpy_state *state, int ndim)
{
    usmpy_array *array;
    PyTypeObject *type = state->array_type;
    Py_ssize_t room = 2 * ndim <= SMALL_DIMS ? SMALL_DIMS : 2 * ndim;
    if (room == SMALL_DIMS && state->n_spare_arrays > 0) {
        array = state->spare_arrays[--state->n_spare_arrays];
        usmpy_revive_object((PyObject *)array, type);
    } else {
        array = PyObject_Malloc(offsetof(usmpy_array, dims) + (size_t)room * sizeof(int64_t));
        if (array == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        PyObject_InitVar((PyVarObject *)array, type, room);
    }
    array->state = state;
    array->alloc = NULL;
    array->queue = NULL;
    array->weakrefs = NULL;
    array->ndim = (uint8_t)ndim;
    array->flags = 0;
    return array;
}

/* May run a foreign deleter, and that Python code: an exception that is on its way is put aside for that. */
static void release_alloc(usm_alloc *alloc)
{
    if (USM_LIKELY(alloc->deleter == NULL || PyErr_Occurred() == NULL)) {
        usm_alloc_release(alloc);
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    usm_alloc_release(alloc);
    PyErr_Restore(type, value, traceback);
}

static void array_dealloc(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (array->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    usmpy_state *state = array->state;
    if (array->alloc != NULL) {
        release_alloc(array->alloc);
    }
    Py_XDECREF(array->queue);
    if (Py_SIZE(self) == SMALL_DIMS && state->n_spare_arrays < USMPY_SPARE_ARRAYS) {
        state->spare_arrays[state->n_spare_arrays++] = array;
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
}

void usmpy_array_finish(usmpy_array *array)
{
    int64_t *shape = usmpy_shape(array), *strides = usmpy_strides(array);
    unsigned contiguous;
    if (array->ndim == 1) { /* by far the commonest: the same as below, in a line */
        array->size = shape[0];
        if (shape[0] <= 1) {
            strides[0] = 1;
        }
        contiguous = strides[0] == 1 ? USM_C_CONTIGUOUS | USM_F_CONTIGUOUS : 0;
    } else {
        uint64_t size = 1; /* beside a length of 0, others may have any product */
        for (int i = 0; i < array->ndim; i++) {
            size *= (uint64_t)shape[i];
        }
        array->size = (int64_t)size;
        contiguous = usm_layout_normalize(array->ndim, shape, strides);
    }
    array->flags = (uint8_t)((array->flags & USMPY_WRITABLE) | contiguous);
    if (array->size == 0) {
        array->data = NULL;
    }
}

/* Of no dimensions, from may be NULL, which memcpy must not be given. */
static void copy_dims(int64_t *to, const int64_t *from, int ndim)
{
    if (ndim > 0) {
        memcpy(to, from, (size_t)ndim * sizeof *from);
    }
}

/* What usm_layout_compact and usmpy_array_finish give in row-major order, in one walk. size > 0. */
static void finish_rows(usmpy_array *array, const int64_t *shape, int64_t size)
{
    int64_t *lengths = usmpy_shape(array), *strides = usmpy_strides(array), step = 1;
    int long_axes = 0;
    for (int i = array->ndim - 1; i >= 0; i--) {
        int64_t length = shape[i];
        lengths[i] = length;
        strides[i] = length == 1 ? 1 : step;
        step *= length;
        long_axes += length != 1;
    }
    array->size = size;
    array->flags = USMPY_WRITABLE | USM_C_CONTIGUOUS | (long_axes <= 1 ? USM_F_CONTIGUOUS : 0);
}

usmpy_array *usmpy_array_empty(usmpy_state *state, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                               int ndim, const int64_t *shape, char order, bool want_zeros)
{
    usm_error error;
    int64_t size;
    usm_status status = usm_layout_size(ndim, shape, usm_dtype_table[dtype].itemsize, &size, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    usm_queue *queue = usmpy_queue_of(queue_object);
    usm_alloc *alloc;
    size_t nbytes = (size_t)usm_dtype_nbytes(dtype, size);
    status = usm_alloc_create(queue->place, kind, nbytes, want_zeros, &alloc, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    usmpy_array *array = usmpy_array_new(state, ndim);
    if (array == NULL) {
        usm_alloc_release(alloc);
        return NULL;
    }
    array->alloc = alloc;
    array->data = alloc->pointer;
    array->queue = Py_NewRef(queue_object);
    array->dtype = (uint8_t)dtype;
    if (order == 'C' && size > 0) {
        finish_rows(array, shape, size);
        return array;
    }
    array->flags = USMPY_WRITABLE;
    copy_dims(usmpy_shape(array), shape, ndim);
    usm_layout_compact(ndim, shape, order, usmpy_strides(array));
    usmpy_array_finish(array);
    return array;
}

usmpy_array *usmpy_array_view(usmpy_state *state, usmpy_array *base, char *data, int ndim,
                              const int64_t *shape, const int64_t *strides)
{
    usmpy_array *array = usmpy_array_new(state, ndim);
    if (array == NULL) {
        return NULL;
    }
    array->alloc = usm_alloc_retain(base->alloc);
    array->data = data;
    array->queue = Py_NewRef(base->queue);
    array->dtype = base->dtype;
    array->flags = base->flags;
    copy_dims(usmpy_shape(array), shape, ndim);
    copy_dims(usmpy_strides(array), strides, ndim);
    usmpy_array_finish(array);
    return array;
}

usmpy_array *usmpy_array_on_queue(usmpy_state *state, usmpy_array *base, PyObject *queue_object)
{
    usmpy_array *array =
        usmpy_array_view(state, base, base->data, base->ndim, usmpy_shape(base), usmpy_strides(base));
    if (array != NULL) {
        Py_SETREF(array->queue, Py_NewRef(queue_object));
    }
    return array;
}

int usmpy_check_writable(usmpy_array *array)
{
    if ((array->flags & USMPY_WRITABLE) == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "the array is read-only; write to a copy(), or to what it was made from");
        return -1;
    }
    return 0;
}

int usmpy_check_unpacked(usmpy_array *array, const char *what)
{
    if (usm_dtype_is_packed((usm_dtype)array->dtype)) {
        PyErr_Format(
            PyExc_TypeError,
            "%s needs elements of whole bytes; dtype %s packs several into a byte and is only stored, "
            "copied and exchanged whole",
            what, usm_dtype_table[array->dtype].name);
        return -1;
    }
    return 0;
}

static int parse_order(PyObject *order)
{
    if (!usmpy_given(order)) {
        return 'C';
    }
    if (PyUnicode_Check(order) && PyUnicode_GET_LENGTH(order) == 1) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(order, 0);
        if (letter == 'C' || letter == 'F') {
            return (int)letter;
        }
    }
    PyErr_Format(PyUnicode_Check(order) ? PyExc_ValueError : PyExc_TypeError,
                 "order is %R; 'C' (row-major) or 'F' (column-major) is allowed", order);
    return -1;
}

static PyObject *array_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const usmpy_signature signature = {
        "USMArray", 6, 2,
        0,          1, {USMPY_shape, USMPY_dtype, USMPY_usm_type, USMPY_device, USMPY_queue, USMPY_order}};
    usmpy_state *state = usmpy_state_of_type(type);
    PyObject *out[6];
    if (usmpy_parse_tuple(state, &signature, args, kwargs, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    int64_t shape[USM_MAX_NDIM];
    int ndim = usmpy_parse_shape(out[0], shape, "shape");
    int kind = ndim < 0 ? -1 : usmpy_kind(out[2], USM_DEVICE);
    int order = kind < 0 ? -1 : parse_order(out[5]);
    if (order < 0) {
        return NULL;
    }
    usm_dtype dtype = USM_NO_DTYPE;
    if (usmpy_given(out[1]) && usmpy_dtype_convert(state, out[1], &dtype) < 0) {
        return NULL;
    }
    PyObject *queue = usmpy_placement(state, out[3], out[4]);
    if (queue == NULL) {
        return NULL;
    }
    if (dtype == USM_NO_DTYPE) {
        dtype = usmpy_default_float(usmpy_queue_of(queue)->device);
    }
    usmpy_array *array =
        usmpy_array_empty(state, queue, (usm_kind)kind, dtype, ndim, shape, (char)order, false);
    Py_DECREF(queue);
    return (PyObject *)array;
}

/* A text that a function of the Python part makes. */
static PyObject *shown(PyObject *self, const char *module, const char *name)
{
    PyObject *function = usmpy_import(module, name);
    PyObject *text = function == NULL ? NULL : PyObject_CallOneArg(function, self);
    Py_XDECREF(function);
    return text;
}

static PyObject *array_repr(PyObject *self)
{
    return shown(self, "usmpy._repr", "array_repr");
}

static PyObject *array_str(PyObject *self)
{
    return shown(self, "usmpy._repr", "array_str");
}

static PyObject *array_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return shown(self, "usmpy._html", "array_html");
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

static PyMethodDef array_methods[] = {
    {"from_pointer", (PyCFunction)(void (*)(void))usmpy_array_from_pointer,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "from_pointer($type, address, shape, dtype=None, *, strides=None, queue, usm_type=None, owner=None,\n"
     "             readonly=False)\n--\n\n"
     "An array over memory that another library allocated, without a copy.\n\n"
     "address: of the first element, an int, such as the svm_ptr of PyOpenCL's SVMAllocation. shape, dtype:\n"
     "as in USMArray(). strides: from one index to the next, in elements, one for each axis; None is\n"
     "row-major. queue: a Queue of the context that the memory is of. usm_type: None asks the driver,\n"
     "which also tells the bounds; it cannot tell for SVM, which needs usm_type ('shared' for what is\n"
     "fine-grained) and is taken on trust, as any memory is on the host ('host' for None). owner: any\n"
     "object, kept alive until the last array over the memory and its last task are gone (it must not\n"
     "lead to the array: the cycle would never be found). readonly: the array is. Work that others have\n"
     "enqueued in the driver's queue behind `queue` (from_native) comes first; for other work on the\n"
     "memory, wait.\n\n"
     "Raises ValueError for an address of 0, one that is not aligned to the dtype or that the driver does\n"
     "not know in this context, for elements beyond the allocation and for a usm_type that is not the\n"
     "driver's, TypeError for arguments of a wrong type, MemoryError when memory runs out."},
    {"copy", usmpy_array_copy_method, METH_NOARGS,
     "copy($self)\n--\n\n"
     "A new array of the same shape, dtype, usm_type and queue, in row-major order.\n\n"
     "Raises MemoryError when memory runs out."},
    USMPY_METHOD(
        "to_device", usmpy_array_to_device,
        "to_device($self, device, /, *, stream=None)\n--\n\n"
        "The same elements on another placement (array API standard 2024.12, to_device).\n\n"
        "device: anything that Device.create_device takes. stream: None, or a Queue or CUDA stream (as\n"
        "Queue.wait_for takes it) in which the copy is to run. There is no copy where that placement\n"
        "can use the memory in place; the result is ordered after pending work either way.\n\n"
        "Raises TypeError for arguments of a wrong type, MemoryError when memory runs out, and what\n"
        "Device() raises."),
    USMPY_METHOD(
        "astype", usmpy_array_astype,
        "astype($self, dtype, /, *, copy=True)\n--\n\n"
        "The elements cast to another type, on the same queue (array API standard 2024.12, astype).\n\n"
        "dtype: a DType, its name, a Python or NumPy type. copy=False returns self where the dtype is\n"
        "the same. Floating point to integer rounds towards zero, saturates, and makes 0 of NaN.\n\n"
        "Raises TypeError for complex to real, for types that are only stored and exchanged and for\n"
        "arguments of a wrong type, MemoryError when memory runs out."),
    {"item", (PyCFunction)(void (*)(void))usmpy_array_item_method, METH_FASTCALL,
     "item($self, *args)\n--\n\n"
     "One element as a Python number. Waits for pending work.\n\n"
     "args: nothing for the only element; else its index, one int in row-major order or one for\n"
     "each axis.\n\n"
     "Raises ValueError where there is not exactly one, IndexError where the index is out of\n"
     "range, TypeError for packed types, and the error of work on the memory."},
    {"tolist", usmpy_array_tolist, METH_NOARGS,
     "tolist($self)\n--\n\n"
     "Nested lists of Python numbers; a number for 0 dimensions. Waits for pending work.\n\n"
     "Raises TypeError for types that have no Python number, and the error of work on the memory."},
    {"asnumpy", usmpy_array_asnumpy, METH_NOARGS,
     "asnumpy($self)\n--\n\n"
     "A numpy.ndarray with a copy of the elements, wherever they are. Waits for pending work.\n\n"
     "Raises ImportError without NumPy, TypeError for types that neither NumPy nor ml_dtypes has,\n"
     "MemoryError when memory runs out, and the error of work on the memory."},
    USMPY_METHOD("wait", usmpy_array_wait,
                 "wait($self, timeout=None)\n--\n\n"
                 "Block until pending work on the memory has ended.\n\n"
                 "timeout: seconds; None waits for as long as it takes.\n\n"
                 "Raises the error of that work; TimeoutError when the time runs out, ValueError for a\n"
                 "negative timeout, TypeError for what is no number."),
    USMPY_METHOD(
        "lend", usmpy_array_lend,
        "lend($self, stream=None)\n--\n\n"
        "Context manager that lends the memory to somebody's kernel, and yields its pointer.\n\n"
        "stream: where that kernel runs: a Queue, a CUDA stream (as Queue.wait_for takes it), an Event\n"
        "that ends with it, or None for the host. On entry it waits for pending work on the array, on\n"
        "exit later work on the array waits for it; a stream does so on the device.\n\n"
        "Raises BufferError for a stream that the memory's backend does not have, ValueError for the\n"
        "stream 0, TypeError for anything else."),
    USMPY_METHOD(
        "__dlpack__", usmpy_array_dlpack,
        "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
        "A DLPack capsule (array API standard 2024.12, __dlpack__; DLPack 1.3).\n\n"
        "stream: the consumer's. For CUDA memory 1 (also None: the legacy default stream), 2 (the calling\n"
        "thread's) or the address of a stream, whose later work waits for ours, on the device; -1 for no\n"
        "order; of managed and pinned memory None gives finished data. For memory of the CPU None, or\n"
        "-1 for no wait. max_version: (major, minor) that the consumer understands: 1 or more gives\n"
        "'dltensor_versioned', anything less, and None, 'dltensor'. dl_device: another true view of the\n"
        "memory, or (1, 0) for a copy on the host. copy: True always copies, False never does, None\n"
        "copies only if it must.\n\n"
        "Raises BufferError for what cannot be exchanged as asked, ValueError for a stream that cannot\n"
        "be, such as 0, TypeError for arguments of a wrong type, MemoryError when memory runs out, and\n"
        "the error of work on the memory."),
    {"__dlpack_device__", usmpy_array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\n"
     "(device type, device id), of the view that most consumers understand (array API standard\n"
     "2024.12; DLPack 1.3)."},
    {"__complex__", usmpy_array_complex, METH_NOARGS,
     "__complex__($self)\n--\n\n"
     "complex() of the only element. Waits for pending work.\n\n"
     "Raises ValueError unless there is exactly one, and the error of work on the memory."},
    {"__array_namespace__", (PyCFunction)(void (*)(void))array_namespace, METH_VARARGS | METH_KEYWORDS,
     "__array_namespace__($self, *, api_version=None)\n--\n\n"
     "The module usmpy (array API standard 2024.12).\n\n"
     "api_version: None, or a version of the standard such as '2024.12'.\n\n"
     "Raises ValueError for a version that it does not follow."},
    {"__array__", (PyCFunction)(void (*)(void))array_array, METH_VARARGS | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "Refuses: NumPy asks for it where the host cannot read the memory in place, and nothing is\n"
     "copied implicitly.\n\n"
     "dtype, copy: NumPy's, ignored.\n\n"
     "Raises TypeError, always."},
    {"_repr_html_", array_html, METH_NOARGS,
     "_repr_html_($self)\n--\n\n"
     "What notebooks show: properties, corners of the values, and a small picture of 2-D data, for which a\n"
     "few kilobytes are copied. Waits for pending work; errors are part of the text."},
    {"__reduce_ex__", array_reduce, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"
     "Pickled by elements and place (filter_string). Waits for pending work.\n\n"
     "protocol: an int; from 5 on there is no further copy in memory.\n\n"
     "Raises the error of work on the memory. Unpickling raises what Device() does where the place\n"
     "is missing."},
    {0},
};

static PyMemberDef array_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_array, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot array_slots[] = {
    {Py_tp_doc,
     "USMArray(shape, dtype=None, *, usm_type='device', device=None, queue=None, order='C')\n--\n\n"
     "A strided array over one allocation of unified shared memory (SYCL 2020, 4.8), not\n"
     "initialised.\n\n"
     "shape: an int or a sequence of ints, lengths in elements. dtype: a DType, its name, a Python\n"
     "or NumPy type; None is float64, or float32 where the device lacks that. usm_type: 'device',\n"
     "'shared' or 'host'. device: anything that Device.create_device takes. queue: a Queue, which\n"
     "must be the device's if both are given. order: 'C' (row-major) or 'F' (column-major).\n\n"
     "Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot\n"
     "be and for device and queue that disagree, MemoryError when memory runs out, and what\n"
     "Device() raises."},
    {Py_tp_new, array_new},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_repr, array_repr},
    {Py_tp_str, array_str},
    {Py_tp_richcompare, usmpy_array_richcompare},
    {Py_tp_hash, PyObject_HashNotImplemented}, /* equality is by element */
    {Py_tp_methods, array_methods},
    {Py_tp_members, array_members},
    {Py_tp_getset, usmpy_array_getset},
    {Py_mp_subscript, usmpy_array_subscript},
    {Py_mp_ass_subscript, usmpy_array_ass_subscript},
    {Py_mp_length, usmpy_array_length},
    {Py_tp_iter, usmpy_array_iter},
    {Py_sq_length, usmpy_array_length},
    {Py_sq_item, usmpy_array_item},
    {Py_nb_bool, usmpy_array_bool},
    {Py_nb_int, usmpy_array_int},
    {Py_nb_float, usmpy_array_float},
    {Py_nb_index, usmpy_array_index},
    {Py_bf_getbuffer, usmpy_array_getbuffer},
    {Py_bf_releasebuffer, usmpy_array_releasebuffer},
    {0, NULL},
};

static PyType_Spec array_spec = {
    .name = "usmpy.USMArray",
    .basicsize = offsetof(usmpy_array, dims),
    .itemsize = sizeof(int64_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = array_slots,
};

int usmpy_array_add_type(PyObject *module, usmpy_state *state)
{
    if (usmpy_add_type(module, &array_spec, &state->array_type) < 0) {
        return -1;
    }
    return usmpy_array_add_exchange_api(state);
}
