/* Calls the SYCL runtime that dpctl has loaded, through exported C++ functions and dpctl's C interface. */
#include "sycl.h"

#include "native.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/keep.h"
#include "py/wait.h"
#include "stream.h"

#include "core/base/library.h"
#include "core/base/sync.h"
#include "core/device/registry.h"

#include <stddef.h>

#define QUEUE "SyclQueueRef"
#define CONTEXT "SyclContextRef"

/* Values of sycl::backend in the binary interface _V1. */
enum { SYCL_OPENCL = 1, SYCL_LEVEL_ZERO = 2 };
/* DPCTL_OPENCL, for any type of device, of dpctl. */
enum { DPCTL_OPENCL_DEVICES = (1 << 18) | ((1 << 6) - 1) };
/* Sizes for a sycl::queue or sycl::context (a shared pointer), and for the empty objects below. */
enum { OBJECT_SIZE = 64, EMPTY_SIZE = 256 };

/*
 * The functions behind sycl::get_native and sycl::make_queue, which every libsycl of the binary interface _V1
 * exports. They construct the returned object at the address in the first argument.
 */
typedef struct sycl_functions {
    uintptr_t (*queue_native)(const void *queue, int32_t *kind);
    uintptr_t (*context_native)(const void *context);
    uintptr_t (*device_native)(const void *device);
    char (*queue_backend)(const void *queue);
    char (*context_backend)(const void *context);
    void *(*make_context)(void *out, uintptr_t handle, const void *handler, int backend, bool keep,
                          const void *devices);
    void *(*make_queue)(void *out, uintptr_t handle, int32_t kind, const void *context, const void *device,
                        bool keep, const void *properties, const void *handler, int backend);
    void *(*allocate)(size_t size); /* operator new: dpctl deletes the object */

    /* dpctl's interface in C (dpctl_sycl_interface.h); found on demand. */
    void *(*list_devices)(int devices);
    size_t (*list_size)(const void *list);
    void *(*list_at)(const void *list, size_t index);
    void (*list_delete)(void *list);
    void (*device_delete)(void *device);
    void (*context_delete)(void *context);
    void (*queue_delete)(void *queue);
} sycl_functions;

#define SYMBOL(field, required, name)                   \
    {                                                   \
        name, offsetof(sycl_functions, field), required \
    }
static const usm_symbol sycl_symbols[] = {
    SYMBOL(queue_native, true, "_ZNK4sycl3_V15queue9getNativeERi"),
    SYMBOL(context_native, true, "_ZNK4sycl3_V17context9getNativeEv"),
    SYMBOL(device_native, true, "_ZNK4sycl3_V16device9getNativeEv"),
    SYMBOL(queue_backend, true, "_ZNK4sycl3_V15queue11get_backendEv"),
    SYMBOL(context_backend, true, "_ZNK4sycl3_V17context11get_backendEv"),
    SYMBOL(
        make_context, false,
        "_ZN4sycl3_V16detail12make_contextEmRKSt8functionIFvNS0_14exception_listEEENS0_7backendEbRKSt6vectorINS0_"
        "6deviceESaISA_EE"),
    SYMBOL(make_queue, false,
           "_ZN4sycl3_V16detail10make_queueEmiRKNS0_7contextEPKNS0_6deviceEbRKNS0_13property_"
           "listERKSt8functionIFvNS0_14exception_listEEENS0_7backendE"),
    SYMBOL(allocate, false, "_Znwm"),
};
static const usm_symbol dpctl_symbols[] = {
    SYMBOL(list_devices, true, "DPCTLDeviceMgr_GetDevices"),
    SYMBOL(list_size, true, "DPCTLDeviceVector_Size"),
    SYMBOL(list_at, true, "DPCTLDeviceVector_GetAt"),
    SYMBOL(list_delete, true, "DPCTLDeviceVector_Delete"),
    SYMBOL(device_delete, true, "DPCTLDevice_Delete"),
    SYMBOL(context_delete, true, "DPCTLContext_Delete"),
    SYMBOL(queue_delete, true, "DPCTLQueue_Delete"),
};

/* Guarded by the registry lock, which fork() handles. */
static bool have_sycl, have_dpctl;
static sycl_functions sycl;

/* Finds the functions among the loaded libraries. 0, or -1 with BufferError. */
static int find_runtime(usmpy_state *state, bool with_dpctl)
{
    usm_error error;
    usm_status status = USM_OK;
    Py_BEGIN_ALLOW_THREADS
        usm_registry_lock();
        if (!have_sycl) {
            status = usm_library_find_loaded("libsycl.so", sycl_symbols,
                                             sizeof sycl_symbols / sizeof sycl_symbols[0], &sycl, &error);
            have_sycl = status == USM_OK;
        }
        if (status == USM_OK && with_dpctl && !have_dpctl) {
            status = usm_library_find_loaded("libDPCTLSyclInterface.so", dpctl_symbols,
                                             sizeof dpctl_symbols / sizeof dpctl_symbols[0], &sycl, &error);
            have_dpctl = status == USM_OK;
        }
        usm_registry_unlock();
    Py_END_ALLOW_THREADS
    return usmpy_check(state, status == USM_OK ? USM_OK : USM_BUFFER, &error);
}

bool usmpy_is_sycl(PyObject *object)
{
    return PyCapsule_IsValid(object, QUEUE) || PyCapsule_IsValid(object, CONTEXT) ||
           (!PyType_Check(object) && PyObject_HasAttrString(object, "_get_capsule"));
}

/* The capsule of an object that may be one: new reference. */
static PyObject *capsule_of(PyObject *object)
{
    PyObject *capsule =
        PyCapsule_CheckExact(object) ? Py_NewRef(object) : PyObject_CallMethod(object, "_get_capsule", NULL);
    if (capsule != NULL && !PyCapsule_IsValid(capsule, QUEUE) && !PyCapsule_IsValid(capsule, CONTEXT)) {
        usmpy_error_format(PyExc_BufferError,
                           "a %.80s gives %.100R; a capsule named '" QUEUE "' or '" CONTEXT "' can be taken",
                           Py_TYPE(object)->tp_name, capsule);
        Py_CLEAR(capsule);
    }
    return capsule;
}

static int ask_native(usmpy_state *state, PyObject *object, PyObject *capsule, usmpy_sycl_object *out)
{
    bool is_queue = PyCapsule_IsValid(capsule, QUEUE);
    const void *pointer = PyCapsule_GetPointer(capsule, is_queue ? QUEUE : CONTEXT);
    int backend = is_queue ? sycl.queue_backend(pointer) : sycl.context_backend(pointer);
    if (backend != SYCL_OPENCL && backend != SYCL_LEVEL_ZERO) {
        return usmpy_refuse(
            PyExc_BufferError,
            "the %.80s is of another backend of SYCL's than opencl and level_zero, whose objects "
            "can be taken",
            Py_TYPE(object)->tp_name);
    }
    out->backend = usmpy_backend_for(
        state, backend == SYCL_OPENCL ? USM_INTERFACE_SYCL_OPENCL : USM_INTERFACE_SYCL_LEVEL_ZERO);
    if (out->backend == NULL) {
        return -1;
    }
    int32_t kind = 0;
    out->what = is_queue ? USM_NATIVE_QUEUE : USM_NATIVE_CONTEXT;
    out->handle = (void *)(is_queue ? sycl.queue_native(pointer, &kind) : sycl.context_native(pointer));
    if (backend == SYCL_LEVEL_ZERO && is_queue && kind == 0) {
        return usmpy_refuse(
            PyExc_BufferError,
            "the %.80s is a ze_command_queue_handle_t, which takes lists of commands; queues that are "
            "immediate lists can be taken (SYCL_UR_USE_LEVEL_ZERO_V2=1)",
            Py_TYPE(object)->tp_name);
    }
    return 0;
}

int usmpy_sycl_native(usmpy_state *state, PyObject *object, usmpy_sycl_object *out)
{
    PyObject *capsule = capsule_of(object);
    int status =
        capsule == NULL || find_runtime(state, false) < 0 ? -1 : ask_native(state, object, capsule, out);
    Py_XDECREF(capsule);
    return status;
}

void usmpy_sycl_release(const usmpy_sycl_object *object)
{
    usm_native_count(object->backend, object->what, object->handle, false);
}

/* A native queue has one usmpy queue. Takes over the keeps. */
static PyObject *adopt_queue(usmpy_state *state, const usmpy_sycl_object *found, usm_keep *keeps)
{
    usm_queue *queue;
    usm_error error;
    usm_status status;
    USMPY_WITHOUT_GIL(status = usm_queue_adopt_once(found->backend, found->handle, keeps, &queue, &error));
    if (status != USM_OK) {
        usmpy_keep_drop(keeps);
        return usmpy_raise(state, status, &error);
    }
    usmpy_deferred_poll();
    return usmpy_queue_wrap(state, queue);
}

static PyObject *adopt_context(usmpy_state *state, const usmpy_sycl_object *found, usm_keep *keeps)
{
    usm_context *context = usmpy_adopt_context(state, found->backend, found->handle, keeps);
    if (context == NULL) {
        return NULL;
    }
    PyObject *queue = usmpy_cached_queue(state, context, context->devices[0]);
    usm_context_release(context);
    return queue;
}

PyObject *usmpy_sycl_queue(usmpy_state *state, PyObject *object)
{
    usmpy_sycl_object found;
    usm_keep *keeps = NULL;
    PyObject *queue = NULL;
    if (usmpy_sycl_native(state, object, &found) < 0) {
        return NULL;
    }
    if (usmpy_keep_object(&keeps, object) == 0) {
        queue = found.what == USM_NATIVE_QUEUE ? adopt_queue(state, &found, keeps)
                                               : adopt_context(state, &found, keeps);
    }
    usmpy_sycl_release(&found);
    return queue;
}

PyObject *usmpy_sycl_owner(usmpy_state *state, const usm_queue *queue)
{
    for (const usm_keep *keep = queue->keeps; keep != NULL; keep = keep->next) {
        PyObject *object = usmpy_keep_get(keep);
        if (object != NULL && !PyCapsule_CheckExact(object) && !Py_IS_TYPE(object, state->queue_type) &&
            usmpy_is_sycl(object)) {
            return object;
        }
    }
    return NULL;
}

/* Deletes the SYCL queue even if a consumer took the capsule, since the consumer copied it. */
static void delete_queue(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    sycl.queue_delete(PyCapsule_GetPointer(capsule, name));
}

/*
 * The SYCL device of a handle, which the caller deletes with device_delete; NULL if SYCL lists none. SYCL
 * would abort the process for a device that it does not know.
 */
static void *find_device(const void *handle)
{
    void *list = sycl.list_devices(DPCTL_OPENCL_DEVICES), *device = NULL;
    for (size_t i = 0, n = list == NULL ? 0 : sycl.list_size(list); i < n && device == NULL; i++) {
        device = sycl.list_at(list, i);
        if (device != NULL && sycl.device_native(device) != (uintptr_t)handle) {
            sycl.device_delete(device);
            device = NULL;
        }
    }
    if (list != NULL) {
        sycl.list_delete(list);
    }
    return device;
}

/* A SYCL queue over the native queue; NULL if memory is exhausted. */
static void *make_queue(usm_queue *queue, const void *device)
{
    static _Alignas(16) const char empty[EMPTY_SIZE]; /* no devices, no properties, no error handler */
    void *context = sycl.allocate(OBJECT_SIZE), *out = sycl.allocate(OBJECT_SIZE);
    void *native_context = usm_native_handle(queue->backend, USM_NATIVE_CONTEXT, queue->context);
    void *native_queue = usm_queue_handle(queue);
    /* SYCL releases this count with its queue. It gets no count of the context, since the queue holds one. */
    usm_native_count(queue->backend, USM_NATIVE_QUEUE, native_queue, true);
    sycl.make_context(context, (uintptr_t)native_context, empty, SYCL_OPENCL, false, empty);
    sycl.make_queue(out, (uintptr_t)native_queue, 0, context, device, false, empty, empty, SYCL_OPENCL);
    sycl.context_delete(context);
    return out;
}

PyObject *usmpy_queue_get_capsule(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usmpy_state *state = usmpy_state_of(self);
    usm_queue *queue = usmpy_queue_of(self);
    void *native;
    if (usmpy_wait_native_queue(state, queue, &native) < 0) { /* make_queue asks for it, too */
        return NULL;
    }
    PyObject *owner = usmpy_sycl_owner(state, queue);
    if (owner != NULL) {
        return PyObject_CallMethod(owner, "_get_capsule", NULL);
    }
    const usm_backend *opencl;
    Py_BEGIN_ALLOW_THREADS /* the first call starts the backend */
        opencl = usm_backend_start_for(USM_INTERFACE_SYCL_OPENCL)->backend;
    Py_END_ALLOW_THREADS
    if (queue->backend != opencl) {
        return PyErr_Format(PyExc_BufferError, "a SYCL queue is made of queues of backend opencl, not of %s",
                            usm_backend_name(queue->backend));
    }
    if (find_runtime(state, true) < 0) {
        return NULL;
    }
#ifdef __x86_64__ /* the ABI passes the address of a returned object as first argument */
    bool usable = sycl.make_context != NULL && sycl.make_queue != NULL && sycl.allocate != NULL;
#else
    bool usable = false;
#endif
    if (!usable) {
        return usmpy_error_format(PyExc_BufferError, "this libsycl.so makes no SYCL queue of a driver's");
    }
    void *device, *made = NULL;
    Py_BEGIN_ALLOW_THREADS
        device = find_device(usm_native_handle(queue->backend, USM_NATIVE_DEVICE, queue->device));
        if (device != NULL) {
            made = make_queue(queue, device);
            sycl.device_delete(device);
        }
    Py_END_ALLOW_THREADS
    if (device == NULL) {
        return PyErr_Format(PyExc_BufferError,
                            "the SYCL runtime of this process does not list %s (%s) among its devices",
                            queue->device->info.name, usm_backend_name(queue->backend));
    }
    PyObject *capsule = PyCapsule_New(made, QUEUE, delete_queue);
    if (capsule == NULL) {
        sycl.queue_delete(made);
    }
    return capsule;
}
