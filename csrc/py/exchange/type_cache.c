/*
 * Caches how the arrays of each type are imported. An entry is valid for one version of one type: CPython
 * gives a type a new version tag whenever the type or a base changes, and never reuses a tag. So an entry
 * neither outlives a change nor serves another type at the same address, and needs no reference.
 */
#include "dlpack.h"
#include "py/lock.h"

#include "core/base/heap.h"

#include <string.h>

#define SLOTS 64 /* programs exchange arrays of a handful of types */

typedef struct slot {
#ifdef Py_GIL_DISABLED
    /*
     * Odd during a write, and different after each: a reader that sees the same even number before and after
     * has read a consistent entry. Writers hold the mutex.
     */
    uint32_t sequence;
#endif
    uint32_t tag;
    PyTypeObject *type; /* no reference: compared, never followed */
    usmpy_type_entry entry;
} slot;

struct usmpy_type_cache {
    pthread_mutex_t writers; /* no Python code runs under it */
    slot slots[SLOTS];
};

usmpy_type_cache *usmpy_type_cache_create(void)
{
    usmpy_type_cache *cache = usm_calloc(1, sizeof *cache);
    if (cache != NULL) {
        pthread_mutex_init(&cache->writers, NULL);
    }
    return cache;
}

void usmpy_type_cache_destroy(usmpy_type_cache *cache)
{
    if (cache != NULL) {
        pthread_mutex_destroy(&cache->writers);
        free(cache);
    }
}

static uint32_t version_tag(PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030D0000
    if ((type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0) {
        return 0;
    }
#endif
    return (uint32_t)__atomic_load_n(&type->tp_version_tag, __ATOMIC_ACQUIRE);
}

static slot *slot_of(usmpy_type_cache *cache, PyTypeObject *type)
{
    uintptr_t bits = (uintptr_t)type >> 4;
    return &cache->slots[(bits ^ (bits >> 6)) % SLOTS];
}

#ifdef Py_GIL_DISABLED
/* Copies by words, since a reader and a writer may copy the same entry at once. */
static void copy_entry(usmpy_type_entry *to, const usmpy_type_entry *from)
{
    _Static_assert(sizeof *to % sizeof(uintptr_t) == 0, "an entry consists of words");
    for (size_t i = 0; i < sizeof *to / sizeof(uintptr_t); i++) {
        uintptr_t word = __atomic_load_n((const uintptr_t *)from + i, __ATOMIC_RELAXED);
        __atomic_store_n((uintptr_t *)to + i, word, __ATOMIC_RELAXED);
    }
}

static const usmpy_type_entry *read_slot(slot *slot, PyTypeObject *type, uint32_t tag, usmpy_type_entry *room)
{
    uint32_t before = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
    bool match = __atomic_load_n(&slot->type, __ATOMIC_RELAXED) == type &&
                 __atomic_load_n(&slot->tag, __ATOMIC_RELAXED) == tag && tag != 0;
    copy_entry(room, &slot->entry);
    atomic_thread_fence(memory_order_acquire);
    bool whole = before % 2 == 0 && __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == before;
    return match && whole ? room : NULL;
}

static void write_slot(usmpy_type_cache *cache, PyTypeObject *type, uint32_t tag,
                       const usmpy_type_entry *entry)
{
    slot *slot = slot_of(cache, type);
    pthread_mutex_lock(&cache->writers);
    uint32_t sequence = slot->sequence;
    __atomic_store_n(&slot->sequence, sequence + 1, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release);
    __atomic_store_n(&slot->type, type, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->tag, tag, __ATOMIC_RELAXED);
    copy_entry(&slot->entry, entry);
    __atomic_store_n(&slot->sequence, sequence + 2, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&cache->writers);
}
#else
static const usmpy_type_entry *read_slot(slot *slot, PyTypeObject *type, uint32_t tag, usmpy_type_entry *room)
{
    (void)room;
    return slot->type == type && slot->tag == tag && tag != 0 ? &slot->entry : NULL;
}

static void write_slot(usmpy_type_cache *cache, PyTypeObject *type, uint32_t tag,
                       const usmpy_type_entry *entry)
{
    slot *slot = slot_of(cache, type);
    slot->type = type;
    slot->tag = tag;
    slot->entry = *entry;
}
#endif

/*
 * The method resolution order, as a new reference: a lookup (through __eq__ of a key) or a thread may change
 * the type.
 */
static PyObject *mro_of(PyTypeObject *type)
{
#ifdef Py_GIL_DISABLED
    PyObject *mro = PyObject_GetAttrString((PyObject *)type, "__mro__"); /* takes the lock of types */
    if (mro != NULL && !PyTuple_Check(mro)) {
        Py_CLEAR(mro);
    }
    return mro;
#else
    return Py_XNewRef(type->tp_mro);
#endif
}

/*
 * The position in the method resolution order at which a name is defined; -1 for none, -2 with an exception.
 * *value is a new reference.
 */
static Py_ssize_t find_in_mro(PyTypeObject *type, PyObject *name, PyObject **value)
{
    *value = NULL;
    PyObject *mro = mro_of(type);
    if (mro == NULL) {
        return PyErr_Occurred() ? -2 : -1;
    }
    Py_ssize_t found = -1;
    for (Py_ssize_t i = 0; found == -1 && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *class = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
#if PY_VERSION_HEX >= 0x030C0000
        PyObject *dict = PyType_GetDict(class);
#else
        PyObject *dict = Py_XNewRef(class->tp_dict);
#endif
        if (dict == NULL) {
            continue;
        }
        *value = usmpy_dict_get(dict, name);
        Py_DECREF(dict);
        if (*value != NULL) {
            found = i;
        } else if (PyErr_Occurred()) {
            found = -2;
        }
    }
    Py_DECREF(mro);
    return found;
}

/* The table of a capsule, if it has the right name, the major version 1 and the required functions. */
static const DLPackExchangeAPI *usable_table(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
        return NULL; /* another object, or None, by which a subclass opts out */
    }
    const DLPackExchangeAPI *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (api != NULL && api->header.version.major != 1) {
        api = (const DLPackExchangeAPI *)api->header.prev_api;
    }
    if (api == NULL || api->managed_tensor_from_py_object_no_sync == NULL ||
        api->current_work_stream == NULL) {
        return NULL;
    }
    return api;
}

/* Whether the type or a base defines the name: 1, 0, or -1 with an exception. */
static int defines(PyTypeObject *type, PyObject *name)
{
    PyObject *value;
    Py_ssize_t at = find_in_mro(type, name, &value);
    Py_XDECREF(value);
    return at == -2 ? -1 : at >= 0;
}

/* The getter of requires_grad, if it is compiled and needs no closure. 0 or -1. */
static int find_grad(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *entry)
{
    PyObject *value;
    if (find_in_mro(type, state->names[USMPY_requires_grad], &value) == -2) {
        return -1;
    }
    entry->has_grad = value != NULL;
#ifndef Py_GIL_DISABLED
    if (value != NULL && Py_IS_TYPE(value, &PyGetSetDescr_Type) &&
        ((PyGetSetDescrObject *)value)->d_getset->closure == NULL) {
        entry->requires_grad = ((PyGetSetDescrObject *)value)->d_getset->get;
    }
#endif
    Py_XDECREF(value);
    return 0;
}

/*
 * How the type exports: by its table, unless a class overrides __dlpack__ after the table was inherited. 0 or
 * -1 with an exception.
 */
static int find_route(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *entry, bool *compiled)
{
    PyObject *table, *method = NULL;
    Py_ssize_t table_at = find_in_mro(type, state->names[USMPY___dlpack_c_exchange_api__], &table);
    Py_ssize_t method_at = table_at == -2 ? -2 : find_in_mro(type, state->names[USMPY___dlpack__], &method);
    if (method != NULL && method != Py_None) { /* None: a class opts out */
        entry->route = USMPY_ROUTE_VERSIONED;
#ifndef Py_GIL_DISABLED
        if (PyType_HasFeature(Py_TYPE(method), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
            entry->method = method;
        }
#endif
    }
    if (table != NULL && (method_at < 0 || table_at <= method_at)) {
        entry->api = usable_table(table);
        entry->route = entry->api != NULL ? USMPY_ROUTE_TABLE : entry->route;
    }
    *compiled = method != NULL && !PyFunction_Check(method);
    Py_XDECREF(table);
    Py_XDECREF(method);
    return table_at == -2 || method_at == -2 ? -1 : 0;
}

/* By the names of its bases, since NumPy may not be loaded. Proxies define __class__. 0 or -1. */
static int find_numpy(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *entry)
{
    PyObject *mro = mro_of(type), *value = NULL;
    Py_ssize_t at = find_in_mro(type, state->names[USMPY___class__], &value);
    Py_XDECREF(value);
    if (mro != NULL && at >= 0 && at < PyTuple_GET_SIZE(mro) - 1) {
        entry->numpy = USMPY_NUMPY_DERIVED;
    }
    for (Py_ssize_t i = 0; mro != NULL && i < PyTuple_GET_SIZE(mro); i++) {
        const char *name = ((PyTypeObject *)PyTuple_GET_ITEM(mro, i))->tp_name;
        if (strcmp(name, "numpy.generic") == 0) {
            entry->numpy = USMPY_NUMPY_SCALAR;
        } else if (i > 0 && strcmp(name, "numpy.ndarray") == 0) {
            entry->numpy = USMPY_NUMPY_DERIVED;
        }
    }
    Py_XDECREF(mro);
    return PyErr_Occurred() ? -1 : 0;
}

static int look_up(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *entry)
{
    bool compiled;
    *entry = (usmpy_type_entry){.route = USMPY_ROUTE_NONE};
    if (find_route(state, type, entry, &compiled) < 0 || find_numpy(state, type, entry) < 0) {
        return -1;
    }
    int lazy = 0;
    if (entry->route == USMPY_ROUTE_TABLE &&
        ((lazy = defines(type, state->names[USMPY_is_conj])) < 0 || find_grad(state, type, entry) < 0)) {
        return -1;
    }
    int sycl = defines(type, state->names[USMPY___sycl_usm_array_interface__]);
    int cuda = sycl < 0 ? -1 : defines(type, state->names[USMPY___cuda_array_interface__]);
    if (cuda < 0) {
        return -1;
    }
    entry->lazy = lazy > 0;
    entry->sycl = sycl > 0 && entry->route == USMPY_ROUTE_VERSIONED;
    entry->reads_stream = cuda > 0 && compiled && entry->route == USMPY_ROUTE_VERSIONED;
    entry->stream_of = entry->reads_stream ? usmpy_find_stream_of(type) : NULL;
    return 0;
}

/* An attribute lookup makes CPython assign the type a version tag, unless its tags are exhausted. */
static uint32_t assign_tag(usmpy_state *state, PyTypeObject *type)
{
    PyObject *method = PyObject_GetAttr((PyObject *)type, state->names[USMPY___dlpack__]);
    if (method == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(method);
    return version_tag(type);
}

const usmpy_type_entry *usmpy_type_lookup(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *room)
{
    const usmpy_type_entry *known =
        read_slot(slot_of(state->type_cache, type), type, version_tag(type), room);
    if (USM_LIKELY(known != NULL)) {
        return known;
    }
    uint32_t tag = assign_tag(state, type);
    if (look_up(state, type, room) < 0) {
        return NULL;
    }
    if (tag != 0 &&
        tag == version_tag(
                   type)) { /* otherwise the type has changed meanwhile: the next import looks it up again */
        write_slot(state->type_cache, type, tag, room);
    } else {
        room->method = NULL;
        room->requires_grad = NULL;
    }
    return room;
}

void usmpy_type_learn(usmpy_state *state, PyTypeObject *type, usmpy_route route, usmpy_where where)
{
    usmpy_type_entry room;
    uint32_t tag = version_tag(type);
    const usmpy_type_entry *known = read_slot(slot_of(state->type_cache, type), type, tag, &room);
    if (known == NULL) {
        return; /* replaced, or changed: the next import looks the type up again */
    }
    usmpy_type_entry entry = *known;
    if (route == USMPY_ROUTE_LEGACY) {
        entry.route = USMPY_ROUTE_LEGACY;
        entry.method = NULL;
        entry.reads_stream = false;
        entry.stream_of = NULL;
    }
    entry.where = where != USMPY_WHERE_UNKNOWN ? where : entry.where;
    write_slot(state->type_cache, type, tag, &entry);
}
