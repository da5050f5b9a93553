#include "arrow.h"

#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/base/readable.h"
#include "core/device/backend.h"
#include "core/streams/lend.h"

#include <stdio.h>
#include <string.h>

#define NULLABLE 2 /* ARROW_FLAG_NULLABLE, which consumers set on their own types, too */

/* Arrow's booleans are bits; those of one byte are its extension type "arrow.bool8", stored as int8. */
#define EXTENSION "ARROW:extension:name"
#define BOOL8 "arrow.bool8"

/* Format strings of the types that both sides have; bool stands for the storage of BOOL8. */
static const char formats[USM_COMPUTED_DTYPES] = {
    [USM_BOOL] = 'c',   [USM_INT8] = 'c',    [USM_INT16] = 's',   [USM_INT32] = 'i',
    [USM_INT64] = 'l',  [USM_UINT8] = 'C',   [USM_UINT16] = 'S',  [USM_UINT32] = 'I',
    [USM_UINT64] = 'L', [USM_FLOAT16] = 'e', [USM_FLOAT32] = 'f', [USM_FLOAT64] = 'g',
};

/* A level of an exported schema: the part that the structure points to. */
typedef struct schema_node {
    char format[24];
    char metadata[64];
    usm_arrow_schema child, *children[1];
} schema_node;

/* Children that a consumer moved away have no `release` any more. */
static void release_schema(usm_arrow_schema *self)
{
    schema_node *node = self->private_data;
    if (self->n_children > 0 && node->child.release != NULL) {
        node->child.release(&node->child);
    }
    free(node);
    self->release = NULL;
}

/* Adds an int32 and its text, as metadata are encoded (C data interface, ArrowSchema.metadata). */
static char *put_text(char *at, const char *text)
{
    int32_t length = (int32_t)strlen(text);
    memcpy(at, &length, sizeof length);
    memcpy(at + sizeof length, text, (size_t)length);
    return at + sizeof length + length;
}

static void set_extension(schema_node *node, const char *name)
{
    const int32_t pairs = 1;
    memcpy(node->metadata, &pairs, sizeof pairs);
    (void)put_text(put_text(node->metadata + sizeof pairs, EXTENSION), name);
}

static usm_status refuse_export(const usm_view *view, usm_error *error)
{
    const usm_dtype_info *info = &usm_dtype_table[view->dtype];
    if (view->ndim == 0) {
        return usm_error_set(error, USM_BUFFER,
                             "the array has no dimensions, and arrays of Arrow have one; use x.reshape(1)");
    }
    return usm_error_set(error, USM_BUFFER, "Arrow has no type for %s; %s", info->name,
                         info->kind == USM_DTYPE_KIND_COMPLEX ? "use x.real.copy() and x.imag.copy()"
                                                              : "use x.astype('float32')");
}

usm_status usm_arrow_export_schema(const usm_view *view, usm_arrow_schema *out, usm_error *error)
{
    if (view->ndim == 0 || view->dtype >= USM_COMPUTED_DTYPES || formats[view->dtype] == '\0') {
        return refuse_export(view, error);
    }
    *out = (usm_arrow_schema){.release = NULL};
    usm_arrow_schema *at = out;
    for (int i = 1; i <= view->ndim; i++) {
        bool is_list = i < view->ndim;
        bool too_long = is_list && view->shape[i] > INT32_MAX;
        schema_node *node = too_long ? NULL : usm_calloc(1, sizeof *node);
        if (node == NULL) {
            if (out->release != NULL) {
                out->release(out);
            }
            return too_long ? usm_error_set(
                                  error, USM_BUFFER,
                                  "axis %d has length %lld, and lists of Arrow have at most %d elements; use "
                                  "x.reshape(-1)",
                                  i, (long long)view->shape[i], INT32_MAX)
                            : usm_error_memory(error, sizeof *node, "a schema of Arrow");
        }
        if (is_list) {
            snprintf(node->format, sizeof node->format, "+w:%d", (int)view->shape[i]);
        } else {
            node->format[0] = formats[view->dtype];
        }
        if (!is_list && view->dtype == USM_BOOL) {
            set_extension(node, BOOL8);
        }
        node->children[0] = &node->child;
        *at = (usm_arrow_schema){
            .format = node->format,
            .name = i == 1 ? "" : "item",
            .metadata = node->metadata[0] != 0 ? node->metadata : NULL,
            .flags = NULLABLE,
            .n_children = is_list,
            .children = is_list ? node->children : NULL,
            .release = release_schema,
            .private_data = node,
        };
        at = &node->child;
    }
    return USM_OK;
}

/* A level of an exported array. The outermost one has the event. */
typedef struct array_node {
    usm_alloc *alloc; /* one count */
    usm_event *event; /* one count, or NULL */
    void *native;     /* the driver's event, which sync_event points to */
    const void *buffers[2];
    usm_arrow_array child, *children[1];
} array_node;

/*
 * Consumers do not say in which stream they work, so the memory is held until the device has been waited
 * for. Of several levels the one with the elements does that.
 */
static void release_array(usm_arrow_array *self)
{
    array_node *node = self->private_data;
    usm_device *device = node->alloc->place->device;
    if (self->n_children > 0) {
        if (node->child.release != NULL) {
            node->child.release(&node->child);
        }
    } else if (usm_backend_has_streams(device->backend)) {
        usm_alloc_lend_ended(node->alloc, device, NULL, USM_STREAM_NO_ID);
    }
    if (node->event != NULL) {
        usm_event_release(node->event);
    }
    usm_alloc_release(node->alloc);
    free(node);
    usm_live_add(USM_LIVE_EXPORT, -1);
    self->release = NULL;
}

usm_status usm_arrow_export_array(const usm_view *view, usm_event *event, void *native, usm_arrow_array *out,
                                  void ***sync_event, usm_error *error)
{
    int64_t length = 1;
    usm_arrow_array *at = out;
    *out = (usm_arrow_array){.release = NULL};
    for (int i = 0; i < view->ndim; i++) {
        bool is_list = i + 1 < view->ndim;
        array_node *node = usm_calloc(1, sizeof *node);
        if (node == NULL) {
            if (out->release != NULL) {
                out->release(out);
            }
            return usm_error_memory(error, sizeof *node, "an array of Arrow");
        }
        usm_live_add(USM_LIVE_EXPORT, 1);
        usm_alloc_retain(view->alloc);
        node->alloc = view->alloc;
        node->buffers[1] = view->data; /* [0] is the bitmap of what is not null: NULL, since all is */
        node->children[0] = &node->child;
        length *= view->shape[i];
        *at = (usm_arrow_array){
            .length = length,
            .n_buffers = is_list ? 1 : 2,
            .n_children = is_list,
            .buffers = node->buffers,
            .children = is_list ? node->children : NULL,
            .release = release_array,
            .private_data = node,
        };
        if (i == 0 && event != NULL) {
            node->event = usm_event_retain(event);
            node->native = native;
            *sync_event = &node->native;
        }
        at = &node->child;
    }
    return USM_OK;
}

/*
 * The extension type that the metadata name: its length, and *name in them; 0 for none. Metadata are trusted
 * as all structures of a producer are, but for lengths that are negative.
 */
static int32_t find_extension(const char *at, const char **name)
{
    int32_t pairs = 0;
    if (at == NULL) {
        return 0;
    }
    memcpy(&pairs, at, sizeof pairs);
    at += sizeof pairs;
    for (int32_t i = 0; i < pairs; i++) {
        const char *texts[2];
        int32_t lengths[2];
        for (int k = 0; k < 2; k++) {
            memcpy(&lengths[k], at, sizeof lengths[k]);
            if (lengths[k] < 0) {
                return 0;
            }
            texts[k] = at + sizeof lengths[k];
            at = texts[k] + lengths[k];
        }
        if (lengths[0] == (int32_t)strlen(EXTENSION) && memcmp(texts[0], EXTENSION, strlen(EXTENSION)) == 0) {
            *name = texts[1];
            return lengths[1];
        }
    }
    return 0;
}

static usm_status refuse_dictionary(usm_error *error)
{
    return usm_error_set(error, USM_BUFFER,
                         "the Arrow array is encoded with a dictionary; decode it first (pyarrow: "
                         "obj.dictionary_decode())");
}

/* The dtype of the innermost schema. */
static usm_status read_dtype(const usm_arrow_schema *schema, usm_dtype *out, usm_error *error)
{
    const char *name = NULL;
    int32_t length = find_extension(schema->metadata, &name);
    bool is_bool = length == (int32_t)strlen(BOOL8) && memcmp(name, BOOL8, strlen(BOOL8)) == 0 &&
                   strcmp(schema->format, "c") == 0;
    if (schema->dictionary != NULL) {
        return refuse_dictionary(error);
    }
    if (length > 0 && !is_bool) {
        return usm_error_set(
            error, USM_BUFFER,
            "the Arrow array has the extension type '%.*s'; pass its storage (pyarrow: obj.storage)",
            length < 100 ? (int)length : 100, name);
    }
    for (usm_dtype dtype = USM_BOOL; dtype < USM_COMPUTED_DTYPES; dtype++) {
        if ((dtype == USM_BOOL) == is_bool && formats[dtype] != '\0' && schema->format[0] == formats[dtype] &&
            schema->format[1] == '\0') {
            *out = dtype;
            return USM_OK;
        }
    }
    if (strcmp(schema->format, "+s") == 0) {
        return usm_error_set(
            error, USM_BUFFER,
            "the Arrow array is a struct or record batch of %lld columns; pass one column (pyarrow: obj.column(0), or obj.field(0) of a struct)",
            (long long)schema->n_children);
    }
    return usm_error_set(
        error, USM_BUFFER,
        "the Arrow array has the type with format '%.60s'; integers, float16 to float64, bool8 and lists of "
        "fixed size of them are allowed: cast it first (pyarrow: obj.cast('uint8') for bool, obj.cast('int64') "
        "for times)",
        schema->format);
}

/* Counts the zero bits among `n` bits from bit `first` on. */
static int64_t count_nulls(const uint8_t *bits, int64_t first, int64_t n)
{
    int64_t nulls = 0;
    for (int64_t i = first; i < first + n; i++) {
        nulls += (bits[i / 8] >> (i % 8) & 1) == 0;
    }
    return nulls;
}

/* Elements [first, first + n) of a level, counted from its offset. */
static usm_status check_level(const usm_arrow_array *array, int64_t n_buffers, int64_t first, int64_t n,
                              bool on_host, usm_error *error)
{
    int64_t end;
    if (array == NULL || array->release == NULL) {
        return usm_error_set(error, USM_BUFFER,
                             "the Arrow array is released, or another consumer took it; export it again");
    }
    if (array->dictionary != NULL) {
        return refuse_dictionary(error);
    }
    if (array->length < 0 || array->offset < 0 || first + n > array->length ||
        __builtin_add_overflow(array->length, array->offset, &end)) {
        return usm_error_set(error, USM_BUFFER,
                             "the Arrow array has length %lld and offset %lld, but %lld elements are used",
                             (long long)array->length, (long long)array->offset, (long long)(first + n));
    }
    if (array->n_buffers != n_buffers || array->buffers == NULL) {
        return usm_error_set(error, USM_BUFFER, "the Arrow array has %lld buffers; its type needs %lld",
                             (long long)(array->buffers == NULL ? 0 : array->n_buffers),
                             (long long)n_buffers);
    }
    const uint8_t *valid = array->buffers[0];
    int64_t nulls = array->null_count;
    if (nulls != 0 && n > 0 && (valid == NULL || on_host)) { /* -1: the producer has not counted them */
        nulls = valid == NULL ? (nulls < 0 ? 0 : nulls) : count_nulls(valid, array->offset + first, n);
    }
    return nulls == 0 || n == 0
               ? USM_OK
               : usm_error_set(error, USM_BUFFER,
                               "the Arrow array has %s, which arrays here cannot express; fill or drop them "
                               "(pyarrow: obj.fill_null(0), obj.drop_null())",
                               nulls < 0 ? "a bitmap of nulls that nobody has counted" : "nulls");
}

/* The lengths of the axes but the first, from lists of fixed size; *schema becomes that of the elements. */
static usm_status read_shape(const usm_arrow_schema **schema, usm_arrow_layout *out, usm_error *error)
{
    const usm_arrow_schema *at = *schema;
    for (out->ndim = 1;; out->ndim++) {
        if (at == NULL || at->release == NULL || at->format == NULL) {
            return usm_error_set(error, USM_BUFFER, "the Arrow schema is released, or was used before");
        }
        long long length = 0;
        char rest;
        const char *name;
        if (sscanf(at->format, "+w:%lld%c", &length, &rest) != 1 || find_extension(at->metadata, &name) > 0) {
            *schema = at;
            return USM_OK;
        }
        if (length < 0 || length > INT32_MAX || at->n_children != 1 || at->children == NULL ||
            out->ndim == USM_MAX_NDIM) {
            return usm_error_set(error, USM_BUFFER,
                                 "the Arrow schema has a list with format '%.60s' and %lld children at depth "
                                 "%d; lists of fixed size have one, and at most %d dimensions are allowed",
                                 at->format, (long long)at->n_children, out->ndim, USM_MAX_NDIM);
        }
        out->shape[out->ndim] = length;
        at = at->children[0];
    }
}

usm_status usm_arrow_read(const usm_arrow_schema *schema, const usm_arrow_array *array, bool on_host,
                          usm_arrow_layout *out, usm_error *error)
{
    int64_t first = 0, n = 0, end;
    usm_status status = read_shape(&schema, out, error);
    if (status == USM_OK) {
        status = read_dtype(schema, &out->dtype, error);
    }
    for (int i = 0; status == USM_OK && i < out->ndim; i++) {
        bool is_list = i + 1 < out->ndim;
        if (i == 0 && array != NULL) {
            n = out->shape[0] = array->length;
        }
        status = check_level(array, is_list ? 1 : 2, first, n, on_host, error);
        if (status == USM_OK && is_list) {
            if (array->n_children != 1 || array->children == NULL ||
                __builtin_mul_overflow(array->offset + first, out->shape[i + 1], &first) ||
                __builtin_mul_overflow(n, out->shape[i + 1], &n) || __builtin_add_overflow(first, n, &end)) {
                return usm_error_set(error, USM_BUFFER,
                                     "the Arrow array has %lld children, or more elements than any address; "
                                     "a list of fixed size has one child",
                                     (long long)array->n_children);
            }
            array = array->children[0];
        }
    }
    if (status != USM_OK) {
        return status;
    }
    const char *data = array->buffers[1];
    int itemsize = usm_dtype_table[out->dtype].itemsize;
    if (n > 0 && (data == NULL || __builtin_mul_overflow(array->offset + first + n, itemsize, &end))) {
        return usm_error_set(error, USM_BUFFER, "the Arrow array has %lld elements %s", (long long)n,
                             data == NULL ? "and no data buffer" : "beyond any address");
    }
    out->data = n > 0 ? (char *)data + (array->offset + first) * itemsize : NULL;
    return USM_OK;
}

usm_status usm_arrow_follow(usm_queue *queue, usm_alloc *alloc, void *const *sync_event, usm_error *error)
{
    if (!usm_backend_has_streams(queue->backend)) {
        return usm_error_set(
            error, USM_BUFFER,
            "the Arrow array has a sync_event, and backend %s cannot wait for events of other "
            "libraries; wait for it before the exchange",
            queue->backend->name);
    }
    if (!usm_is_readable(sync_event) || *sync_event == NULL) {
        return usm_error_set(error, USM_BUFFER,
                             "the Arrow array has the sync_event %p, which points to no event of the driver",
                             (const void *)sync_event);
    }
    const usm_access access = {alloc, USM_READ_WRITE};
    const usm_command command = {.kind = USM_COMMAND_MARKER, .event = *sync_event};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    return usm_queue_submit(queue, &submission, NULL, error);
}
