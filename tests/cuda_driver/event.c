/* Events: points in streams, with the time when they were reached. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sim.h"

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    SIM_ENTER_CURRENT(cuEventCreate, context);
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    if (out == NULL || (flags & ~known) != 0 || ((flags & CU_EVENT_INTERPROCESS) != 0 && timed)) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    sim_event *event = sim_new(SIM_EVENT, sizeof *event);
    event->context = context;
    event->flags = flags;
    if ((flags & CU_EVENT_INTERPROCESS) != 0 && (event->shared = sim_shared_new()) == NULL) {
        event->base.alive = false;
        return sim_unlock(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = (CUevent)event;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent handle)
{
    SIM_ENTER(cuEventDestroy);
    sim_lock();
    sim_event *event = sim_find(SIM_EVENT, handle);
    if (event == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_HANDLE);
    }
    event->base.alive = false;
    if (event->shared != NULL) {
        sim_shared_destroy(event->shared);
        event->shared = NULL;
    }
    return sim_unlock((CUresult)event->context->sticky);
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle)
{
    SIM_ENTER_CURRENT(cuEventRecord, context);
    sim_stream *stream;
    bool done = false;
    sim_event *event = sim_find(SIM_EVENT, handle);
    CUresult code =
        event == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_stream_of(stream_handle, context, &stream);
    if (code == CUDA_SUCCESS && event->context != stream->context) {
        code = CUDA_ERROR_INVALID_HANDLE;
    }
    if (code == CUDA_SUCCESS) {
        code = sim_capture_record(stream, event, &done);
    }
    if (code == CUDA_SUCCESS && !done) {
        sim_op op = {.kind = OP_RECORD, .u.record = {event, event->generation + 1, 0}};
        sim_point point;
        op.u.record.shared = event->shared != NULL ? sim_shared_record(event->shared) : 0;
        code = sim_submit(stream, &op, &point);
        if (code == CUDA_SUCCESS) {
            event->generation++;
            event->recorded = true;
            event->capture = 0;
            event->point = point;
        }
    }
    return sim_unlock(code);
}

static sim_point point_of(const sim_event *event)
{
    return event->shared != NULL ? sim_shared_point(event->shared) : event->point;
}

/* May the host ask about the event now? */
static CUresult may_ask(sim_event *event)
{
    if (event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (event->capture != 0) {
        sim_capture_invalidate_id(event->capture);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    CUresult code = sim_capture_unsafe();
    return code != CUDA_SUCCESS ? code : (CUresult)event->context->sticky;
}

CUresult cuEventQuery(CUevent handle)
{
    SIM_ENTER_CURRENT(cuEventQuery, context);
    sim_event *event = sim_find(SIM_EVENT, handle);
    CUresult code = may_ask(event);
    if (code == CUDA_SUCCESS) {
        sim_point point = point_of(event);
        code = sim_reached(&point) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    return sim_unlock(code);
}

CUresult cuEventSynchronize(CUevent handle)
{
    SIM_ENTER_CURRENT(cuEventSynchronize, context);
    sim_event *event = sim_find(SIM_EVENT, handle);
    CUresult code = may_ask(event);
    if (code == CUDA_SUCCESS) {
        sim_point point = point_of(event);
        code = sim_wait(&point);
        sim_pools_trim();
    }
    return sim_unlock(code);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    SIM_ENTER_CURRENT(cuEventElapsedTime, context);
    sim_event *start = sim_find(SIM_EVENT, start_handle), *end = sim_find(SIM_EVENT, end_handle);
    CUresult code = CUDA_SUCCESS;
    if (start == NULL || end == NULL || !start->recorded || !end->recorded ||
        start->context != end->context || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
        code = CUDA_ERROR_INVALID_HANDLE;
    } else if (start->capture != 0 || end->capture != 0) {
        code = CUDA_ERROR_CAPTURED_EVENT;
    } else if (!sim_reached(&start->point) || !sim_reached(&end->point)) {
        code = CUDA_ERROR_NOT_READY;
    } else {
        *milliseconds = (float)((double)(end->ns - start->ns) * 1e-6);
        code = (CUresult)start->context->sticky;
    }
    return sim_unlock(code);
}

/*
 * Events for several processes. A page in memory says which record was the last, which was reached, and by
 * whom it is; the handle names the file behind it in the process that made the event, which must run. Records
 * of a process that has ended count as reached.
 */

typedef struct page {
    char magic[8];
    _Atomic uint64_t recorded, reached;
    _Atomic int64_t process; /* of the last record, with its start */
    _Atomic uint64_t started;
    _Atomic bool destroyed; /* by the process that made it: what follows is undefined */
} page;

struct sim_shared {
    unsigned refs;
    int file; /* -1: another process's */
    page *page;
};

typedef struct name {
    char magic[8];
    int64_t process;
    uint64_t started;
    int file;
} name;

static const char magic[8] = "cudasim";

/* When a process was started, in clock ticks; 0: it has ended. */
static uint64_t start_of(int64_t process)
{
    char path[40], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    if (file >= 0) {
        close(file);
    }
    const char *at = strrchr(text, ')');
    if (at == NULL || at[2] == 'Z' || at[2] == 'X') {
        return 0;
    }
    for (int field = 2; field < 22 && at != NULL; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

static sim_shared *map(int file, bool own)
{
    void *at = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    sim_shared *shared = malloc(sizeof *shared);
    *shared = (sim_shared){1, own ? file : -1, at};
    return shared;
}

sim_shared *sim_shared_new(void)
{
    int file = memfd_create("cudasim event", MFD_CLOEXEC);
    sim_shared *shared = file >= 0 && ftruncate(file, 4096) == 0 ? map(file, true) : NULL;
    if (shared == NULL) {
        close(file);
        return NULL;
    }
    memcpy(shared->page->magic, magic, sizeof magic);
    return shared;
}

void sim_shared_hold(sim_shared *shared)
{
    shared->refs++;
}

void sim_shared_drop(sim_shared *shared)
{
    if (--shared->refs == 0) {
        munmap(shared->page, sizeof(page));
        free(shared);
    }
}

void sim_shared_destroy(sim_shared *shared)
{
    if (shared->file >= 0) {
        shared->page->destroyed = true;
        close(shared->file);
    }
    sim_shared_drop(shared);
}

uint64_t sim_shared_record(sim_shared *shared)
{
    shared->page->process = getpid();
    shared->page->started = start_of(getpid());
    return ++shared->page->recorded;
}

void sim_shared_reach(sim_shared *shared, uint64_t generation)
{
    if (shared->page->reached < generation) {
        shared->page->reached = generation;
    }
}

sim_point sim_shared_point(sim_shared *shared)
{
    if (shared->page->destroyed) {
        sim_misused("an event of another process was used, which that process has destroyed");
    }
    return (sim_point){.shared = shared, .generation = shared->page->recorded};
}

bool sim_shared_reached(const sim_point *point)
{
    const page *page = point->shared->page;
    return page->reached >= point->generation || start_of(page->process) != page->started;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent handle)
{
    SIM_ENTER_CURRENT(cuIpcGetEventHandle, context);
    sim_event *event = sim_find(SIM_EVENT, handle);
    if (!sim.ipc_events) {
        return sim_unlock(CUDA_ERROR_NOT_SUPPORTED);
    }
    if (out == NULL || event == NULL || event->shared == NULL || event->shared->file < 0) {
        return sim_unlock(CUDA_ERROR_INVALID_HANDLE);
    }
    name name = {.process = getpid(), .started = start_of(getpid()), .file = event->shared->file};
    memcpy(name.magic, magic, sizeof magic);
    memset(out, 0, sizeof *out);
    memcpy(out, &name, sizeof name);
    return sim_unlock(CUDA_SUCCESS);
}

/* The page of another process's event. */
static CUresult find(const CUipcEventHandle *handle, sim_shared **out)
{
    name name;
    char path[60];
    memcpy(&name, handle, sizeof name);
    if (memcmp(name.magic, magic, sizeof magic) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (name.process == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)name.process, name.file);
    int file = start_of(name.process) == name.started ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) {
        return CUDA_ERROR_MAP_FAILED;
    }
    *out = map(file, false);
    close(file);
    if (*out != NULL && memcmp((*out)->page->magic, magic, sizeof magic) != 0) {
        sim_shared_drop(*out);
        *out = NULL;
    }
    return *out == NULL ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    SIM_ENTER_CURRENT(cuIpcOpenEventHandle, context);
    sim_shared *shared = NULL;
    CUresult code = sim.ipc_events ? find(&handle, &shared) : CUDA_ERROR_NOT_SUPPORTED;
    if (code == CUDA_SUCCESS) {
        sim_event *event = sim_new(SIM_EVENT, sizeof *event);
        event->context = context;
        event->flags = CU_EVENT_DISABLE_TIMING;
        event->recorded = true;
        event->shared = shared;
        *out = (CUevent)event;
    }
    return sim_unlock(code);
}
