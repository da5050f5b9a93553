/* Getters of Device that read a member of the core's device: one table for properties and info(). */
#include "device_facts.h"

#include "py/args.h"
#include "py/arrays/array.h"

#include <stddef.h>
#include <string.h>

typedef enum kind {
    BACKEND,
    DEVICE_TYPE,
    FILTER_STRING,
    TEXT,
    UUID,
    ASPECTS,
    FP_CONFIG,
    BOOL,
    UINT32,
    UINT64,
    LIMIT, /* a number, or USM_UNKNOWN */
    FLAG,  /* the same for a bool */
    CACHE_TYPE,
    SIZES,
    SUB_GROUP_SIZES,
    DLPACK,
} kind;

static const struct {
    const char *name;
    kind kind;
    size_t offset;
} facts[USMPY_FACTS] = {
#define USM_FACT(kind, name, declaration) {#name, kind, offsetof(usm_device, info.name)},
#define USM_LIMIT(kind, name) {#name, kind, offsetof(usm_device, info.limits.name)},
#define USM_OTHER(kind, name) {#name, kind, 0},
#include "core/device/device_facts.inc"
};

PyObject *usmpy_device_string(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* The sizes up to the first 0. */
static PyObject *sub_group_sizes(const uint32_t *sizes)
{
    int64_t values[USM_MAX_SUB_GROUP_SIZES];
    int n = 0;
    for (; n < USM_MAX_SUB_GROUP_SIZES && sizes[n] != 0; n++) {
        values[n] = sizes[n];
    }
    return usmpy_int_tuple(n, values);
}

/* The names of the bits that are set. */
static PyObject *names_of(uint32_t bits, bool aspects)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names != NULL && i < (aspects ? USM_ASPECTS : USM_FP_CONFIGS); i++) {
        if ((bits >> i & 1) != 0) {
            usmpy_append(&names, PyUnicode_InternFromString(aspects ? usm_aspect_name((usm_aspect)i)
                                                                    : usm_fp_config_name((usm_fp_config)i)));
        }
    }
    PyObject *set = names == NULL ? NULL : PyFrozenSet_New(names);
    Py_XDECREF(names);
    return set;
}

static PyObject *fact(const usm_device *device, usmpy_fact which)
{
    static const char *const cache_types[] = {"none", "read_only", "read_write"};
    const void *member = (const char *)device + facts[which].offset;
    const uint64_t *number = member;
    char text[USM_DEVICE_TEXT];
    switch (facts[which].kind) {
        case BACKEND:
            return PyUnicode_FromString(usm_backend_name(device->backend));
        case DEVICE_TYPE:
            return PyUnicode_FromString(usm_device_type_name(device->type));
        case FILTER_STRING:
            return PyUnicode_FromString(usm_device_text(device, text, sizeof text));
        case TEXT:
            return usmpy_device_string(member);
        case UUID:
            return usmpy_call("uuid", "UUID", "(Oy#)", Py_None, (const char *)member, (Py_ssize_t)16);
        case ASPECTS:
            return names_of(usm_device_aspects(device), true);
        case FP_CONFIG:
            return names_of(*(const uint32_t *)member, false);
        case BOOL:
            return PyBool_FromLong(*(const bool *)member);
        case UINT32:
            return PyLong_FromUnsignedLong(*(const uint32_t *)member);
        case UINT64:
            return PyLong_FromUnsignedLongLong(*number);
        case LIMIT:
            return *number == USM_UNKNOWN ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(*number);
        case FLAG:
            return *number == USM_UNKNOWN ? Py_NewRef(Py_None) : PyBool_FromLong(*number != 0);
        case CACHE_TYPE:
            return *number == USM_UNKNOWN ? Py_NewRef(Py_None) : PyUnicode_FromString(cache_types[*number]);
        case SIZES:
            return Py_BuildValue("(KKK)", (unsigned long long)number[0], (unsigned long long)number[1],
                                 (unsigned long long)number[2]);
        case SUB_GROUP_SIZES:
            return sub_group_sizes(member);
        default:
            return Py_BuildValue("(ii)", (int)device->info.dlpack_type, (int)device->info.dlpack_id);
    }
}

PyObject *usmpy_device_get_fact(PyObject *self, void *which)
{
    return fact(((usmpy_device *)self)->device, (usmpy_fact)(intptr_t)which);
}

PyObject *usmpy_device_info(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < USMPY_FACTS; i++) {
        usmpy_put(&dict, facts[i].name, fact(((usmpy_device *)self)->device, (usmpy_fact)i));
    }
    return dict;
}

/* All names in one line, for messages. NULL with an exception. */
static PyObject *all_aspects(void)
{
    PyObject *text = PyUnicode_FromString(usm_aspect_name(USM_ASPECT_CPU));
    for (int i = 1; text != NULL && i < USM_ASPECTS; i++) {
        Py_SETREF(text, PyUnicode_FromFormat("%U, %s", text, usm_aspect_name((usm_aspect)i)));
    }
    return text;
}

PyObject *usmpy_device_has_aspect(PyObject *self, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        return usmpy_wrong_type("aspect", name, "a str such as 'fp64' is allowed");
    }
    for (int i = 0; i < USM_ASPECTS; i++) {
        if (PyUnicode_CompareWithASCIIString(name, usm_aspect_name((usm_aspect)i)) == 0) {
            uint32_t bits = usm_device_aspects(((usmpy_device *)self)->device);
            return PyBool_FromLong((bits & usm_aspect_bit((usm_aspect)i, true)) != 0);
        }
    }
    PyObject *names = all_aspects();
    if (names != NULL) {
        usmpy_error_format(PyExc_ValueError, "aspect is %.60R; one of %U is allowed", name, names);
        Py_DECREF(names);
    }
    return NULL;
}
