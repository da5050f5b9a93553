/* Elements as Python objects: item, tolist, number protocols, NumPy. Each function waits for pending work. */
#include "array.h"
#include "core/memory/pool.h"
#include "py/args.h"
#include "py/wait.h"

/*
 * Where elements are copied for the host to read: the array's own queue, if its device has host memory. A
 * block that the pool does not keep would be pinned for this copy alone, which takes longer than the copy.
 */
static PyObject *reading_queue(usmpy_array *array)
{
    bool pooled = usm_dtype_nbytes(array->dtype, array->size) <= (int64_t)USM_POOL_LARGEST;
    bool has_host = usmpy_queue_of(array->queue)->device->info.has_usm_host;
    return pooled && has_host ? array->queue : usmpy_host_queue(array->state);
}

/* A copy in host memory; new reference. */
static usmpy_array *host_copy(usmpy_array *array, char order)
{
    PyObject *queue = reading_queue(array);
    return queue == NULL ? NULL : usmpy_array_duplicate(array, queue, USM_HOST, array->dtype, order);
}

/* Whether a failure of a task that is raised counts as retrieved (core/tasks/unretrieved.h): VALUES do. */
typedef enum purpose { VALUES, DISPLAY } purpose;

static int wait_to_read(usmpy_array *array, purpose purpose)
{
    return purpose == DISPLAY ? usmpy_peek_alloc(array->state, array->alloc, USM_READ)
                              : usmpy_wait_alloc(array->state, array->alloc, USM_READ, INT64_MAX);
}

/* Waits for a copy in host memory. Inside a task that it is made after, the error says what can be done. */
static int wait_for_copy(usmpy_array *copy, purpose purpose)
{
    usm_error error;
    if (wait_to_read(copy, purpose) == 0) {
        return 0;
    }
    if (usm_event_current() == NULL || !usm_alloc_is_busy(copy->alloc) ||
        !PyErr_ExceptionMatches(copy->state->usm_error)) {
        return -1;
    }
    PyErr_Clear();
    usmpy_raise(
        copy->state,
        usm_error_set(
            &error, USM_DEADLOCK,
            "this task reads the array through a copy, which is made after the task; a task "
            "can read memory of usm_type shared or host in place (tolist(), numpy.from_dlpack()), and "
            "arrays of other queues that it does not use"),
        &error);
    return -1;
}

/* compact: the elements are to be one block. */
static usmpy_array *readable(usmpy_array *array, purpose purpose, bool compact)
{
    /* A failure that exists already is raised here. A copy would be skipped because of it, and fail too. */
    if ((purpose == DISPLAY || !usm_alloc_is_busy(array->alloc)) && wait_to_read(array, purpose) < 0) {
        return NULL;
    }
    usmpy_array *source = (usmpy_array *)Py_NewRef(array);
    bool has_gaps = (array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == 0;
    if (!usm_alloc_host_reads(array->alloc) || (compact && has_gaps)) {
        Py_SETREF(source, host_copy(array, compact ? 'A' : 'C'));
        if (source == NULL) {
            return NULL;
        }
    }
    usmpy_deferred_poll();
    int done = source == array ? wait_to_read(source, purpose) : wait_for_copy(source, purpose);
    if (done < 0) {
        Py_CLEAR(source);
    }
    return source;
}

usmpy_array *usmpy_array_readable(usmpy_array *array)
{
    return readable(array, VALUES, false);
}

usmpy_array *usmpy_array_readable_block(usmpy_array *array)
{
    return readable(array, VALUES, true);
}

static PyObject *element(usmpy_array *array, int64_t offset)
{
    const char *data = array->data + offset * usm_dtype_table[array->dtype].itemsize;
    return usmpy_element_to_scalar(array->dtype, data);
}

/* The one element of the array, which must have exactly one. */
static PyObject *only_element(PyObject *self, const char *what)
{
    usmpy_array *array = (usmpy_array *)self;
    if (array->size != 1) {
        const char *truth = strcmp(what, "bool()") == 0 ? "; any(x) and all(x) ask all of them" : "";
        return PyErr_Format(PyExc_ValueError, "%s needs an array of exactly one element; this one has %lld%s",
                            what, (long long)array->size, truth);
    }
    if (usmpy_check_unpacked(array, what) < 0) {
        return NULL;
    }
    usmpy_array *source = usmpy_array_readable(array);
    PyObject *scalar = source == NULL ? NULL : element(source, 0);
    Py_XDECREF(source);
    return scalar;
}

/* item(i) in row-major order, item(i, j, ...) by axes: the offset in elements; -1 with an exception. */
static int find_item(usmpy_array *array, PyObject *const *args, Py_ssize_t nargs, int64_t *offset)
{
    int64_t index[USM_MAX_NDIM];
    bool flat = nargs == 1 && array->ndim != 1;
    if (!flat && nargs != array->ndim) {
        return usmpy_refuse(PyExc_ValueError,
                            "item() takes no index, one, or one for each of the %d axes; %zd were given",
                            array->ndim, nargs);
    }
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int64_t length = flat ? array->size : usmpy_shape(array)[i];
        index[i] = usmpy_ssize_of(args[i], "index", nargs > 1 ? i : -1, USMPY_AN_INT);
        if (index[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (index[i] < -length || index[i] >= length) {
            return usmpy_refuse(PyExc_IndexError, "index %lld is out of range for length %lld",
                                (long long)index[i], (long long)length);
        }
        index[i] += index[i] < 0 ? length : 0;
    }
    *offset = 0;
    int64_t rest = index[0];
    for (int axis = array->ndim - 1; axis >= 0; axis--) {
        int64_t length = usmpy_shape(array)[axis], i = flat ? rest % length : index[axis];
        rest = flat ? rest / length : 0;
        *offset += i * usmpy_strides(array)[axis];
    }
    return 0;
}

PyObject *usmpy_array_item_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_array *array = (usmpy_array *)self;
    if (nargs == 0) {
        return only_element(self, "item()");
    }
    if (usmpy_check_unpacked(array, "item()") < 0) {
        return NULL;
    }
    /* A copy, which is made where the host cannot read the array in place, may have another layout. */
    usmpy_array *source = usmpy_array_readable(array);
    int64_t offset;
    PyObject *scalar = NULL;
    if (source != NULL && find_item(source, args, nargs, &offset) == 0) {
        scalar = element(source, offset);
    }
    Py_XDECREF(source);
    return scalar;
}

static PyObject *nested_list(usmpy_array *array, int axis, int64_t offset)
{
    if (axis == array->ndim) {
        return element(array, offset);
    }
    Py_ssize_t n = (Py_ssize_t)usmpy_shape(array)[axis];
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *item = nested_list(array, axis + 1, offset + i * usmpy_strides(array)[axis]);
        if (item == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, i, item);
        }
    }
    return list;
}

static PyObject *lists(PyObject *self, purpose purpose)
{
    if (usmpy_check_unpacked((usmpy_array *)self, "tolist()") < 0) {
        return NULL;
    }
    usmpy_array *source = readable((usmpy_array *)self, purpose, false);
    PyObject *list = source == NULL ? NULL : nested_list(source, 0, 0);
    Py_XDECREF(source);
    return list;
}

/* The elements as bytes, compact in this order. They are copied twice: to the host, and into the object. */
PyObject *usmpy_array_tobytes(usmpy_array *array, PyObject *const *arguments)
{
    int order = usmpy_parse_order(arguments[0], "CFA", 'C');
    usmpy_array *copy = order < 0 ? NULL : host_copy(array, (char)order);
    PyObject *bytes = NULL;
    if (copy != NULL && wait_for_copy(copy, VALUES) == 0) {
        bytes = PyBytes_FromStringAndSize(copy->data, (Py_ssize_t)usm_dtype_nbytes(copy->dtype, copy->size));
    }
    Py_XDECREF(copy);
    return bytes;
}

/* A number is formatted as its Python number is; an array has no format but str(). */
PyObject *usmpy_array_format(PyObject *self, PyObject *specification)
{
    if (!PyUnicode_Check(specification)) {
        return PyErr_Format(PyExc_TypeError, "__format__() was given %s %.80s; a str is allowed",
                            USMPY_A(specification));
    }
    if (PyUnicode_GET_LENGTH(specification) == 0) {
        return PyObject_Str(self);
    }
    if (((usmpy_array *)self)->ndim != 0) {
        return usmpy_error_format(
            PyExc_TypeError,
            "format %.100R needs an array of 0 dimensions, and this one has %d; format x.item(), or the "
            "elements of x.asnumpy()",
            specification, ((usmpy_array *)self)->ndim);
    }
    PyObject *number = only_element(self, "a format");
    PyObject *text = number == NULL ? NULL : PyObject_Format(number, specification);
    Py_XDECREF(number);
    return text;
}

PyObject *usmpy_array_tolist(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lists(self, VALUES);
}

PyObject *usmpy_array_peek(PyObject *self)
{
    return lists(self, DISPLAY);
}

PyObject *usmpy_array_asnumpy(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    usmpy_deferred_poll();
    /* The copy's memory becomes NumPy's: one copy in all, wherever the elements are. */
    usmpy_array *copy = host_copy(array, 'K');
    if (copy != NULL && usm_event_current() != NULL && wait_for_copy(copy, VALUES) < 0) {
        Py_CLEAR(copy);
    }
    return copy == NULL ? NULL : usmpy_call("usmpy._numpy.conversions", "adopt", "(N)", copy);
}

PyObject *usmpy_array_wait(usmpy_array *array, PyObject *const *arguments)
{
    int64_t deadline_ns;
    if (usmpy_deadline(arguments[0], &deadline_ns) < 0 ||
        usmpy_wait_alloc(array->state, array->alloc, USM_READ_WRITE, deadline_ns) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    Py_RETURN_NONE;
}

/*
 * The number that an array of 0 dimensions stands for. The standard allows no other array, and an array with
 * one axis that has one element by chance should fail at once, not when it has two.
 */
static PyObject *number_of(PyObject *self, const char *function)
{
    usmpy_array *array = (usmpy_array *)self;
    char shape[200];
    if (array->ndim != 0 && array->size == 1) {
        return PyErr_Format(PyExc_TypeError,
                            "%s takes only 0-dimensional arrays, and this one has shape %s; x.item() is its "
                            "element",
                            function, usm_layout_text(array->ndim, usmpy_shape(array), shape, sizeof shape));
    }
    return only_element(self, function);
}

int usmpy_array_bool(PyObject *self)
{
    PyObject *scalar = number_of(self, "bool()");
    int truth = scalar == NULL ? -1 : PyObject_IsTrue(scalar);
    Py_XDECREF(scalar);
    return truth;
}

/* convert(the only element), for conversions that complex numbers refuse. */
static PyObject *converted(PyObject *self, const char *what, PyObject *(*convert)(PyObject *))
{
    PyObject *scalar = number_of(self, what);
    PyObject *result = NULL;
    if (scalar != NULL && PyComplex_Check(scalar)) {
        PyErr_Format(PyExc_TypeError, "%s cannot take a complex element; use complex()", what);
    } else if (scalar != NULL) {
        result = convert(scalar);
    }
    Py_XDECREF(scalar);
    return result;
}

PyObject *usmpy_array_int(PyObject *self)
{
    return converted(self, "int()", PyNumber_Long);
}

PyObject *usmpy_array_float(PyObject *self)
{
    return converted(self, "float()", PyNumber_Float);
}

PyObject *usmpy_array_index(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    if (!usmpy_has_integers(array)) {
        return PyErr_Format(PyExc_TypeError, "only an integer array can be an index; this one has dtype %s",
                            usm_dtype_table[array->dtype].name);
    }
    /* TypeError, for one element in one dimension too: bytes(x) and the like then use the buffer protocol. */
    if (array->ndim != 0) {
        return PyErr_Format(PyExc_TypeError, "only an array of 0 dimensions can be an index; this one has %d",
                            array->ndim);
    }
    return only_element(self, "an index");
}

PyObject *usmpy_read_integer(usmpy_state *state, PyObject *queue, const usm_view *element)
{
    usmpy_array *array = usmpy_array_new(state, 0);
    if (array == NULL) {
        return NULL;
    }
    array->alloc = usm_alloc_retain(element->alloc);
    array->data = element->data;
    array->queue = Py_NewRef(queue);
    array->dtype = (uint8_t)element->dtype;
    usmpy_array_finish(array);
    PyObject *number = usmpy_array_index((PyObject *)array);
    Py_DECREF(array);
    return number;
}

int64_t usmpy_read_count(usmpy_state *state, PyObject *queue, const usm_view *element)
{
    PyObject *number = usmpy_read_integer(state, queue, element);
    int64_t count = number == NULL ? -1 : PyLong_AsLongLong(number);
    Py_XDECREF(number);
    return count;
}

PyObject *usmpy_array_complex(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *scalar = number_of(self, "complex()");
    PyObject *result = scalar == NULL ? NULL : PyObject_CallOneArg((PyObject *)&PyComplex_Type, scalar);
    Py_XDECREF(scalar);
    return result;
}
