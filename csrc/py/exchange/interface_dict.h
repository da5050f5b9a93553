/* The common part of __cuda_array_interface__ and __sycl_usm_array_interface__: dicts with a pointer. */
#ifndef USMPY_INTERFACE_DICT_H
#define USMPY_INTERFACE_DICT_H

#include "native.h"

#define USMPY_INTERFACE_MEMBERS 8

typedef struct usmpy_interface {
    usmpy_name attribute;
    const char *text; /* the attribute, for messages and traces */
    int version;      /* of exports */
    struct {
        usmpy_name name;
        bool required;
    } members[USMPY_INTERFACE_MEMBERS];
} usmpy_interface;

/*
 * The first n members of the object's dict, as new references; NULL for those that it lacks. Their use runs
 * foreign code (__index__, __bool__, __eq__), which may change the dict, so all are taken before one is used.
 * 1; 0 without an exception if the object has no such attribute; -1 with BufferError if it is not a dict or
 * lacks a required member, or with the attribute's exception. *out is only valid after 1.
 */
int usmpy_interface_read(usmpy_state *state, PyObject *object, const usmpy_interface *interface, size_t n,
                         USM_GIVES PyObject **out);
/* Drops the members; a pending exception stays. */
void usmpy_interface_clear(PyObject **members, size_t n);

/*
 * Fills the claim from the members that both interfaces have, but for strides, queue and owner: data (a pair
 * (pointer, read-only)), shape, and typestr (NumPy's, such as "<f4", in native byte order). 0, or -1 with an
 * exception.
 */
int usmpy_interface_parse(const usmpy_interface *interface, PyObject *data, PyObject *shape,
                          PyObject *typestr, usmpy_claim *claim);

/*
 * A new dict with the array's data, shape, strides (times `step`; None if it is C-contiguous), typestr and
 * version. NULL with an exception: AttributeError if NumPy has no type string for the dtype.
 */
PyObject *usmpy_interface_export(usmpy_array *array, const usmpy_interface *interface, int step);

#endif
