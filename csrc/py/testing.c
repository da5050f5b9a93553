/* Injected failures, counts and plans for tests, in builds with USMPY_TESTING=1. */
#ifdef USM_TESTING
#include "args.h"
#include "deferred.h"
#include "objects/objects.h"

#include "core/base/fault.h"
#include "core/base/live.h"
#include "core/base/reclaimer.h"
#include "core/builtin/kernel_source.h"
#include "core/builtin/kernels.h"
#include "core/tasks/unretrieved.h"

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

static PyObject *fault(PyObject *Py_UNUSED(module), PyObject *args)
{
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

static PyObject *fault_calls(PyObject *Py_UNUSED(module), PyObject *entry)
{
    const char *name = PyUnicode_AsUTF8(entry);
    if (name == NULL) {
        return NULL;
    }
    return PyLong_FromLong(strcmp(name, "python") == 0 ? atomic_load(&memory.calls) : usm_fault_calls(name));
}

static PyObject *fault_entries(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *list = Py_BuildValue("[s]", "python");
    for (int i = 0; list != NULL && usm_fault_entries[i] != NULL; i++) {
        usmpy_append(&list, PyUnicode_FromString(usm_fault_entries[i]));
    }
    return list;
}

static PyObject *forget_reports(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    usm_unretrieved_forget_reports();
    Py_RETURN_NONE;
}

/* {"events": 0, ...}: live core objects, for tests. */
static PyObject *live_counts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    usmpy_deferred_poll();
    USMPY_WITHOUT_GIL(usm_reclaimer_settle());
    usmpy_deferred_poll();
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < USM_LIVE_KINDS; i++) {
        usm_live_kind kind = (usm_live_kind)i;
        usmpy_put(&dict, usm_live_name(kind), PyLong_FromLongLong(usm_live_count(kind)));
    }
    return dict;
}

/* The device kernels in the extension: {name: bytes} for each usm_kernel_form. */
static PyObject *kernel_sources(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *forms = PyList_New(0);
    for (int form = 0; forms != NULL && form < USM_KERNEL_FORMS; form++) {
        PyObject *dict = PyDict_New();
        for (size_t i = 0; dict != NULL && i < usm_kernel_sources[form].n; i++) {
            const usm_kernel_source *source = &usm_kernel_sources[form].first[i];
            usmpy_put(&dict, source->name, PyBytes_FromStringAndSize(source->data, (Py_ssize_t)source->size));
        }
        usmpy_append(&forms, dict);
    }
    return forms;
}

/* (device, type, shared type, host type): gives it these DLPack types, and returns those that it had. */
static PyObject *set_dlpack_types(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object;
    int types[3];
    if (!PyArg_ParseTuple(args, "Oiii:_set_dlpack_types", &object, &types[0], &types[1], &types[2])) {
        return NULL;
    }
    usm_device_info *info = &((usmpy_device *)object)->device->info;
    PyObject *before =
        Py_BuildValue("(iii)", info->dlpack_type, info->dlpack_shared_type, info->dlpack_host_type);
    info->dlpack_type = types[0];
    info->dlpack_shared_type = types[1];
    info->dlpack_host_type = types[2];
    return before;
}

/* Copies a tuple of ints to `numbers`: its length, or -1 with an exception. */
static int get_numbers(PyObject *tuple, int64_t *numbers)
{
    Py_ssize_t n = PyTuple_Size(tuple);
    if (n > USM_MAX_NDIM) {
        PyErr_SetString(PyExc_ValueError, "too many axes");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        numbers[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    }
    return PyErr_Occurred() ? -1 : (int)n;
}

static PyObject *launch_as_tuple(const usm_kernel_launch *launch, const usm_kernel_device *device)
{
    usm_kernel_range range;
    usm_kernel_range_over(launch->n, launch->transposes, device, &range);
    const size_t *global = range.global, *local = range.local;
    return Py_BuildValue("KKy#(nnn)(nnn)", (unsigned long long)(uintptr_t)launch->dst,
                         (unsigned long long)(uintptr_t)launch->src, (const char *)&launch->axes,
                         (Py_ssize_t)sizeof launch->axes, global[0], global[1], global[2], local[0], local[1],
                         local[2]);
}

/*
 * Arguments: (dst, src, dst dtype, src dtype, shape, dst strides, src strides, serial, units, group), with
 * addresses, names and strides in elements. Returns (size, unaligned, [(dst, src, axes, global, local)]) as
 * in kernels.h.
 */
static PyObject *kernel_launches(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long dst, src;
    const char *dst_name, *src_name;
    PyObject *shape, *dst_strides, *src_strides;
    int serial;
    unsigned units, group;
    if (!PyArg_ParseTuple(args, "KKssO!O!O!pII:_kernel_launches", &dst, &src, &dst_name, &src_name,
                          &PyTuple_Type, &shape, &PyTuple_Type, &dst_strides, &PyTuple_Type, &src_strides,
                          &serial, &units, &group)) {
        return NULL;
    }
    int64_t numbers[3][USM_MAX_NDIM];
    int ndim = get_numbers(shape, numbers[0]);
    if (ndim < 0 || get_numbers(dst_strides, numbers[1]) != ndim ||
        get_numbers(src_strides, numbers[2]) != ndim) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the lengths differ");
    }
    const usm_view to = {
        NULL,      (char *)(uintptr_t)dst, usm_dtype_from_name(dst_name, strlen(dst_name)), ndim, numbers[0],
        numbers[1]};
    const usm_view from = {
        NULL,      (char *)(uintptr_t)src, usm_dtype_from_name(src_name, strlen(src_name)), ndim, numbers[0],
        numbers[2]};
    if (to.dtype == USM_NO_DTYPE || from.dtype == USM_NO_DTYPE) {
        return PyErr_Format(PyExc_ValueError, "no such dtype");
    }
    const usm_kernel_device device = {serial != 0, units, group};
    usm_plan copy;
    usm_kernel_plan plan;
    usm_copy_plan(&copy, &to, &from);
    usm_kernel_plan_strided(&plan, &copy.strided);
    PyObject *launches = PyList_New(0);
    for (int64_t i = 0; launches != NULL && i < plan.launches; i++) {
        usm_kernel_launch launch;
        usm_kernel_plan_launch(&plan, i, &launch);
        usmpy_append(&launches, launch_as_tuple(&launch, &device));
    }
    return Py_BuildValue("iNN", plan.size, PyBool_FromLong(plan.unaligned), launches);
}

PyMethodDef usmpy_testing_functions[] = {
    {"_live_counts", live_counts, METH_NOARGS, NULL},
    {"_fault", fault, METH_VARARGS, NULL},
    {"_forget_reports", forget_reports, METH_NOARGS, NULL},
    {"_fault_calls", fault_calls, METH_O, NULL},
    {"_fault_entries", fault_entries, METH_NOARGS, NULL},
    {"_kernel_sources", kernel_sources, METH_NOARGS, NULL},
    {"_set_dlpack_types", set_dlpack_types, METH_VARARGS, NULL},
    {"_kernel_launches", kernel_launches, METH_VARARGS, NULL},
    {0},
};
#else
typedef int usmpy_no_testing; /* an empty translation unit is not C */
#endif
