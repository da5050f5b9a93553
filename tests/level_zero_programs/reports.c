/*
 * What the loader's validation layer says of a process: it makes no lines of its own, but lets the call end
 * in a code that a driver has no reason for. The loader's tracing layer, which comes before it, sees all ends
 * of calls. A shared object for tests; ZE_ENABLE_TRACING_LAYER=1 must be set.
 */
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/ze_api.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[4096];
static unsigned n_reports, n_calls;

/*
 * Codes of parameter validation and of handle lifetimes. The layer of version 1.8 does not know lists in
 * order, which came later, and refuses them itself: the backend asks, and goes without.
 */
static bool is_report(const char *function, ze_result_t result)
{
    switch (result) {
        case ZE_RESULT_ERROR_INVALID_ENUMERATION:
            return strcmp(function, "zeCommandListCreateImmediate") != 0;
        case ZE_RESULT_ERROR_INVALID_NULL_HANDLE:
        case ZE_RESULT_ERROR_INVALID_NULL_POINTER:
        case ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT:
        case ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE:
            return true;
        default:
            return false;
    }
}

static void ended(const char *function, ze_result_t result)
{
    pthread_mutex_lock(&lock);
    n_calls++;
    if (is_report(function, result)) {
        size_t used = strlen(text);
        n_reports++;
        snprintf(text + used, sizeof(text) - used, "%s: 0x%x\n", function, (unsigned)result);
    }
    pthread_mutex_unlock(&lock);
}

#define USM_LEVEL_ZERO_FUNCTION(required, name)                                                \
    static void on_##name(void *parameters, ze_result_t result, void *tracer, void **instance) \
    {                                                                                          \
        (void)parameters, (void)tracer, (void)instance;                                        \
        ended(#name, result);                                                                  \
    }
#define USM_LEVEL_ZERO_NEWER(name, type)
#include "backends/level_zero/symbols.inc"
#undef USM_LEVEL_ZERO_FUNCTION

typedef void (*callback)(void *parameters, ze_result_t result, void *tracer, void **instance);
static const struct {
    const char *name;
    callback call;
} functions[] = {
#define USM_LEVEL_ZERO_FUNCTION(required, name) {#name, on_##name},
#include "backends/level_zero/symbols.inc"
#undef USM_LEVEL_ZERO_FUNCTION
#undef USM_LEVEL_ZERO_NEWER
};

static bool watch(void *loader, zel_tracer_handle_t tracer, const char *function, callback call)
{
    char name[128];
    snprintf(name, sizeof(name), "zelTracer%sRegisterCallback", function + strlen("ze"));
    ze_result_t (*set)(zel_tracer_handle_t, zel_tracer_reg_t, callback) = NULL;
    *(void **)&set = dlsym(loader, name);
    return set != NULL && set(tracer, ZEL_REGISTER_EPILOGUE, call) == ZE_RESULT_SUCCESS;
}

/* Functions that are watched from now on; 0: there is no tracing. */
__attribute__((visibility("default"))) unsigned reportsStart(const char *loader_name)
{
    void *loader = dlopen(loader_name, RTLD_NOW);
    const zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC};
    zel_tracer_handle_t tracer = NULL;
    unsigned n = 0;
    if (loader == NULL)
        return 0;
    ze_result_t (*init)(ze_init_flags_t) = NULL;
    ze_result_t (*create)(const zel_tracer_desc_t *, zel_tracer_handle_t *) = NULL;
    ze_result_t (*enable)(zel_tracer_handle_t, ze_bool_t) = NULL;
    *(void **)&init = dlsym(loader, "zeInit");
    *(void **)&create = dlsym(loader, "zelTracerCreate");
    *(void **)&enable = dlsym(loader, "zelTracerSetEnabled");
    if (init == NULL || create == NULL || enable == NULL || init(0) != ZE_RESULT_SUCCESS ||
        create(&desc, &tracer) != ZE_RESULT_SUCCESS)
        return 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        n += watch(loader, tracer, functions[i].name, functions[i].call);
    return enable(tracer, 1) == ZE_RESULT_SUCCESS ? n : 0;
}

/* Reports since this was last asked, a line each; how many. */
__attribute__((visibility("default"))) unsigned reportsTake(char *out, size_t size)
{
    pthread_mutex_lock(&lock);
    unsigned n = n_reports;
    snprintf(out, size, "%s", text);
    n_reports = 0;
    text[0] = '\0';
    pthread_mutex_unlock(&lock);
    return n;
}

/* Calls whose end was seen. */
__attribute__((visibility("default"))) unsigned reportsCalls(void)
{
    pthread_mutex_lock(&lock);
    unsigned n = n_calls;
    pthread_mutex_unlock(&lock);
    return n;
}
