/* Addresses: handed out in rising order, so that what was freed is not used again soon. */
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include "sim.h"

typedef struct sim_span {
    uintptr_t at;
    size_t size;
} sim_span;

typedef struct sim_arena {
    uintptr_t start;
    size_t size;
    ptrdiff_t shadow; /* to what the driver reads and writes */
    sim_span *free;   /* sorted, none touches the next */
    size_t n, room;
    uintptr_t cursor; /* where the last one ended */
} sim_arena;

/* With `hidden`, the addresses that users see hold nothing: touching them ends the process. */
void sim_arena_start(sim_arena *arena, size_t size, bool hidden);
/* 0: no room. */
uintptr_t sim_arena_take(sim_arena *arena, size_t size);
void sim_arena_give(sim_arena *arena, uintptr_t at, size_t size);

#endif
