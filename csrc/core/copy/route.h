/*
 * The route of a copy: its queues, its buffers and its pieces. copy.c executes a route, and route_text.c
 * prints it.
 */
#ifndef USM_CORE_ROUTE_H
#define USM_CORE_ROUTE_H

#include "copy.h"
#include "core/device/backend.h"

/* Pack, to the host, from the host, unpack. */
#define USM_ROUTE_HOPS 4

/* Memory between two hops, which copy.c allocates. */
typedef struct usm_route_buffer {
    usm_place *place; /* alive through the route's queues, or immortal */
    usm_kind kind;
    usm_dtype dtype;
} usm_route_buffer;

/*
 * Hop i is a command of queues[i], from buffer i - 1 (the first: from src) to buffer i (the last: to dst).
 * A cast happens in the one hop whose ends have two types. With more pieces than one there are two of each
 * buffer, used in turn: while one queue empties one of them, the other queue fills the other.
 */
typedef struct usm_route {
    usm_alloc *dst, *src; /* the caller's counts */
    usm_plan axes;        /* the whole copy */
    bool block;           /* elements are contiguous on both sides, and of one type */
    bool overlaps;        /* the buffer is there because both sides share memory */
    bool source_order;    /* buffers have src's strides, of one block; else they are compact in dst's order */
    usm_memory_connection connection; /* src's memory, to the queue that was asked */
    int n_hops;                       /* 0: there is no element */
    usm_queue *queues[USM_ROUTE_HOPS];
    usm_route_buffer buffers[USM_ROUTE_HOPS - 1];
    usm_queue *own[2]; /* one count each, or NULL: queues of the route that are not the caller's */
    /* Pieces: axes before `cut` by single index, that one by `rows`. Repeated axes of src are never cut. */
    int cut;
    int64_t rows, pieces;
} usm_route;

/*
 * Plans dst[...] = src[...], asked for on `queue`, which may or may not reach them; shapes and types are
 * checked. May create the cached queue of a place; enqueues nothing. A route that was planned ends with
 * usm_route_clear.
 */
usm_status usm_route_plan(usm_route *route, usm_queue *queue, const usm_view *dst, const usm_view *src,
                          usm_error *error);
void usm_route_clear(usm_route *route);

/* Bytes of one buffer. */
size_t usm_route_buffer_bytes(const usm_route *route, int buffer);

/*
 * One hop of one piece, 0 <= piece < pieces; buffers hold the pieces' data (NULL: to look at the layout
 * alone).
 */
void usm_route_hop(const usm_route *route, int hop, int64_t piece, char *const *buffers, usm_plan *plan);

/* The route in words, malloc'd; NULL: no memory. No lock. */
char *usm_route_text(const usm_route *route);

#endif
