/* Parses the arguments of calls, and arguments that are sequences or bools. */
#include "args.h"

#include "errors.h"

static PyObject *name_of(usmpy_state *state, const usmpy_signature *signature, int i)
{
    return state->names[signature->names[i]];
}

/* The parameter that a keyword names: its index, -1 for none, -2 with an exception. */
static int find(usmpy_state *state, const usmpy_signature *signature, PyObject *keyword)
{
    for (int i = signature->n_only; i < signature->n; i++) { /* a call through **kwargs may not intern it */
        int same = PyObject_RichCompareBool(keyword, name_of(state, signature, i), Py_EQ);
        if (same != 0) {
            return same < 0 ? -2 : i;
        }
    }
    return -1;
}

static int put_keyword(usmpy_state *state, const usmpy_signature *signature, PyObject *keyword,
                       PyObject *value, PyObject **out)
{
    int i = find(state, signature, keyword);
    if (i == -1) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.60S'", signature->function,
                     keyword);
    }
    if (i < 0) {
        return -1;
    }
    if (out[i] != NULL) {
        return usmpy_refuse(PyExc_TypeError, "%s() got multiple values for argument '%.60U'",
                            signature->function, keyword);
    }
    out[i] = value;
    return 0;
}

static int put_positional(const usmpy_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                          PyObject **out)
{
    if (USM_UNLIKELY(nargs > signature->n_positional)) {
        return usmpy_refuse(PyExc_TypeError, "%s() takes at most %d positional argument%s (%zd given)",
                            signature->function, signature->n_positional,
                            usmpy_plural(signature->n_positional), nargs);
    }
    for (Py_ssize_t i = 0; i < signature->n; i++) {
        out[i] = i < nargs ? args[i] : NULL;
    }
    return 0;
}

static int check_required(usmpy_state *state, const usmpy_signature *signature, PyObject **out)
{
    for (int i = 0; i < signature->n; i++) {
        bool required = i < (signature->n_required & 15) || (i != 0 && i == signature->n_required >> 4);
        if (required && out[i] == NULL) {
            return usmpy_refuse(PyExc_TypeError, "%s() missing required argument '%U'", signature->function,
                                name_of(state, signature, i));
        }
    }
    return 0;
}

int usmpy_parse_slow(usmpy_state *state, const usmpy_signature *signature, PyObject *const *args,
                     Py_ssize_t nargs, PyObject *kwnames, PyObject **out)
{
    if (put_positional(signature, args, nargs, out) < 0) {
        return -1;
    }
    Py_ssize_t n_keywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        PyObject *keyword = PyTuple_GET_ITEM(kwnames, i);
        int k = signature->n_only; /* the usual keyword: interned, and given once */
        while (k < signature->n && keyword != state->names[signature->names[k]]) {
            k++;
        }
        if (USM_LIKELY(k < signature->n && out[k] == NULL)) {
            out[k] = args[nargs + i];
        } else if (put_keyword(state, signature, keyword, args[nargs + i], out) < 0) {
            return -1;
        }
    }
    return signature->n_required <= nargs ? 0 : check_required(state, signature, out);
}

int usmpy_parse_tuple(usmpy_state *state, const usmpy_signature *signature, PyObject *args, PyObject *kwargs,
                      PyObject **out)
{
    PyObject *keyword, *value;
    Py_ssize_t position = 0;
    if (put_positional(signature, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), out) < 0) {
        return -1;
    }
    while (kwargs != NULL && PyDict_Next(kwargs, &position, &keyword, &value)) {
        if (put_keyword(state, signature, keyword, value, out) < 0) {
            return -1;
        }
    }
    return check_required(state, signature, out);
}

/* As many items as are allowed: an iterator may have no end, and a length may be wrong. */
static PyObject *iterated(PyObject *iterator, const char *parameter, Py_ssize_t most)
{
    PyObject *list = PyList_New(0), *items = NULL, *item;
    while (list != NULL && (item = PyIter_Next(iterator)) != NULL) {
        if (PyList_GET_SIZE(list) == most) {
            Py_DECREF(item);
            PyErr_Format(PyExc_ValueError, "%s has more than %zd items; at most as many are allowed%s",
                         parameter, most, most == USMPY_MOST_ITEMS ? ", in a list or tuple any number" : "");
            break;
        }
        usmpy_append(&list, item);
    }
    if (list != NULL && !PyErr_Occurred()) {
        items = PyList_AsTuple(list);
    }
    Py_XDECREF(list);
    return items;
}

PyObject *usmpy_tuple_of(PyObject *iterable, const char *parameter, Py_ssize_t most)
{
    if (PyTuple_CheckExact(iterable)) {
        return Py_NewRef(iterable);
    }
    if (PyList_CheckExact(iterable)) {
        return PyList_AsTuple(iterable);
    }
    /* __getitem__ alone need not end. */
    int ends = Py_TYPE(iterable)->tp_iter != NULL ? 1 : usmpy_has_length(iterable);
    PyObject *iterator = ends > 0 ? PyObject_GetIter(iterable) : NULL;
    if (iterator == NULL) {
        if (ends > 0 &&
            (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_NotImplementedError))) {
            PyErr_Clear(); /* a memoryview whose items it does not make */
        }
        return NULL;
    }
    PyObject *items = iterated(iterator, parameter, most);
    Py_DECREF(iterator);
    if (items == NULL && PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
        PyErr_Clear();
    }
    return items;
}

void *usmpy_wrong_type(const char *parameter, PyObject *object, const char *allowed)
{
    return PyErr_Format(PyExc_TypeError, "%s is %s %.80s; %s", parameter, USMPY_A(object), allowed);
}

PyObject *usmpy_text_of(PyObject *object)
{
    PyObject *text = PyObject_Repr(object);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        text = PyUnicode_FromFormat("%s %.80s", USMPY_A(object));
    }
    return text;
}

static void set_error(PyObject *exception, const char *format, va_list values)
{
    va_list again;
    va_copy(again, values);
    PyObject *text = PyUnicode_FromFormatV(format, values);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        char other[512];
        size_t n = 0;
        for (const char *at = format; *at != '\0' && n < sizeof other - 1; at++) {
            size_t digits = at[0] == '%' && at[1] == '.' ? strspn(at + 2, "0123456789") : 0;
            if (digits > 0 && at[2 + digits] == 'R') {
                other[n++] = '%';
                at += 2 + digits;
            }
            other[n++] = *at == 'R' && digits > 0 ? 'p' : *at;
        }
        other[n] = '\0';
        PyErr_Clear();
        text = PyUnicode_FromFormatV(other, again);
    }
    va_end(again);
    usmpy_raise_object(exception, text);
}

void *usmpy_error_format(PyObject *exception, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    set_error(exception, format, values);
    va_end(values);
    return NULL;
}

int usmpy_refuse(PyObject *exception, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    set_error(exception, format, values);
    va_end(values);
    return -1;
}

/* A record of NumPy is a sequence by its type, also one without fields. */
static bool is_record(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    return strcmp(name, "numpy.void") == 0 || strcmp(name, "numpy.record") == 0;
}

/* 1, 0, or -1 with an exception. Records and masked numbers of NumPy have __index__, too. */
static int is_index(PyObject *object)
{
    static const char *const sure[] = {"numpy.int", "numpy.uint", "usmpy."};
    if (PyLong_Check(object) || !PyIndex_Check(object)) {
        return PyLong_Check(object);
    }
    for (size_t i = 0; i < sizeof sure / sizeof sure[0]; i++) {
        if (strncmp(Py_TYPE(object)->tp_name, sure[i], strlen(sure[i])) == 0) {
            return 1;
        }
    }
    PyObject *answer = usmpy_call("usmpy._arrays.objects", "is_index", "(O)", object);
    Py_XDECREF(answer); /* True and False live on */
    return answer == NULL ? -1 : answer == Py_True;
}

PyObject *usmpy_index_of(PyObject *object, const char *parameter, Py_ssize_t i, const char *allowed)
{
    int is = is_index(object);
    PyObject *number = is > 0 ? PyNumber_Index(object) : NULL;
    if (is < 0) {
        usmpy_name_argument(parameter);
    }
    if (number != NULL || is < 0 || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))) {
        return number;
    }
    PyObject *cause = usmpy_take_exception(), *text = usmpy_text_of(object);
    if (text != NULL && i < 0) {
        PyErr_Format(PyExc_TypeError, "%s is %.100U; %s", parameter, text, allowed);
    } else if (text != NULL) {
        PyErr_Format(PyExc_TypeError, "%s[%zd] is %.100U; %s", parameter, i, text, allowed);
    }
    if (cause != NULL) {
        usmpy_set_cause(cause);
    }
    Py_XDECREF(text);
    return NULL;
}

Py_ssize_t usmpy_ssize_of(PyObject *object, const char *parameter, Py_ssize_t i, const char *allowed)
{
    PyObject *number = usmpy_index_of(object, parameter, i, allowed);
    Py_ssize_t value = number == NULL ? -1 : PyNumber_AsSsize_t(number, NULL);
    Py_XDECREF(number);
    return value;
}

PyObject *usmpy_items_of(PyObject *iterable, const char *parameter, const char *allowed, Py_ssize_t most)
{
    PyObject *items = usmpy_tuple_of(iterable, parameter, most);
    return items != NULL || PyErr_Occurred() ? items : usmpy_wrong_type(parameter, iterable, allowed);
}

int usmpy_check_items(PyObject *items, PyTypeObject *type, const char *parameter, const char *allowed)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (!Py_IS_TYPE(item, type)) {
            return usmpy_refuse(PyExc_TypeError, "%s[%zd] is %s %.80s; %s", parameter, i, USMPY_A(item),
                                allowed);
        }
    }
    return 0;
}

void usmpy_append(PyObject **list, PyObject *item)
{
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0)) {
        Py_CLEAR(*list);
    }
    Py_XDECREF(item);
}

void usmpy_put(PyObject **dict, const char *key, PyObject *value)
{
    if (*dict != NULL && (value == NULL || PyDict_SetItemString(*dict, key, value) < 0)) {
        Py_CLEAR(*dict);
    }
    Py_XDECREF(value);
}

void usmpy_set_item(PyObject **tuple, Py_ssize_t i, PyObject *item)
{
    if (*tuple == NULL || item == NULL) {
        Py_CLEAR(*tuple);
        Py_XDECREF(item);
    } else {
        PyTuple_SET_ITEM(*tuple, i, item);
    }
}

PyObject *usmpy_sequence_of(PyObject *object, const char *parameter, Py_ssize_t most)
{
    if (!PyTuple_Check(object) && !PyList_Check(object) && !PyRange_Check(object) && !PyIter_Check(object) &&
        (!PySequence_Check(object) || is_record(object) || PyUnicode_Check(object) || PyBytes_Check(object) ||
         PyByteArray_Check(object) || PyObject_HasAttrString(object, "keys"))) {
        return NULL;
    }
    return usmpy_tuple_of(object, parameter, most);
}

int usmpy_has_length(PyObject *object)
{
    if (!PySequence_Check(object) || PySequence_Size(object) >= 0) {
        return PySequence_Check(object);
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

int usmpy_word(PyObject *argument, const char *const *words, int otherwise, const char *parameter,
               const char *allowed)
{
    if (argument == NULL) {
        return otherwise;
    }
    for (int i = 0; PyUnicode_Check(argument) && words[i] != NULL; i++) {
        if (PyUnicode_CompareWithASCIIString(argument, words[i]) == 0) {
            return i;
        }
    }
    return usmpy_refuse(PyUnicode_Check(argument) ? PyExc_ValueError : PyExc_TypeError,
                        "%s is %.100R; %s is allowed", parameter, argument, allowed);
}

int usmpy_bool(PyObject *argument, int otherwise, const char *function, const char *parameter)
{
    if (argument == NULL) {
        return otherwise;
    }
    if (!PyBool_Check(argument)) {
        PyObject *text = usmpy_text_of(argument);
        if (text != NULL) {
            PyErr_Format(PyExc_TypeError, "%s(): %s is %.100U; True or False are allowed", function,
                         parameter, text);
        }
        Py_XDECREF(text);
        return -1;
    }
    return argument == Py_True;
}
