/* Parses vectorcall arguments by interned names, as the code of Argument Clinic does, in one function. */
#ifndef USMPY_ARGS_H
#define USMPY_ARGS_H

#include "deferred.h"
#include "module.h"

#define USMPY_MAX_PARAMETERS 10

/*
 * Parameters in order: the first n_positional may be given by position, and the first n_only only so (their
 * names are for messages); the others are keyword-only. The first n_required are required; "2 | USMPY_AND(4)"
 * as n_required also requires parameter 4.
 */
#define USMPY_AND(index) ((index) << 4)

typedef struct usmpy_signature {
    const char *function;
    uint8_t n, n_positional, n_only, n_required;
    uint8_t names[USMPY_MAX_PARAMETERS]; /* usmpy_name */
} usmpy_signature;

/*
 * Sets out[i] to the i-th argument, borrowed, or to NULL if it was omitted. 0, or -1 with a TypeError that
 * names the function and the parameter.
 */
int usmpy_parse_slow(usmpy_state *state, const usmpy_signature *signature, PyObject *const *args,
                     Py_ssize_t nargs, PyObject *kwnames, PyObject **out);

static inline int usmpy_parse(usmpy_state *state, const usmpy_signature *signature, PyObject *const *args,
                              Py_ssize_t nargs, PyObject *kwnames, PyObject **out)
{
    if (kwnames == NULL && nargs >= signature->n_required && nargs <= signature->n_positional) {
        for (Py_ssize_t i = 0; i < signature->n; i++) {
            out[i] = i < nargs ? args[i] : NULL;
        }
        return 0;
    }
    return usmpy_parse_slow(state, signature, args, nargs, kwnames, out);
}

/* The same for tp_new, whose arguments are a tuple and a dict. */
int usmpy_parse_tuple(usmpy_state *state, const usmpy_signature *signature, PyObject *args, PyObject *kwargs,
                      PyObject **out);

/* Whether an optional argument was given; None counts as omitted. */
static inline bool usmpy_given(PyObject *argument)
{
    return argument != NULL && argument != Py_None;
}

/* A bool argument: 0 or 1; `otherwise` if it was omitted; -1 with a TypeError if it is not a bool. */
int usmpy_bool(PyObject *argument, int otherwise, const char *function, const char *parameter);

/*
 * Which of these words, which end with NULL, an argument is; `otherwise` if it was omitted; -1 with
 * "<parameter> is ...; <allowed> is allowed": ValueError, or TypeError if it is no str.
 */
int usmpy_word(PyObject *argument, const char *const *words, int otherwise, const char *parameter,
               const char *allowed);

/* For "%s %s" in messages: "a" or "an", and the name of the object's type. */
#define USMPY_A(object) usmpy_article(Py_TYPE(object)->tp_name), Py_TYPE(object)->tp_name

static inline const char *usmpy_article(const char *noun)
{
    return strchr("aeioAEIO", noun[0]) != NULL ? "an" : "a";
}

/* What stands for an object in a message: its representation, or its type where that raises; a new str. */
PyObject *usmpy_text_of(PyObject *object);

/* PyErr_Format() with %R also of objects whose repr raises: their address stands for it. NULL */
void *usmpy_error_format(PyObject *exception, const char *format, ...);
/* The same. -1 */
int usmpy_refuse(PyObject *exception, const char *format, ...);

/* Sets TypeError "<parameter> is a <type of object>; <allowed>". Returns NULL, for its caller to return. */
void *usmpy_wrong_type(const char *parameter, PyObject *object, const char *allowed);

/*
 * An argument (i < 0), or its item i, as an int: a new reference. NULL with TypeError "<parameter> is
 * <object>; <allowed>", also instead of a TypeError of __index__, which knows no parameter, or with its other
 * errors.
 */
PyObject *usmpy_index_of(PyObject *object, const char *parameter, Py_ssize_t i, const char *allowed);
/* The same, clipped; -1 with an exception, or without one. */
Py_ssize_t usmpy_ssize_of(PyObject *object, const char *parameter, Py_ssize_t i, const char *allowed);
#define USMPY_AN_INT "an int is allowed"

static inline const char *usmpy_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/*
 * The value of an int (not a bool) of one CPython digit, below 2**30, as most are; false for anything else.
 */
static inline bool usmpy_small_int(PyObject *object, int64_t *value)
{
    if (!PyLong_CheckExact(object)) {
        return false;
    }
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)object)) {
        return false;
    }
    *value = PyUnstable_Long_CompactValue((PyLongObject *)object);
    return true;
#else
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow); /* no error: it is an int */
    return overflow == 0 && *value > -(1 << 30) && *value < 1 << 30;
#endif
}

/*
 * The items of any iterable, as a new tuple. NULL without an exception if the object is not iterable, so that
 * the caller raises; NULL with the exception that the iteration raised, or a ValueError if anything but a
 * list or a tuple has more than `most` items.
 */
PyObject *usmpy_tuple_of(PyObject *iterable, const char *parameter, Py_ssize_t most);
#define USMPY_MOST_ITEMS ((Py_ssize_t)1 << 20) /* where the meaning gives no limit */

/* The same, with the TypeError of usmpy_wrong_type for objects that are not iterable. */
PyObject *usmpy_items_of(PyObject *iterable, const char *parameter, const char *allowed, Py_ssize_t most);
/* 0 if all items of a tuple are of this type; else -1 with TypeError "<parameter>[i] is a ...; <allowed>". */
int usmpy_check_items(PyObject *items, PyTypeObject *type, const char *parameter, const char *allowed);

/*
 * Appends an item (NULL: an exception is set) to a new list, or sets an item of a new dict or tuple. On
 * failure the container becomes NULL, which ends the loop that fills it; nothing is done if it is NULL
 * already.
 */
void usmpy_append(PyObject **list, USM_TAKES PyObject *item);
void usmpy_put(PyObject **dict, const char *key, USM_TAKES PyObject *value);
void usmpy_set_item(PyObject **tuple, Py_ssize_t i, USM_TAKES PyObject *item);

/*
 * The items of a sequence or an iterator, as a new tuple. NULL without an exception for anything else: sets,
 * which have no order, mappings, strings, bytes, and objects that are not iterable.
 */
PyObject *usmpy_sequence_of(PyObject *object, const char *parameter, Py_ssize_t most);

/* Whether the object is a sequence with a length: arrays of 0 dimensions are not. -1 with an exception. */
int usmpy_has_length(PyObject *object);

/*
 * Item i of a list or tuple that Python code or another thread may change: new reference. NULL without an
 * exception if it has become shorter.
 */
static inline PyObject *usmpy_item(PyObject *items, Py_ssize_t i)
{
#ifdef Py_GIL_DISABLED
    if (PyList_Check(items)) {
        PyObject *item = PyList_GetItemRef(items, i);
        if (item == NULL) {
            PyErr_Clear();
        }
        return item;
    }
#endif
    return i < PySequence_Fast_GET_SIZE(items) ? Py_NewRef(PySequence_Fast_GET_ITEM(items, i)) : NULL;
}

/* Rows of PyMethodDef tables for functions, and for methods of the class, that parse by a signature. */
#define USMPY_METHOD(name, function, doc)                                                 \
    {                                                                                     \
        name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS, doc \
    }
#define USMPY_CLASS_METHOD(name, function, doc)                                                        \
    {                                                                                                  \
        name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS | METH_CLASS, doc \
    }

/*
 * USMPY_FUNCTION(name) defines the entry point of a module function. It parses the call by the parameters
 * that the stub has (USMPY_SIGNATURE_name of docstrings.h), and returns name(state, arguments), where
 * arguments[i] is borrowed, or NULL where it was left out. USMPY_FUNCTION_OF is for a member of a family,
 * which shares one implementation: family(state, "name", arguments, what). USMPY_ROW(name) is the row of a
 * PyMethodDef table.
 *
 * USMPY_MEMBER(Class_name, function) and USMPY_CLASS_MEMBER do so for a method and a method of the class,
 * which are function(state, self, arguments) with the class as the latter's self; USMPY_MEMBER_ROW(Class,
 * name) is the method's row. USMPY_NEW(Class, function) defines the tp_new enter_Class. Methods do not
 * release what was deferred before they run: a wait would then report the failure that it is about to raise.
 */
#define USMPY_ENTER(name, begin, find_state, call)                                                \
    static PyObject *enter_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs,        \
                                  PyObject *kwnames)                                              \
    {                                                                                             \
        static const usmpy_signature signature = USMPY_SIGNATURE_##name;                          \
        usmpy_state *state = find_state;                                                          \
        PyObject *arguments[USMPY_MAX_PARAMETERS];                                                \
        begin;                                                                                    \
        return usmpy_parse(state, &signature, args, nargs, kwnames, arguments) < 0 ? NULL : call; \
    }
#define USMPY_ENTRY(name, call) USMPY_ENTER(name, usmpy_deferred_poll(), usmpy_state_of_module(self), call)
#define USMPY_MEMBER(name, function) \
    USMPY_ENTER(name, (void)0, usmpy_state_of(self), function(state, self, arguments))
#define USMPY_CLASS_MEMBER(name, function) \
    USMPY_ENTER(name, (void)0, usmpy_state_of_type((PyTypeObject *)self), function(state, self, arguments))
#define USMPY_NEW(name, function)                                                       \
    static PyObject *enter_##name(PyTypeObject *type, PyObject *args, PyObject *kwargs) \
    {                                                                                   \
        static const usmpy_signature signature = USMPY_SIGNATURE_##name;                \
        usmpy_state *state = usmpy_state_of_type(type);                                 \
        PyObject *arguments[USMPY_MAX_PARAMETERS];                                      \
        return usmpy_parse_tuple(state, &signature, args, kwargs, arguments) < 0        \
                   ? NULL                                                               \
                   : function(state, type, arguments);                                  \
    }
#define USMPY_FUNCTION(name) USMPY_ENTRY(name, name(state, arguments))
#define USMPY_FUNCTION_OF(name, family, what) USMPY_ENTRY(name, family(state, #name, arguments, what))
#define USMPY_ROW(name) USMPY_METHOD(#name, enter_##name, USMPY_DOC_##name)
#define USMPY_MEMBER_ROW(class, name) USMPY_METHOD(#name, enter_##class##_##name, USMPY_DOC_##class##_##name)
#define USMPY_CLASS_MEMBER_ROW(class, name) \
    USMPY_CLASS_METHOD(#name, enter_##class##_##name, USMPY_DOC_##class##_##name)

/* The getter of an attribute that is one expression of self; for lists of attributes. */
#define USMPY_GETTER(name, value)                                        \
    static PyObject *get_##name(PyObject *self, void *Py_UNUSED(unused)) \
    {                                                                    \
        (void)self;                                                      \
        return value;                                                    \
    }
#define USMPY_GETTER_ROW(class, name)                             \
    {                                                             \
#name, get_##name, NULL, USMPY_DOC_##class##_##name, NULL \
    }

/* A tp_richcompare: two objects of the class are equal where `same` is true of a and b, and no others are. */
#define USMPY_EQUALITY(name, object, same)                                                     \
    static PyObject *name(PyObject *self, PyObject *other, int operation)                      \
    {                                                                                          \
        if ((operation != Py_EQ && operation != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) { \
            Py_RETURN_NOTIMPLEMENTED;                                                          \
        }                                                                                      \
        const object *a = (const object *)self, *b = (const object *)other;                    \
        return PyBool_FromLong((same) == (operation == Py_EQ));                                \
    }

/* What a method does, for those that are defined beside their class. */
typedef PyObject *usmpy_member(usmpy_state *state, PyObject *self, PyObject *const *arguments);

#endif
