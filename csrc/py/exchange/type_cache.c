/*
 * The cache of producers' types. An entry is valid for one version of one type: CPython gives a type a new
 * version tag whenever it or a base changes, and never reuses a tag, so an entry neither outlives a change
 * nor serves another type at the same address. It needs no reference to the type.
 */
#include "dlpack.h"
#include "py/lock.h"

#include "core/base/heap.h"

#include <string.h>

#define SLOTS 64 /* a program exchanges with a handful of types */

typedef struct slot {
#ifdef Py_GIL_DISABLED
    /*
     * Odd while a writer works, and different after every write: a reader that sees the same even number
     * before and after has read a consistent entry. Writers hold the writers' lock.
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
static const usmpy_type_entry *read_slot(slot *slot, PyTypeObject *type, uint32_t tag, usmpy_type_entry *room)
{
    uint32_t before = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
    bool match = __atomic_load_n(&slot->type, __ATOMIC_RELAXED) == type &&
                 __atomic_load_n(&slot->tag, __ATOMIC_RELAXED) == tag && tag != 0;
    room->api = __atomic_load_n(&slot->entry.api, __ATOMIC_RELAXED);
    room->route = __atomic_load_n(&slot->entry.route, __ATOMIC_RELAXED);
    room->where = __atomic_load_n(&slot->entry.where, __ATOMIC_RELAXED);
    room->lazy = __atomic_load_n(&slot->entry.lazy, __ATOMIC_RELAXED);
    room->has_grad = __atomic_load_n(&slot->entry.has_grad, __ATOMIC_RELAXED);
    room->sycl = __atomic_load_n(&slot->entry.sycl, __ATOMIC_RELAXED);
    room->cuda = __atomic_load_n(&slot->entry.cuda, __ATOMIC_RELAXED);
    room->tells_stream = __atomic_load_n(&slot->entry.tells_stream, __ATOMIC_RELAXED);
    room->stream_of = __atomic_load_n(&slot->entry.stream_of, __ATOMIC_RELAXED);
    room->method = NULL;
    room->requires_grad = NULL;
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
    __atomic_store_n(&slot->entry.api, entry->api, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.route, entry->route, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.where, entry->where, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.lazy, entry->lazy, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.has_grad, entry->has_grad, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.sycl, entry->sycl, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.cuda, entry->cuda, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.tells_stream, entry->tells_stream, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->entry.stream_of, entry->stream_of, __ATOMIC_RELAXED);
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

/* A tuple of classes: new reference, since a lookup (a key's __eq__) or a thread may change the type. */
static PyObject *mro_of(PyTypeObject *type)
{
#ifdef Py_GIL_DISABLED
    PyObject *mro = PyObject_GetAttrString((PyObject *)type, "__mro__"); /* under the types' lock */
    if (mro != NULL && !PyTuple_Check(mro)) {
        Py_CLEAR(mro);
    }
    return mro;
#else
    return Py_XNewRef(type->tp_mro);
#endif
}

/* Where in the type's method resolution order a name is defined: -1 nowhere, -2 exception. *value is new. */
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

/* DLPack 1.3, DLPackExchangeAPI: the capsule's name, the major version, and pointers that must be there. */
static const DLPackExchangeAPI *usable_table(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
        return NULL; /* another name, or None, by which a subclass opts out */
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

static int look_up(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *entry)
{
    PyObject *table, *method, *other;
    *entry = (usmpy_type_entry){.route = USMPY_ROUTE_NONE};
    Py_ssize_t table_at = find_in_mro(type, state->exchange_api, &table);
    Py_ssize_t method_at = table_at == -2 ? -2 : find_in_mro(type, state->dlpack, &method);
    if (method_at == -2) {
        Py_XDECREF(table);
        return -1;
    }
    if (method != NULL) {
        entry->route = USMPY_ROUTE_VERSIONED;
#ifndef Py_GIL_DISABLED
        if (PyType_HasFeature(Py_TYPE(method), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
            entry->method = method;
        }
#endif
    }
    /* A class that overrides __dlpack__ after the table was inherited must be asked through its method. */
    if (table != NULL && (method_at < 0 || table_at <= method_at)) {
        entry->api = usable_table(table);
        if (entry->api != NULL) {
            entry->route = USMPY_ROUTE_TABLE;
        }
    }
    bool compiled = method != NULL && !PyFunction_Check(method);
    Py_XDECREF(table);
    Py_XDECREF(method);
    if (entry->route == USMPY_ROUTE_TABLE) {
        if (find_in_mro(type, state->names[USMPY_is_conj], &other) == -2) {
            return -1;
        }
        entry->lazy = other != NULL;
        Py_XDECREF(other);
        if (find_in_mro(type, state->names[USMPY_requires_grad], &other) == -2) {
            return -1;
        }
        entry->has_grad = other != NULL;
#ifndef Py_GIL_DISABLED
        if (other != NULL && Py_IS_TYPE(other, &PyGetSetDescr_Type) &&
            ((PyGetSetDescrObject *)other)->d_getset->closure == NULL) {
            entry->requires_grad = ((PyGetSetDescrObject *)other)->d_getset->get;
        }
#endif
        Py_XDECREF(other);
    }
    if (find_in_mro(type, state->sycl_interface, &other) == -2) {
        return -1;
    }
    entry->sycl = other != NULL && entry->route == USMPY_ROUTE_VERSIONED;
    Py_XDECREF(other);
    if (find_in_mro(type, state->names[USMPY___cuda_array_interface__], &other) == -2) {
        return -1;
    }
    entry->cuda = other != NULL;
    entry->tells_stream = entry->cuda && compiled && entry->route == USMPY_ROUTE_VERSIONED;
    if (entry->tells_stream) {
        entry->stream_of = usmpy_find_stream_of(type);
    }
    Py_XDECREF(other);
    return 0;
}

/* An attribute lookup makes CPython assign the type a version tag, unless its tags are exhausted. */
static uint32_t assign_tag(usmpy_state *state, PyTypeObject *type)
{
    PyObject *method = PyObject_GetAttr((PyObject *)type, state->dlpack);
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
    if (tag != 0 && tag == version_tag(type)) { /* else it was changed meanwhile: look again next time */
        write_slot(state->type_cache, type, tag, room);
    } else {
        room->method = NULL;
        room->requires_grad = NULL;
    }
    return room;
}

/* The cached entry of the type, to be updated; false if there is none. */
static bool known_entry(usmpy_state *state, PyTypeObject *type, uint32_t *tag, usmpy_type_entry *entry)
{
    usmpy_type_entry room;
    *tag = version_tag(type);
    const usmpy_type_entry *known = read_slot(slot_of(state->type_cache, type), type, *tag, &room);
    if (known != NULL) {
        *entry = *known;
    }
    return known != NULL;
}

void usmpy_type_is_legacy(usmpy_state *state, PyTypeObject *type)
{
    usmpy_type_entry entry = {.route = USMPY_ROUTE_NONE};
    uint32_t tag;
    known_entry(state, type, &tag, &entry);
    if (tag != 0) {
        entry.route = USMPY_ROUTE_LEGACY;
        entry.method = NULL;
        entry.tells_stream = false;
        entry.stream_of = NULL;
        write_slot(state->type_cache, type, tag, &entry);
    }
}

void usmpy_type_is_where(usmpy_state *state, PyTypeObject *type, usmpy_where where)
{
    usmpy_type_entry entry;
    uint32_t tag;
    if (known_entry(state, type, &tag, &entry)) {
        entry.where = where;
        write_slot(state->type_cache, type, tag, &entry);
    }
}
