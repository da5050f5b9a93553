/* Allocations: creation, release and its thread, and waits for the work on them. */
#include "check.h"
#include "support.h"

#include "core/base/fault.h"
#include "core/memory/blocks.h"
#include "core/memory/pool.h"

#include <stdlib.h>

static void sizes_and_alignment(void)
{
    static const size_t sizes[] = {1, 63, 64, 65, 4095, 4096, 5000, 1 << 20, (1 << 20) + 1, 5 << 20};
    usm_error error;
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            usm_alloc *alloc;
            CHECK_OK(usm_alloc_create(host_place(), kind, sizes[i], false, &alloc, &error));
            CHECK_EQ((uintptr_t)alloc->pointer % (sizes[i] >= 4096 ? 256 : 64), 0);
            CHECK(alloc->size >= sizes[i]);
            CHECK_EQ(alloc->kind, kind);
            CHECK(usm_alloc_is_clean(alloc));
            memset(alloc->pointer, 1, sizes[i]);
            usm_alloc_release(alloc);
        }
    }
}

static void no_bytes(void)
{
    live before = live_now();
    usm_alloc *alloc = new_alloc(0);
    CHECK(alloc->pointer == NULL && alloc->size == 0);
    CHECK_EQ(usm_live_count(USM_LIVE_ALLOC), before.counts[USM_LIVE_ALLOC] + 1);
    usm_alloc_release(alloc);
}

static void small_blocks_are_used_again(void)
{
    usm_alloc *alloc = new_alloc(1000);
    void *pointer = alloc->pointer;
    usm_alloc_release(alloc);
    long calls = 0;
    usm_fault_arm("memory_allocate", 0);
    for (int i = 0; i < 10; i++) {
        alloc = new_alloc(990);
        CHECK_EQ((intptr_t)alloc->pointer, (intptr_t)pointer);
        usm_alloc_release(alloc);
        calls = usm_fault_calls("memory_allocate");
    }
    CHECK_EQ(calls, 0);
}

/* Large blocks come as zeros from the system; what comes from the pool is never said to hold zeros. */
static void zeros(void)
{
    usm_error error;
    usm_alloc *alloc;
    CHECK_OK(usm_alloc_create(host_place(), USM_DEVICE, 8 << 20, true, &alloc, &error));
    CHECK((alloc->flags & USM_ALLOC_ZEROED) != 0);
    for (size_t i = 0; i < 8 << 20; i += 4096) {
        CHECK_EQ(((char *)alloc->pointer)[i], 0);
    }
    usm_alloc_release(alloc);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(usm_alloc_create(host_place(), USM_DEVICE, 64, true, &alloc, &error));
        memset(alloc->pointer, 1, 64);
        CHECK(i == 0 || (alloc->flags & USM_ALLOC_ZEROED) == 0);
        usm_alloc_release(alloc);
    }
}

static void too_much(void)
{
    usm_error error;
    usm_alloc *alloc;
    CHECK_EQ(usm_alloc_create(host_place(), USM_DEVICE, SIZE_MAX, false, &alloc, &error), USM_MEMORY);
    CHECK_EQ(usm_alloc_create(host_place(), USM_DEVICE, SIZE_MAX / 2, false, &alloc, &error), USM_MEMORY);
    CHECK(strstr(error.text, "device memory") != NULL);
}

static int deleted;

static void count_deletion(void *owner)
{
    CHECK_EQ((intptr_t)owner, (intptr_t)&deleted);
    deleted++;
}

static usm_alloc *import(void *pointer, size_t nbytes)
{
    usm_error error;
    usm_alloc *alloc;
    deleted = 0;
    CHECK_OK(
        usm_alloc_import(host_place(), USM_HOST, pointer, nbytes, &deleted, count_deletion, &alloc, &error));
    return alloc;
}

static void foreign_memory(void)
{
    char memory[100];
    usm_alloc *alloc = import(memory, sizeof memory);
    CHECK((alloc->flags & USM_ALLOC_FOREIGN) != 0 && alloc->pointer == memory);
    usm_alloc_retain(alloc);
    usm_alloc_release(alloc);
    CHECK_EQ(deleted, 0);
    usm_alloc_release(alloc);
    CHECK_EQ(deleted, 1);

    usm_error error;
    CHECK_OK(usm_alloc_import(host_place(), USM_HOST, memory, 1, NULL, NULL, &alloc, &error));
    usm_alloc_release(alloc);

    /* On failure the owner stays with the caller. */
    CHECK(usm_fault_arm("heap", 1));
    deleted = 0;
    CHECK_EQ(usm_alloc_import(host_place(), USM_HOST, memory, 1, &deleted, count_deletion, &alloc, &error),
             USM_MEMORY);
    CHECK_EQ(deleted, 0);
}

/* A task keeps its memory however early the caller drops it, and the deleter runs on no worker. */
static void a_task_keeps_its_memory(void)
{
    char memory[100];
    gate gate = GATE_CLOSED;
    usm_queue *queue = new_queue(true);
    usm_alloc *alloc = import(memory, sizeof memory);
    usm_event *event = submit_access(queue, task_gate, &gate, alloc, USM_READ_WRITE);
    usm_alloc_release(alloc);
    gate_await(&gate, 1);
    CHECK_EQ(deleted, 0);
    gate_open(&gate);
    expect_end(event, USM_EVENT_COMPLETE);
    CHECK(usm_deferred_waiting());
    CHECK_EQ(deleted, 0);
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(deleted, 1);
    usm_queue_release(queue);
}

/* Whoever waited for a task finds its memory free already. */
static void memory_is_free_when_the_task_has_ended(void)
{
    usm_queue *queue = new_queue(true);
    for (int i = 0; i < 2000; i++) {
        int64_t allocs = usm_live_count(USM_LIVE_ALLOC);
        _Atomic int ran = 0;
        usm_alloc *alloc = new_alloc(3000);
        usm_event *event = submit_access(queue, task_count, &ran, alloc, USM_WRITE);
        usm_alloc_release(alloc);
        expect_end(event, USM_EVENT_COMPLETE);
        CHECK_EQ(usm_live_count(USM_LIVE_ALLOC), allocs);
    }
    usm_queue_release(queue);
}

static void waiting_for_readers_and_writers(void)
{
    usm_error error;
    gate reading = GATE_CLOSED, writing = GATE_CLOSED;
    usm_queue *queue = new_queue(false);
    usm_alloc *alloc = new_alloc(100);
    CHECK_EQ(wait_alloc(alloc, USM_READ_WRITE), USM_OK);

    usm_event *reader = submit_access(queue, task_gate, &reading, alloc, USM_READ);
    CHECK(usm_alloc_is_busy(alloc));
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK); /* readers do not meet */
    CHECK_EQ(usm_alloc_wait(alloc, USM_WRITE, true,
                            &(const usm_patience){usm_clock_ns() + 20000000, NULL, NULL}, &error),
             USM_TIMEOUT);
    gate_open(&reading);
    CHECK_EQ(wait_alloc(alloc, USM_WRITE), USM_OK);
    CHECK(!usm_alloc_is_busy(alloc));

    usm_event *writer = submit_access(queue, task_gate, &writing, alloc, USM_WRITE);
    CHECK_EQ(usm_alloc_wait(alloc, USM_READ, true,
                            &(const usm_patience){usm_clock_ns() + 20000000, NULL, NULL}, &error),
             USM_TIMEOUT);
    CHECK_EQ(usm_alloc_wait(alloc, USM_WRITE, true, &(const usm_patience){0, NULL, NULL}, &error),
             USM_TIMEOUT);
    gate_open(&writing);
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
    usm_alloc_release(alloc);
    expect_end(reader, USM_EVENT_COMPLETE);
    expect_end(writer, USM_EVENT_COMPLETE);
    usm_queue_release(queue);
}

/* A borrow that has ended is refused by tasks and by waits. */
static void ended_borrows(void)
{
    char memory[16];
    usm_queue *queue = new_queue(true);
    usm_alloc *alloc = import(memory, sizeof memory);
    atomic_fetch_or(&alloc->flags, USM_ALLOC_ENDED);
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_VALUE);
    const usm_command command = {.kind = USM_COMMAND_FILL,
                                 .as.fill = {.dst = memory, .nbytes = 16, .pattern_size = 1}};
    const usm_access access = {alloc, USM_WRITE};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    usm_error error;
    usm_event *event;
    CHECK_EQ(usm_queue_submit(queue, &submission, &event, &error), USM_VALUE);
    CHECK(strstr(error.text, "borrow has ended") != NULL);
    usm_alloc_release(alloc);
    usm_queue_release(queue);
}

/* The last allocation of a context that everybody else has left takes the context and its pools along. */
static void the_last_allocation_drops_its_context(void)
{
    live before = live_now();
    usm_error error;
    usm_device *device = host_device();
    usm_context *context;
    usm_place *place;
    usm_alloc *a, *b;
    CHECK_OK(usm_context_create(&device, 1, &context, &error));
    CHECK_OK(usm_context_place(context, device, &place, &error));
    CHECK_OK(usm_alloc_create(place, USM_SHARED, 100, false, &a, &error));
    CHECK_OK(usm_alloc_create(place, USM_SHARED, 100, false, &b, &error));
    usm_context_release(context);
    usm_alloc_release(a);
    CHECK_EQ(usm_live_count(USM_LIVE_CONTEXT), before.counts[USM_LIVE_CONTEXT] + 1);
    usm_alloc_release(b);
}

/* Every byte that was asked for is found, and no byte behind it, while blocks come and go. */
static void *blocks_come_and_go(void *argument)
{
    enum { MANY = 200 };
    static const size_t sizes[] = {1, 12, 64, 65, 1000, 4096, 100000, 33u << 20};
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    usm_alloc *allocs[MANY] = {NULL};
    for (long round = 0; round < scaled(4000); round++) {
        CHECK_STEP(round, seed);
        usm_alloc **at = &allocs[random_below(&seed, MANY)];
        usm_error error;
        usm_block block;
        if (*at != NULL) {
            size_t nbytes = (*at)->nbytes, offset = random_below(&seed, nbytes);
            CHECK(usm_blocks_find((char *)(*at)->pointer + offset, &block));
            CHECK(block.base == (*at)->pointer && block.nbytes == nbytes);
            CHECK(block.place == host_place() && block.kind == (usm_kind)(*at)->kind);
            usm_alloc_release(*at);
            *at = NULL;
            continue;
        }
        size_t nbytes = sizes[random_below(&seed, round % 16 == 0 ? 8 : 7)];
        CHECK_OK(usm_alloc_create(host_place(), (usm_kind)random_below(&seed, USM_KINDS), nbytes, false, at,
                                  &error));
        if (!usm_blocks_find((char *)(*at)->pointer + nbytes, &block) || block.base != (*at)->pointer) {
            continue; /* the end of its block, too */
        }
        CHECK(nbytes < (*at)->size && block.nbytes == nbytes);
    }
    for (int i = 0; i < MANY; i++) {
        if (allocs[i] != NULL) {
            usm_alloc_release(allocs[i]);
        }
    }
    return NULL;
}

static void whose_memory_an_address_is(void)
{
    usm_block block;
    char local;
    usm_alloc *alloc = new_alloc(12);
    char *pointer = alloc->pointer;
    CHECK(usm_blocks_find(pointer + 11, &block) && block.nbytes == 12);
    CHECK(usm_blocks_find(pointer + 12, &block) && block.base == pointer); /* rounded up by the pool */
    CHECK(!usm_blocks_find(&local, &block) && !usm_blocks_find(NULL, &block));
    CHECK(!usm_blocks_find((void *)UINTPTR_MAX, &block));
    usm_alloc_release(alloc);
    CHECK(!usm_blocks_find(pointer, &block) || block.nbytes == 0); /* the pool's */
    in_threads(4, blocks_come_and_go, (void *)1, 1);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(sizes_and_alignment);
    RUN_SETTLED(no_bytes);
    RUN_SETTLED(small_blocks_are_used_again);
    RUN_SETTLED(zeros);
    RUN_SETTLED(whose_memory_an_address_is);
    RUN_SETTLED(too_much);
    RUN_SETTLED(foreign_memory);
    RUN_SETTLED(a_task_keeps_its_memory);
    RUN_SETTLED(memory_is_free_when_the_task_has_ended);
    RUN_SETTLED(waiting_for_readers_and_writers);
    RUN_SETTLED(ended_borrows);
    RUN_SETTLED(the_last_allocation_drops_its_context);
    return 0;
}
