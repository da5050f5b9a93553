/*
 * Another library's streams, and its work in them: that of a program on CUDA's driver. Other backends have no
 * streams, and there are none then.
 */
#ifndef USM_TESTS_STREAMS_H
#define USM_TESTS_STREAMS_H

#include "support.h"

/* Once, before the threads start: makes the streams that any_stream() chooses from. */
void make_streams(usm_place *place);
bool streams_are_there(void);
/* Each thread that enqueues calls it first. */
void use_streams(void);
void *any_stream(uint64_t *seed);
void *new_stream(void);
/* What is in it goes on. */
void end_stream(void *stream);
void fill_in_stream(void *pointer, int32_t value, size_t n, void *stream);

#endif
