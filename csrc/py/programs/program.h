/* Program, and the functions that build it. */
#ifndef USMPY_PROGRAM_H
#define USMPY_PROGRAM_H

#include "launch.h"

typedef struct usmpy_program {
    PyObject_HEAD
    usm_program *program; /* one count; NULL until it is built */
    PyObject *queue;      /* of its place */
    PyObject *language;   /* str */
    PyObject *options;    /* str */
    PyObject *source;     /* str or bytes, for pickles */
    PyObject *kernels;    /* dict of the Kernels that were requested */
    PyObject *weakrefs;
    bool check; /* its kernels take the record of a launch after their parameters (checked.c) */
} usmpy_program;

/*
 * The index of a language by its name, for the functions below; None and NULL: the portable one. -1 with
 * TypeError, or with a ValueError that lists the languages of the backend's devices.
 */
int usmpy_parse_language(PyObject *language, const usm_backend *backend);
const char *usmpy_language_name(int language);

/* Builds self->program, or loads it. self has its queue, language and options. 0, or -1 with an exception. */
int usmpy_build_program(usmpy_state *state, usmpy_program *self, int language, PyObject *source);

/* Once a process: built-in programs are then kept in the cache on disk. */
void usmpy_builtin_store_start(void);

/* The built program for language 'native', under a mark with its hash. New reference, or NULL. */
PyObject *usmpy_program_bytes(usmpy_state *state, usmpy_program *self);

#endif
