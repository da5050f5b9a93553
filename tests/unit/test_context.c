/* Backends, devices, contexts, and the one queue that the process keeps for each pair. */
#include "check.h"
#include "support.h"

#include "core/base/fault.h"
#include "core/device/registry.h"
#include "core/exchange/native.h"

#include <stdlib.h>

static void backends(void)
{
    CHECK_EQ(usm_backend_index("nosuch", 6), -1);
    CHECK_EQ(usm_backend_index("hos", 3), -1);
    for (int i = 0; i < USM_N_BACKENDS; i++) {
        const usm_backend_report *report = usm_backend_start(i);
        CHECK_EQ(usm_backend_index(report->name, strlen(report->name)), i);
        CHECK((report->absent == NULL) == (report->n_devices > 0));
        CHECK(report->absent == NULL || !report->broken);
        CHECK_EQ((intptr_t)usm_backend_start(i), (intptr_t)report);
    }
}

static void the_host_device(void)
{
    usm_device *device = host_device();
    char text[USM_DEVICE_TEXT];
    CHECK(strcmp(usm_device_text(device, text, sizeof text), "host:cpu:0") == 0);
    CHECK(device->info.max_compute_units >= 1);
    CHECK(device->info.name[0] != '\0' && device->info.global_mem_size > 0);
    CHECK_EQ((intptr_t)usm_device_from_dlpack(device->info.dlpack_type, device->info.dlpack_id, NULL),
             (intptr_t)device);
    CHECK(usm_device_from_dlpack(device->info.dlpack_type, 7, NULL) == NULL);
    CHECK(usm_device_from_dlpack(99, 0, NULL) == NULL);
    CHECK_EQ((intptr_t)usm_device_root(device), (intptr_t)device);
}

static void partitions(void)
{
    usm_error error;
    usm_device *device = host_device(), **parts, **again;
    size_t n, n_again;
    uint32_t units = device->info.max_compute_units;
    CHECK_EQ(usm_device_partition(device, 0, &parts, &n, &error), USM_VALUE);
    CHECK_EQ(usm_device_partition(device, units + 1, &parts, &n, &error), USM_VALUE);
    CHECK_OK(usm_device_partition(device, 1, &parts, &n, &error));
    CHECK_EQ(n, units);
    CHECK_OK(usm_device_partition(device, 1, &again, &n_again, &error));
    CHECK_EQ(n_again, n);
    char text[USM_DEVICE_TEXT], wanted[USM_DEVICE_TEXT];
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ((intptr_t)again[i], (intptr_t)parts[i]); /* one object a piece of hardware */
        CHECK_EQ(parts[i]->first_unit, i);
        CHECK_EQ(parts[i]->info.max_compute_units, 1);
        CHECK(parts[i]->parent == device && usm_device_root(parts[i]) == device);
        snprintf(wanted, sizeof wanted, "host:cpu:0.%zu@1", i);
        CHECK(strcmp(usm_device_text(parts[i], text, sizeof text), wanted) == 0);
    }
    free(again);
    /* Partitions of another size, and of a partition, are other devices. */
    CHECK_OK(usm_device_partition(device, units, &again, &n_again, &error));
    CHECK_EQ(n_again, 1);
    CHECK(units == 1 || again[0] != parts[0]);
    free(again);
    CHECK_OK(usm_device_partition(parts[n - 1], 1, &again, &n_again, &error));
    CHECK(n_again == 1 && again[0] != parts[n - 1] && again[0]->first_unit == n - 1);
    free(again);
    free(parts);
}

static void contexts(void)
{
    usm_error error;
    usm_device *device = host_device(), **parts, *twice[] = {device, device};
    usm_context *context, *other, *standard, *same;
    size_t n;
    CHECK_EQ(usm_context_create(NULL, 0, &context, &error), USM_VALUE);
    CHECK_EQ(usm_context_create(twice, 2, &context, &error), USM_VALUE);
    CHECK_OK(usm_context_create(&device, 1, &context, &error));
    CHECK_OK(usm_context_create(&device, 1, &other, &error));
    CHECK(context != other);
    CHECK_OK(usm_device_partition(device, 1, &parts, &n, &error));
    CHECK_OK(usm_context_default(device, &standard, &error));
    CHECK_OK(usm_context_default(parts[0], &same, &error));
    CHECK(standard == same && standard->is_default && standard != context);

    usm_place *place, *again, *part;
    CHECK_OK(usm_context_place(context, device, &place, &error));
    CHECK_OK(usm_context_place(context, device, &again, &error));
    CHECK_OK(usm_context_place(context, parts[0], &part, &error));
    CHECK(place == again && part != place && part->device == parts[0]);

    usm_context *narrow;
    CHECK_OK(usm_context_create(parts, 1, &narrow, &error));
    CHECK_EQ(usm_context_place(narrow, device, &place, &error), USM_VALUE);
    CHECK(strstr(error.text, "host:cpu:0") != NULL);
    usm_context_release(narrow);
    usm_context_release(other);
    usm_context_release(context);
    free(parts);
}

static void the_cached_queue_of_a_default_context(void)
{
    usm_error error;
    usm_queue *a, *b;
    CHECK_OK(usm_place_queue(host_place(), &a, &error));
    usm_queue_release(a);
    CHECK_OK(usm_place_queue(host_place(), &b, &error));
    CHECK_EQ((intptr_t)a, (intptr_t)b);
    CHECK(a->cached && a->in_order && !a->profiling);
    usm_queue_release(b);
}

/* It lives while somebody uses it, and the context with it. */
static void the_cached_queue_of_another_context(void)
{
    usm_error error;
    usm_device *device = host_device();
    usm_context *context;
    usm_place *place;
    usm_queue *a, *b;
    CHECK_OK(usm_context_create(&device, 1, &context, &error));
    CHECK_OK(usm_context_place(context, device, &place, &error));
    CHECK_OK(usm_place_queue(place, &a, &error));
    CHECK_OK(usm_place_queue(place, &b, &error));
    CHECK_EQ((intptr_t)a, (intptr_t)b);
    usm_queue_release(a);
    CHECK_EQ((intptr_t)place->queue, (intptr_t)b);
    usm_queue_release(b);
    CHECK(place->queue == NULL);
    CHECK_OK(usm_place_queue(place, &a, &error));
    usm_context_release(context);
    usm_queue_release(a);
}

#define THREADS 4

static usm_context *raced;

static void *race(void *argument)
{
    usm_error error;
    usm_place *place;
    CHECK_OK(usm_context_place(raced, host_device(), &place, &error));
    for (long i = 0; i < scaled(2000); i++) {
        usm_queue *queue;
        CHECK_OK(usm_place_queue(place, &queue, &error));
        *(usm_queue **)argument = queue;
        usm_queue_release(queue);
    }
    CHECK_OK(usm_place_queue(place, (usm_queue **)argument, &error));
    return NULL;
}

static void threads_agree_on_the_cached_queue(void)
{
    usm_error error;
    usm_device *device = host_device();
    usm_queue *queues[THREADS];
    CHECK_OK(usm_context_create(&device, 1, &raced, &error));
    in_threads(THREADS, race, queues, sizeof queues[0]);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ((intptr_t)queues[i], (intptr_t)queues[0]);
    }
    for (int i = 0; i < THREADS; i++) {
        usm_queue_release(queues[i]);
    }
    usm_context_release(raced);
}

static usm_context freeing;

static void *free_often(void *unused)
{
    (void)unused;
    for (long i = 0; i < scaled(100000); i++) {
        uint64_t before = atomic_load_explicit(&freeing.free_generation, memory_order_acquire);
        usm_context_advance_free_generation(&freeing);
        CHECK(atomic_load_explicit(&freeing.free_generation, memory_order_acquire) > before);
    }
    return NULL;
}

/* A cache that compares the number would trust an address again if it came back to an earlier value. */
static void no_free_is_missed_beside_others(void)
{
    in_threads(THREADS, free_often, NULL, 0);
    CHECK_EQ(atomic_load(&freeing.free_generation), THREADS * scaled(100000));
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(backends);
    RUN_SETTLED(the_host_device);
    RUN_SETTLED(partitions);
    RUN_SETTLED(contexts);
    RUN_SETTLED(the_cached_queue_of_a_default_context);
    RUN_SETTLED(the_cached_queue_of_another_context);
    RUN_SETTLED(threads_agree_on_the_cached_queue);
    RUN_SETTLED(no_free_is_missed_beside_others);
    return 0;
}
