/* The pool's size classes, its limit, and that no block is ever handed out twice. */
#include "check.h"
#include "support.h"

#include "core/device/rule.h"
#include "core/memory/blocks.h"
#include "core/memory/pool.h"
#include "core/memory/reclaim.h"

#include <stdlib.h>

static void classes(void)
{
    size_t previous_block = 0;
    int previous_class = -1;
    size_t block_of_class[256] = {0};
    for (size_t n = 1; n <= USM_POOL_LARGEST; n += n < 70000 ? 1 : 61) {
        size_t block = 0;
        uint8_t class = usm_pool_class(n, &block);
        CHECK(class != USM_NOT_POOLED);
        CHECK(block >= n);
        CHECK(block == 64 || block <= n + n / 4);
        CHECK(block >= previous_block && (int)class >= previous_class);
        CHECK(block_of_class[class] == 0 || block_of_class[class] == block);
        /* What memory_allocate promises for a block must hold for what was asked for. */
        CHECK(n < 4096 || block >= 4096);
        block_of_class[class] = block;
        previous_block = block;
        previous_class = class;
        size_t again;
        CHECK_EQ(usm_pool_class(block, &again), class);
        CHECK_EQ(again, block);
    }
    size_t block;
    CHECK(usm_pool_class(USM_POOL_LARGEST, &block) != USM_NOT_POOLED);
    CHECK_EQ(block, USM_POOL_LARGEST);
    CHECK_EQ(usm_pool_class(USM_POOL_LARGEST + 1, &block), USM_NOT_POOLED);
    CHECK_EQ(block, USM_POOL_LARGEST + 1);
    CHECK_EQ(usm_pool_class(SIZE_MAX, &block), USM_NOT_POOLED);
    CHECK_EQ(block, SIZE_MAX);
}

/* A spare block as the allocation code makes it. */
static usm_alloc *spare(size_t nbytes)
{
    usm_alloc *alloc = calloc(1, sizeof *alloc);
    usm_error error;
    bool zeroed;
    size_t block;
    alloc->size_class = usm_pool_class(nbytes, &block);
    alloc->size = block;
    alloc->place = host_place();
    alloc->kind = USM_DEVICE;
    usm_context *context = host_place()->context;
    CHECK_OK(USM_CALL(context->backend, memory_allocate)(host_place(), USM_DEVICE, block, &alloc->pointer,
                                                         &zeroed, &error));
    usm_blocks_add(alloc);
    return alloc;
}

static bool push(usm_pool *pool, usm_alloc *alloc)
{
    usm_alloc *evicted;
    bool kept = usm_pool_push(pool, alloc, &evicted);
    for (usm_alloc *next; evicted != NULL; evicted = next) {
        next = evicted->link.next_free;
        usm_reclaim_block(evicted);
        free(evicted);
    }
    return kept;
}

static void destroy(usm_pool *pool)
{
    if (pool != NULL) {
        usm_reclaim_pool(pool);
    }
    usm_pool_destroy(pool);
}

static void free_spare(usm_alloc *alloc)
{
    usm_context *context = host_place()->context;
    usm_blocks_remove(alloc);
    USM_CALL(context->backend, memory_free)(host_place(), USM_DEVICE, alloc->pointer, alloc->size);
    free(alloc);
}

static void last_in_first_out(void)
{
    usm_pool *pool = usm_pool_create();
    usm_alloc *a = spare(100), *b = spare(100), *c = spare(5000);
    CHECK(usm_pool_pop(pool, a->size_class) == NULL);
    CHECK(push(pool, a) && push(pool, b) && push(pool, c));
    CHECK_EQ(usm_pool_look(pool).spare, a->size + b->size + c->size);
    CHECK_EQ((intptr_t)usm_pool_pop(pool, a->size_class), (intptr_t)b);
    CHECK_EQ((intptr_t)usm_pool_pop(pool, a->size_class), (intptr_t)a);
    CHECK(usm_pool_pop(pool, a->size_class) == NULL);
    CHECK_EQ(usm_pool_look(pool).spare, c->size);
    CHECK(push(pool, a));
    size_t both = a->size + c->size;
    CHECK_EQ(usm_reclaim_pool(pool), both);
    CHECK_EQ(usm_pool_look(pool).spare, 0);
    CHECK(push(pool, b));
    destroy(pool);
    destroy(NULL);
}

static void the_limit(void)
{
    usm_pool *pool = usm_pool_create();
    size_t pushed = 0;
    for (;;) {
        usm_alloc *alloc = spare(USM_POOL_LARGEST);
        if (!push(pool, alloc)) {
            free_spare(alloc);
            break;
        }
        pushed += USM_POOL_LARGEST;
        CHECK_EQ(usm_pool_look(pool).spare, pushed);
    }
    CHECK_EQ(pushed, USM_POOL_LIMIT);
    for (size_t kept = 0; kept < USM_POOL_SMALL_LIMIT - USM_POOL_LIMIT; kept += USM_POOL_SMALL) {
        CHECK(push(pool, spare(USM_POOL_SMALL)));
    }
    usm_alloc *last = spare(64);
    CHECK(!push(pool, last));
    free_spare(last);
    size_t block;
    free_spare(usm_pool_pop(pool, usm_pool_class(USM_POOL_LARGEST, &block)));
    usm_alloc *small = spare(64);
    CHECK(push(pool, small)); /* there is room again */
    destroy(pool);
}

/* A loop's block comes and goes; the other block too where `other`. How often the pool had none. */
static int misses(usm_pool *pool, size_t nbytes, size_t other, int rounds)
{
    size_t sizes[] = {nbytes, other}, block;
    int missed = 0;
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < (other > 0 ? 2 : 1); k++) {
            usm_alloc *alloc = usm_pool_pop(pool, usm_pool_class(sizes[k], &block));
            missed += alloc == NULL;
            alloc = alloc != NULL ? alloc : spare(sizes[k]);
            if (!push(pool, alloc)) {
                free_spare(alloc);
            }
        }
    }
    return missed;
}

/* What an earlier part of a program left gives way to what is asked for now, and to no more than that. */
static void what_is_left_over_gives_way(void)
{
    usm_pool *pool = usm_pool_create();
    size_t large = USM_POOL_LARGEST / 2, now = USM_POOL_LARGEST / 4;
    for (size_t kept = 0; kept < USM_POOL_LIMIT; kept += large) {
        CHECK(push(pool, spare(large)));
    }
    CHECK(misses(pool, now, 0, 100) < 12);
    CHECK_EQ(usm_pool_look(pool).spare, USM_POOL_LIMIT - large + now);
    CHECK_EQ(misses(pool, now, 0, 100), 0);
    CHECK_EQ(misses(pool, now, large, 100), 0);
    CHECK_EQ(misses(pool, now, 64, 100), 1); /* the first small one */
    usm_reclaim_pool(pool);

    /* Blocks that are in use as often as those that find no room stay. */
    for (size_t kept = 0; kept < USM_POOL_LIMIT; kept += USM_POOL_LARGEST) {
        CHECK(push(pool, spare(USM_POOL_LARGEST)));
    }
    CHECK_EQ(misses(pool, USM_POOL_LARGEST, large, 100), 100);
    CHECK_EQ(usm_pool_look(pool).spare, USM_POOL_LIMIT);
    destroy(pool);
}

#define THREADS 4

static usm_pool *shared_pool;

/* Each block is written by the thread that holds it: two holders would see each other. */
static void *churn(void *argument)
{
    uint64_t seed = (uint64_t)(intptr_t)argument + 1;
    usm_alloc *held[8] = {NULL};
    for (long i = 0; i < scaled(30000); i++) {
        CHECK_STEP(i, seed);
        size_t slot = random_below(&seed, 8), block;
        if (held[slot] != NULL) {
            CHECK_EQ(*(int64_t *)held[slot]->pointer, (intptr_t)argument);
            if (!push(shared_pool, held[slot])) {
                free_spare(held[slot]);
            }
            held[slot] = NULL;
        } else {
            size_t nbytes = 64 << random_below(&seed, 4);
            held[slot] = usm_pool_pop(shared_pool, usm_pool_class(nbytes, &block));
            if (held[slot] == NULL) {
                held[slot] = spare(nbytes);
            }
            CHECK_EQ(held[slot]->size, block);
            *(int64_t *)held[slot]->pointer = (intptr_t)argument;
        }
        if (random_below(&seed, 5000) == 0) {
            usm_reclaim_pool(shared_pool);
        }
    }
    for (size_t slot = 0; slot < 8; slot++) {
        if (held[slot] != NULL) {
            free_spare(held[slot]);
        }
    }
    return NULL;
}

static void many_threads(void)
{
    shared_pool = usm_pool_create();
    in_threads(THREADS, churn, (void *)1, 1);
    destroy(shared_pool);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(classes);
    RUN_SETTLED(last_in_first_out);
    RUN_SETTLED(the_limit);
    RUN_SETTLED(what_is_left_over_gives_way);
    RUN_SETTLED(many_threads);
    return 0;
}
