/* Failures on demand, in builds for tests alone (USMPY_TESTING=1). */
#ifdef USM_TESTING
#include "deferred.h"

#include "../core/fault.h"
#include "../core/live.h"

#include <string.h>

/* Python's own allocators, which fail the n-th call while `left` is above 0. */
static struct {
    PyMemAllocatorEx original[2];
    _Atomic long left, calls;
    bool installed;
} memory;

static bool memory_fails(void)
{
    atomic_fetch_add(&memory.calls, 1);
    long left = atomic_load(&memory.left);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&memory.left, &left, left - 1)) {
            return left == 1;
        }
    }
    return false;
}

static void *hook_malloc(void *ctx, size_t size)
{
    PyMemAllocatorEx *original = ctx;
    return memory_fails() ? NULL : original->malloc(original->ctx, size);
}

static void *hook_calloc(void *ctx, size_t count, size_t size)
{
    PyMemAllocatorEx *original = ctx;
    return memory_fails() ? NULL : original->calloc(original->ctx, count, size);
}

static void *hook_realloc(void *ctx, void *pointer, size_t size)
{
    PyMemAllocatorEx *original = ctx;
    return memory_fails() ? NULL : original->realloc(original->ctx, pointer, size);
}

static void hook_free(void *ctx, void *pointer)
{
    PyMemAllocatorEx *original = ctx;
    original->free(original->ctx, pointer);
}

static void install_hooks(void)
{
    static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
    for (int i = 0; i < 2 && !memory.installed; i++) {
        PyMem_GetAllocator(domains[i], &memory.original[i]);
        PyMemAllocatorEx hooks = {&memory.original[i], hook_malloc, hook_calloc, hook_realloc, hook_free};
        PyMem_SetAllocator(domains[i], &hooks);
    }
    memory.installed = true;
}

static PyObject *fault(PyObject *module, PyObject *args)
{
    (void)module;
    const char *entry;
    long n;
    if (!PyArg_ParseTuple(args, "sl:_fault", &entry, &n)) {
        return NULL;
    }
    if (strcmp(entry, "python") == 0) {
        install_hooks();
        atomic_store(&memory.calls, 0);
        atomic_store(&memory.left, n);
        Py_RETURN_NONE;
    }
    if (!usm_fault_arm(entry, n)) {
        return PyErr_Format(PyExc_ValueError, "no fault named '%s'", entry);
    }
    Py_RETURN_NONE;
}

static PyObject *fault_calls(PyObject *module, PyObject *entry)
{
    (void)module;
    const char *name = PyUnicode_AsUTF8(entry);
    if (name == NULL) {
        return NULL;
    }
    return PyLong_FromLong(strcmp(name, "python") == 0 ? atomic_load(&memory.calls) : usm_fault_calls(name));
}

static PyObject *fault_entries(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = Py_BuildValue("[s]", "python");
    for (int i = 0; list != NULL && usm_fault_entries[i] != NULL; i++) {
        PyObject *name = PyUnicode_FromString(usm_fault_entries[i]);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}

/* {"events": 0, ...}: live core objects, for tests. */
static PyObject *live_counts(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    usmpy_deferred_poll();
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < USM_LIVE_KINDS; i++) {
        PyObject *count = PyLong_FromLongLong(usm_live_count((usm_live_kind)i));
        if (count == NULL || PyDict_SetItemString(dict, usm_live_name((usm_live_kind)i), count) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(count);
    }
    return dict;
}

PyMethodDef usmpy_testing_functions[] = {
    {"_live_counts", live_counts, METH_NOARGS, NULL},
    {"_fault", fault, METH_VARARGS, NULL},
    {"_fault_calls", fault_calls, METH_O, NULL},
    {"_fault_entries", fault_entries, METH_NOARGS, NULL},
    {0},
};
#else
typedef int usmpy_no_testing; /* an empty translation unit is not C */
#endif
