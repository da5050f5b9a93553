#include "arena.h"

#include <sys/mman.h>

#define GRAIN 512u
#define GUARD 512u /* unused bytes between two allocations */
#define PAGE 4096u

static uintptr_t reserve(size_t size, int protection)
{
    void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        perror("cudasim: mmap");
        abort();
    }
    return (uintptr_t)at;
}

void sim_arena_start(sim_arena *arena, size_t size, bool hidden)
{
    arena->size = size;
    arena->start = reserve(size, hidden ? PROT_NONE : PROT_READ | PROT_WRITE);
    arena->shadow = hidden ? (ptrdiff_t)(reserve(size, PROT_READ | PROT_WRITE) - arena->start) : 0;
    arena->room = 64;
    arena->free = malloc(arena->room * sizeof *arena->free);
    arena->free[0] = (sim_span){arena->start, size};
    arena->n = 1;
    arena->cursor = arena->start;
}

static size_t whole(size_t size)
{
    return (size + GRAIN - 1) / GRAIN * GRAIN + GUARD;
}

/* The first free span that ends behind `at`. */
static size_t span_after(const sim_arena *arena, uintptr_t at)
{
    size_t low = 0, high = arena->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (arena->free[middle].at + arena->free[middle].size <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uintptr_t sim_arena_take(sim_arena *arena, size_t size)
{
    size_t need = whole(size), first = span_after(arena, arena->cursor);
    for (size_t i = 0; i < arena->n; i++) {
        sim_span *span = &arena->free[(first + i) % arena->n];
        if (span->size >= need) {
            uintptr_t at = span->at;
            span->at += need;
            span->size -= need;
            if (span->size == 0) {
                memmove(span, span + 1, (size_t)(arena->free + arena->n - (span + 1)) * sizeof *span);
                arena->n--;
            }
            arena->cursor = at + need;
            return at;
        }
    }
    return 0;
}

/* Pages that lie in free memory alone are given back to the system. */
static void release(const sim_arena *arena, const sim_span *span, uintptr_t at, size_t size)
{
    uintptr_t first = at / PAGE * PAGE, last = (at + size + PAGE - 1) / PAGE * PAGE;
    first += first < span->at ? PAGE : 0;
    last -= last > span->at + span->size ? PAGE : 0;
    if (first < last) {
        madvise((void *)(first + (uintptr_t)arena->shadow), last - first, MADV_DONTNEED);
    }
}

void sim_arena_give(sim_arena *arena, uintptr_t at, size_t size)
{
    size_t i = span_after(arena, at), given = whole(size);
    sim_span *next = i < arena->n ? &arena->free[i] : NULL, *before = i > 0 ? &arena->free[i - 1] : NULL;
    if (before != NULL && before->at + before->size == at) {
        before->size += given;
        if (next != NULL && before->at + before->size == next->at) {
            before->size += next->size;
            memmove(next, next + 1, (arena->n - i - 1) * sizeof *next);
            arena->n--;
        }
        release(arena, before, at, given);
        return;
    }
    if (next != NULL && at + given == next->at) {
        next->at = at;
        next->size += given;
        release(arena, next, at, given);
        return;
    }
    if (arena->n == arena->room) {
        arena->room *= 2;
        arena->free = realloc(arena->free, arena->room * sizeof *arena->free);
    }
    memmove(&arena->free[i + 1], &arena->free[i], (arena->n - i) * sizeof *arena->free);
    arena->free[i] = (sim_span){at, given};
    arena->n++;
    release(arena, &arena->free[i], at, given);
}
