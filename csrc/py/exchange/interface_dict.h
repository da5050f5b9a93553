/* Access to the dicts of __cuda_array_interface__ and __sycl_usm_array_interface__. */
#ifndef USMPY_INTERFACE_DICT_H
#define USMPY_INTERFACE_DICT_H

#include "native.h"

typedef struct usmpy_member {
    usmpy_name name;
    bool required;
} usmpy_member;

/*
 * The dict that object.attribute gives, as a new reference; NULL without an exception where there is no such
 * attribute. `interface` is its name, for messages.
 */
PyObject *usmpy_interface_dict(PyObject *object, PyObject *attribute, const char *interface);

/*
 * n members of the dict, as new references; NULL for missing ones. Their use runs foreign code (__index__,
 * __bool__, __eq__), which may change the dict, so all are taken before one is used. 0, or -1 with
 * BufferError for a missing required member; then all are NULL.
 */
int usmpy_interface_members(usmpy_state *state, PyObject *dict, const char *interface,
                            const usmpy_member *members, size_t n, USM_GIVES PyObject **out);
void usmpy_interface_clear(PyObject **members, size_t n);

/* "data", a pair (pointer, read-only). 0, or -1 with an exception. */
int usmpy_parse_data(PyObject *data, const char *interface, void **address, bool *readonly);
/* A type string of NumPy's, such as "<f4", in this machine's order of bytes. 0, or -1 with BufferError. */
int usmpy_parse_typestr(PyObject *typestr, const char *interface, usm_dtype *dtype);
/* The type string of a dtype: NULL without an exception where NumPy has no such type. */
PyObject *usmpy_typestr(usm_dtype dtype);

#endif
