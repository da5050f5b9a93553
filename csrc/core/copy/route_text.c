/* The plan of a copy in words: what usmpy.explain_copy() returns. */
#include "route.h"

#include "core/builtin/builtin.h"
#include "core/builtin/kernel_command.h"
#include "core/builtin/kernels.h"
#include "core/memory/connection.h"
#include "core/tasks/hazard.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text so far; what does not fit is cut off. */
typedef struct page {
    char text[4096];
    size_t used;
} page;

static void write_text(page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void write_text(page *page, const char *format, ...)
{
    size_t room = sizeof page->text - page->used;
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(page->text + page->used, room, format, arguments);
    va_end(arguments);
    page->used += wrote < 0 ? 0 : (size_t)wrote < room ? (size_t)wrote : room - 1;
}

static void write_size(page *page, int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    write_text(page, unit == 0 ? "%.0f %s" : "%.4g %s", value, units[unit]);
}

static void write_memory(page *page, usm_kind kind, const usm_place *place)
{
    char device[USM_DEVICE_TEXT];
    write_text(page, "%s memory of %s", usm_kind_name(kind),
               usm_device_text(place->device, device, sizeof device));
}

/* One line on an operand: its type, its memory and its strides. */
static void write_side(page *page, const char *name, const usm_alloc *alloc, usm_dtype dtype, int ndim,
                       const int64_t *strides)
{
    char text[200];
    write_text(page, "%s: %s in ", name, usm_dtype_table[dtype].name);
    write_memory(page, (usm_kind)alloc->kind, alloc->place);
    write_text(page, ", strides %s in bytes\n", usm_layout_text(ndim, strides, text, sizeof text));
}

/* The longest stretch of elements that lie side by side on both sides. */
static void write_runs(page *page, const usm_strided *axes)
{
    int last = axes->ndim - 1;
    int dst = usm_dtype_table[axes->dst_dtype].itemsize, src = usm_dtype_table[axes->src_dtype].itemsize;
    bool side_by_side = axes->dst_strides[last] == dst && axes->src_strides[last] == src;
    int64_t length = side_by_side ? axes->shape[last] : 1, n = (int64_t)usm_strided_count(axes) / length;
    write_text(page, "runs: %lld of %lld element%s, ", (long long)n, (long long)length,
               length == 1 ? "" : "s");
    write_size(page, usm_dtype_nbytes(axes->dst_dtype, length));
    write_text(page, " each in dst\n");
}

/* What the queue's backend makes of the command. */
static void write_command(page *page, const usm_queue *queue, const usm_strided *axes)
{
    bool host = queue->backend->builtin_language == USM_LANGUAGE_BUILTIN;
    int ndim = axes->ndim;
    int64_t launches = 1;
    if (usm_strided_is_block(axes)) {
        write_text(page, "%s of ", host ? "memmove" : "driver copy");
        write_size(page, usm_dtype_nbytes(axes->dst_dtype, axes->shape[0]));
        return;
    }
    if (usm_builtin_is_on_host(queue)) {
        write_text(page, "loop");
    } else {
        usm_kernel_plan plan;
        usm_command_plan(queue, axes, &plan);
        ndim = plan.ndim;
        launches = plan.launches;
        if (plan.size > 0) {
            write_text(page, "kernel usm_strided_%d", plan.size);
        } else {
            write_text(page, "kernel usm_cast");
        }
    }
    write_text(page, " over %d ax%s", ndim, ndim == 1 ? "is" : "es");
    if (launches > 1) {
        write_text(page, ", %lld launches", (long long)launches);
    }
    if (axes->dst_dtype != axes->src_dtype) {
        write_text(page, ", cast from %s to %s", usm_dtype_table[axes->src_dtype].name,
                   usm_dtype_table[axes->dst_dtype].name);
    }
}

/* The name of the memory behind hop `buffer`: src, dst or a buffer. */
static void write_node(page *page, const usm_route *route, int buffer)
{
    if (buffer < 0 || buffer == route->n_hops - 1) {
        write_text(page, buffer < 0 ? "src" : "dst");
    } else {
        write_text(page, "buffer %d", buffer);
    }
}

static void write_hops(page *page, const usm_route *route)
{
    for (int i = 0; i + 1 < route->n_hops; i++) {
        write_text(page, "buffer %d: %s", i, route->pieces > 1 ? "2 by turns, each " : "");
        write_size(page, (int64_t)usm_route_buffer_bytes(route, i));
        write_text(page, " of %s in ", usm_dtype_table[route->buffers[i].dtype].name);
        write_memory(page, route->buffers[i].kind, route->buffers[i].place);
        write_text(page, "\n");
    }
    for (int i = 0; i < route->n_hops; i++) {
        char device[USM_DEVICE_TEXT];
        const usm_queue *queue = route->queues[i];
        usm_plan plan;
        usm_route_hop(route, i, 0, NULL, &plan);
        write_text(page, "step %d: ", i + 1);
        write_node(page, route, i - 1);
        write_text(page, " to ");
        write_node(page, route, i);
        write_text(page, ", ");
        write_command(page, queue, &plan.strided);
        write_text(page, ", queue 0x%llx on %s\n", (unsigned long long)(uintptr_t)queue,
                   usm_device_text(queue->device, device, sizeof device));
    }
}

/* What the steps would have to wait for now. */
static void write_order(page *page, const usm_route *route)
{
    const usm_access accesses[] = {{route->dst, USM_WRITE}, {route->src, USM_READ}};
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        usm_wait_list waits;
        (void)usm_hazard_look(accesses[i].alloc, accesses[i].mode, &waits, NULL);
        n[i] = waits.n;
        usm_wait_list_clear(&waits);
    }
    write_text(page, "order: the first step waits for %zu event%s of src, the last for %zu of dst%s; ", n[1],
               n[1] == 1 ? "" : "s", n[0], route->n_hops > 1 ? ", each in between for the one before" : "");
    write_text(page, "no wait on the host\n");
}

/* The kind of route, in a few words. */
static const char *path_of(const usm_route *route)
{
    bool through_host = false;
    for (int i = 0; i + 1 < route->n_hops; i++) {
        through_host |= route->buffers[i].kind == USM_HOST;
    }
    if (route->overlaps) {
        return "through a buffer, since the two overlap";
    }
    if (through_host) {
        return "staged in pinned memory of the host";
    }
    return route->n_hops == 1 ? "direct, one command" : "through memory of the device";
}

char *usm_route_text(const usm_route *route)
{
    page page = {.used = 0};
    if (route->n_hops == 0) {
        return strdup("copy of 0 elements: nothing is done\n");
    }
    const usm_strided *axes = &route->axes.strided;
    char shape[200];
    size_t n = usm_strided_count(axes);
    write_text(&page, "copy of %zu elements, ", n);
    write_size(&page, usm_dtype_nbytes(axes->dst_dtype, (int64_t)n));
    write_text(&page, " in dst; axes merged to %s\n",
               usm_layout_text(axes->ndim, axes->shape, shape, sizeof shape));
    write_side(&page, "dst", route->dst, axes->dst_dtype, axes->ndim, axes->dst_strides);
    write_side(&page, "src", route->src, axes->src_dtype, axes->ndim, axes->src_strides);
    write_text(&page, "connection: %s\npath: %s\npieces: %lld\n", usm_connection_name(route->connection),
               path_of(route), (long long)route->pieces);
    write_runs(&page, axes);
    write_hops(&page, route);
    write_order(&page, route);
    return strdup(page.text);
}
