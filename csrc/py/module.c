/* The module usmpy._core: how its state is filled, traversed and cleared. */
#include "module.h"
#include "docstrings.h"

#include "deferred.h"
#include "errors.h"
#include "interpreter.h"
#include "py/arrays/array.h"
#include "py/exchange/c_api.h"
#include "py/exchange/dlpack.h"
#include "py/programs/program.h"
#include "thread.h"
#include "wait.h"

#include "core/base/library.h"
#include "core/start.h"

_Atomic(usmpy_state *) usmpy_main_state;

/* The interpreter's newest module is `state`, or none (NULL). GIL held. */
static void set_newest(usmpy_interpreter *interpreter, usmpy_state *state)
{
    atomic_store_explicit(&interpreter->state, state, memory_order_release);
    if (interpreter->id == 0) {
        atomic_store_explicit(&usmpy_main_state, state, memory_order_release);
    }
}

usmpy_state *usmpy_look_up_state(void)
{
    return atomic_load_explicit(&usmpy_interpreter_here()->state, memory_order_acquire);
}

usmpy_state *usmpy_current_state(void)
{
    usmpy_state *state = usmpy_find_state();
    if (state == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "usmpy was unloaded; import it again");
    }
    return state;
}

int usmpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **slot)
{
    *slot = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    return *slot == NULL ? -1 : PyModule_AddType(module, *slot);
}

PyObject *usmpy_import(const char *module, const char *name)
{
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *attribute = imported == NULL ? NULL : PyObject_GetAttrString(imported, name);
    Py_XDECREF(imported);
    return attribute;
}

PyObject *usmpy_function(usmpy_state *state, const char *module, const char *name)
{
    if (state->functions == NULL) { /* the module was cleared, and an object of it is still used */
        return usmpy_import(module, name);
    }
    PyObject *function = Py_XNewRef(PyDict_GetItemString(state->functions, name));
    if (function == NULL && (function = usmpy_import(module, name)) != NULL &&
        PyDict_SetItemString(state->functions, name, function) < 0) {
        Py_CLEAR(function);
    }
    return function;
}

PyObject *usmpy_call(const char *module, const char *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    PyObject *args = Py_VaBuildValue(format, values);
    va_end(values);
    PyObject *function = args == NULL ? NULL : usmpy_import(module, name);
    PyObject *result = function == NULL ? NULL : PyObject_CallObject(function, args);
    Py_XDECREF(function);
    Py_XDECREF(args);
    return result;
}

static int intern_names(usmpy_state *state)
{
    static const char *const texts[USMPY_NAMES] = {
#define USMPY_NAME(name) #name,
#include "names.inc"
#undef USMPY_NAME
    };
    for (int i = 0; i < USMPY_NAMES; i++) {
        state->names[i] = PyUnicode_InternFromString(texts[i]);
        if (state->names[i] == NULL) {
            return -1;
        }
    }
    PyObject *stream = state->names[USMPY_stream], *max_version = state->names[USMPY_max_version];
    state->consumer_version = Py_BuildValue("(ii)", 1, 3);
    state->consumer_kwnames = PyTuple_Pack(1, max_version);
    state->stream_kwnames = PyTuple_Pack(2, stream, max_version);
    state->stream_kwname = PyTuple_Pack(1, stream);
    state->queue_objects = PyDict_New();
    state->functions = PyDict_New();
    return PyErr_Occurred() ? -1 : 0;
}

/* The exception classes are Python classes, for better tracebacks, pickles and documentation. */
static int import_classes(usmpy_state *state)
{
    const struct {
        const char *name;
        PyObject **slot;
    } classes[] = {
        {"UsmError", &state->usm_error},
        {"BackendUnavailable", &state->backend_unavailable},
        {"DeviceNotFound", &state->device_not_found},
        {"BuildError", &state->build_error},
        {"ExecutionPlacementError", &state->placement_error},
        {"AxisError", &state->axis_error},
    };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        *classes[i].slot = usmpy_import("usmpy.errors", classes[i].name);
        if (*classes[i].slot == NULL) {
            return -1;
        }
    }
    return 0;
}

static int add_types(PyObject *module, usmpy_state *state)
{
    const struct {
        PyType_Spec *spec;
        PyTypeObject **slot;
        bool is_immutable;
    } types[] = {
#define USMPY_TYPE(name, immutable) {&usmpy_##name##_spec, &state->name##_type, immutable},
#include "state.inc"
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        PyTypeObject *base = types[i].is_immutable ? state->immutable_type : NULL;
        if (usmpy_add_type(module, types[i].spec, base, types[i].slot) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_functions(PyObject *module)
{
#define TABLE(name) usmpy_##name##_functions,
    PyMethodDef *const tables[] = {
        USMPY_FUNCTION_TABLES(TABLE)
#ifdef USM_TESTING
            usmpy_testing_functions,
#endif
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (PyModule_AddFunctions(module, tables[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* __all__: the public names of the stub. */
static int add_names(PyObject *module)
{
    static const char *const names[] = {USMPY_PUBLIC_NAMES};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < sizeof names / sizeof names[0]; i++) {
        usmpy_append(&list, PyUnicode_InternFromString(names[i]));
    }
    int result = list == NULL ? -1 : PyModule_AddObjectRef(module, "__all__", list);
    Py_XDECREF(list);
    return result;
}

/*
 * Packages from PyPI install drivers into <prefix>/lib: of the environment, and of each folder that packages
 * are imported from, such as the user's own (<prefix>/lib/python3.x/site-packages).
 */
static void add_prefixes(void)
{
    PyObject *prefix = PySys_GetObject("prefix"), *path = PySys_GetObject("path"); /* borrowed */
    const char *text = prefix != NULL && PyUnicode_Check(prefix) ? PyUnicode_AsUTF8(prefix) : NULL;
    if (text != NULL) {
        usm_library_add_prefix(text, strlen(text));
    }
    for (Py_ssize_t i = 0; path != NULL && PyList_Check(path) && i < PyList_GET_SIZE(path); i++) {
        PyObject *entry = PyList_GET_ITEM(path, i);
        text = PyUnicode_Check(entry) ? PyUnicode_AsUTF8(entry) : NULL;
        const char *end = text != NULL ? strrchr(text, '/') : NULL;
        if (end == NULL || (strcmp(end, "/site-packages") != 0 && strcmp(end, "/dist-packages") != 0)) {
            continue;
        }
        for (int up = 0; up < 2 && end > text; up++) { /* python3.x, and lib or lib64 */
            while (--end > text && *end != '/') {
            }
        }
        usm_library_add_prefix(text, (size_t)(end - text));
    }
    PyErr_Clear(); /* dlopen could not take a name that is not UTF-8 from here */
}

/* What all interpreters share. */
static void start_process(void)
{
    usm_core_start();
    usmpy_thread_start();
    usmpy_wait_start();
    usmpy_builtin_store_start();
    usmpy_memory_start();
    usmpy_errors_start();
}

static int exec(PyObject *module)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    usmpy_state *state = usmpy_state_of_module(module);
    state->module = module;
    pthread_once(&once, start_process);
    state->interpreter = usmpy_interpreter_enter();
    if (state->interpreter == NULL) {
        return -1;
    }
    add_prefixes();
    state->type_cache = usmpy_type_cache_create();
    if (state->type_cache == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (intern_names(state) < 0 || import_classes(state) < 0 || add_types(module, state) < 0 ||
        usmpy_dtype_add_objects(module, state) < 0 || usmpy_array_add_exchange_api(state) < 0 ||
        usmpy_inspection_add_types(module, state) < 0 || add_functions(module) < 0 || add_names(module) < 0 ||
        usmpy_add_c_api(module) < 0 || usmpy_deferred_start(module) < 0) {
        return -1;
    }
    set_newest(state->interpreter, state);
    return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    usmpy_state *state = usmpy_state_of_module(module);
#define USMPY_TYPE(name, immutable) Py_VISIT(state->name##_type);
#define USMPY_OTHER_TYPE(name) Py_VISIT(state->name);
#define USMPY_OBJECT(name) Py_VISIT(state->name);
#include "state.inc"
    for (int i = 0; i < USM_DTYPES; i++) {
        Py_VISIT(state->dtypes[i]);
        Py_VISIT(atomic_load_explicit(&state->limits[i], memory_order_relaxed));
    }
    for (int i = 0; i < USMPY_DEVICE_QUEUES; i++) {
        Py_VISIT(state->device_queues[i]);
    }
    return 0; /* the names are strings, which are in no cycle */
}

static void drop_spares(usmpy_state *state)
{
    while (state->n_spare_arrays > 0) {
        PyObject_Free(state->spare_arrays[--state->n_spare_arrays]);
    }
    while (state->n_spare_events > 0) {
        PyObject_GC_Del(state->spare_events[--state->n_spare_events]);
    }
    while (state->n_spare_bound > 0) {
        PyObject_GC_Del(state->spare_bound[--state->n_spare_bound]);
    }
}

void usmpy_drop_kept(usmpy_state *state)
{
    Py_XDECREF(__atomic_exchange_n(&state->host_queue, NULL, __ATOMIC_ACQ_REL));
    Py_XDECREF(__atomic_exchange_n(&state->default_queue, NULL, __ATOMIC_ACQ_REL));
    for (int i = 0; i < USMPY_DEVICE_QUEUES; i++) {
        Py_XDECREF(__atomic_exchange_n(&state->device_queues[i], NULL, __ATOMIC_ACQ_REL));
    }
    for (int i = 0; i < USM_DTYPES; i++) {
        Py_XDECREF(atomic_exchange(&state->limits[i], NULL));
    }
    if (state->queue_objects != NULL) {
        PyDict_Clear(state->queue_objects);
    }
}

static int clear(PyObject *module)
{
    usmpy_state *state = usmpy_state_of_module(module);
    if (state->interpreter != NULL && atomic_load(&state->interpreter->state) == state) {
        set_newest(state->interpreter, NULL);
    }
    usmpy_drop_kept(state);
#define USMPY_TYPE(name, immutable) Py_CLEAR(state->name##_type);
#define USMPY_OTHER_TYPE(name) Py_CLEAR(state->name);
#define USMPY_OBJECT(name) Py_CLEAR(state->name);
#include "state.inc"
    for (int i = 0; i < USM_DTYPES; i++) {
        Py_CLEAR(state->dtypes[i]);
    }
    for (int i = 0; i < USMPY_NAMES; i++) {
        Py_CLEAR(state->names[i]);
    }
    drop_spares(state);
    return 0;
}

static void free_module(void *module)
{
    usmpy_state *state = usmpy_state_of_module(module);
    if (state != NULL) {
        clear(module);
        usmpy_type_cache_destroy(state->type_cache);
        state->type_cache = NULL;
    }
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "usmpy._core",
    .m_doc = "The C part of usmpy.",
    .m_size = sizeof(usmpy_state),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__core(void)
{
#if PY_VERSION_HEX < 0x030C0000
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        return PyErr_Format(PyExc_ImportError,
                            "usmpy supports sub-interpreters from CPython 3.12 on, and this is CPython 3.%d: "
                            "import usmpy in the main interpreter, or use a later CPython",
                            PY_MINOR_VERSION);
    }
#endif
    return PyModuleDef_Init(&module_def);
}
