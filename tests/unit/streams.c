#include "streams.h"

#include "core/device/rule.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { STREAMS = 3 };

static void *streams[STREAMS];

static struct {
    void *context;
    int (*set_current)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*fill)(unsigned long long pointer, unsigned value, size_t n, void *stream);
} other_library;

void make_streams(usm_place *place)
{
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"cuCtxSetCurrent", &other_library.set_current},
        {"cuStreamCreate", &other_library.stream_create},
        {"cuStreamDestroy_v2", &other_library.stream_destroy},
        {"cuMemsetD32Async", &other_library.fill},
    };
    if (!usm_backend_has_streams(place->device->backend)) {
        return;
    }
    void *library = dlopen(getenv("USMPY_CUDA_LIBRARY"), RTLD_NOW);
    CHECK(library != NULL);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library, functions[i].name);
        CHECK(function != NULL);
        memcpy(functions[i].function, &function, sizeof function);
    }
    other_library.context =
        USM_CALL(place->device->backend->native, handle)(USM_NATIVE_CONTEXT, place->context);
    CHECK_EQ(other_library.set_current(other_library.context), 0);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = new_stream();
    }
}

bool streams_are_there(void)
{
    return other_library.context != NULL;
}

void use_streams(void)
{
    if (streams_are_there()) {
        CHECK_EQ(other_library.set_current(other_library.context), 0);
    }
}

void *any_stream(uint64_t *seed)
{
    return streams[random_below(seed, STREAMS)];
}

void *new_stream(void)
{
    void *stream;
    CHECK_EQ(other_library.stream_create(&stream, 1 /* CU_STREAM_NON_BLOCKING */), 0);
    return stream;
}

void end_stream(void *stream)
{
    CHECK_EQ(other_library.stream_destroy(stream), 0);
}

void fill_in_stream(void *pointer, int32_t value, size_t n, void *stream)
{
    CHECK_EQ(other_library.fill((uintptr_t)pointer, (unsigned)value, n, stream), 0);
}
