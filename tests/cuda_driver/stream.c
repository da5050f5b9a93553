/* Streams: each on a thread of its own, an operation at a time, in the order of the default streams. */
#include "sim.h"

#include <time.h>

/* Per-thread default streams of this thread, a context each. */
typedef struct sim_own {
    struct sim_own *next;
    sim_stream *stream;
} sim_own;

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* It has ended, and its work, too. Whoever is at it in the list goes on to the next. */
static void leave_context(sim_stream *stream)
{
    for (sim_stream **link = &stream->context->streams; *link != NULL; link = &(*link)->sibling) {
        if (*link == stream) {
            *link = stream->sibling;
            return;
        }
    }
}

void sim_stream_end(sim_stream *stream)
{
    stream->base.alive = false;
    pthread_cond_broadcast(&stream->work);
    if (!stream->started) {
        leave_context(stream);
    }
}

static void own_end(void *list)
{
    sim_lock();
    for (sim_own *own = list, *next; own != NULL; own = next) {
        next = own->next;
        sim_stream_end(own->stream);
        free(own);
    }
    sim_unlock(CUDA_SUCCESS);
}

static void own_start(void)
{
    pthread_key_create(&own_key, own_end);
}

sim_stream *sim_stream_new(sim_context *context, unsigned flags, int priority)
{
    sim_stream *stream = sim_new(SIM_STREAM, sizeof *stream);
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    stream->id = sim_next_id();
    pthread_cond_init(&stream->work, NULL);
    stream->sibling = context->streams;
    context->streams = stream;
    return stream;
}

static sim_stream *own_stream(sim_context *context)
{
    pthread_once(&own_once, own_start);
    sim_own *list = pthread_getspecific(own_key);
    for (sim_own *own = list; own != NULL; own = own->next) {
        if (own->stream->context == context && own->stream->base.alive) {
            return own->stream;
        }
    }
    sim_own *own = malloc(sizeof *own);
    own->next = list;
    own->stream = sim_stream_new(context, CU_STREAM_DEFAULT, 0);
    own->stream->per_thread = true;
    pthread_setspecific(own_key, own);
    return own->stream;
}

CUresult sim_stream_of(CUstream handle, sim_context *current, sim_stream **out)
{
    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        *out = current->legacy;
    } else if (handle == CU_STREAM_PER_THREAD) {
        *out = own_stream(current);
    } else {
        *out = sim_find(SIM_STREAM, handle);
    }
    if (*out == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return (CUresult)(*out)->context->sticky;
}

bool sim_reached(const sim_point *point)
{
    if (point->shared != NULL) {
        return sim_shared_reached(point);
    }
    return point->stream == NULL || point->stream->finished >= point->at;
}

void sim_pause(bool shared)
{
    struct timespec soon;
    if (!shared) {
        pthread_cond_wait(&sim.progress, &sim.lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 1000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&sim.progress, &sim.lock, &soon);
}

CUresult sim_wait(const sim_point *point)
{
    while (!sim_reached(point)) {
        sim_pause(point->shared != NULL);
    }
    return point->stream == NULL ? CUDA_SUCCESS : (CUresult)point->stream->context->sticky;
}

void sim_wait_context(sim_context *context)
{
    for (sim_stream *stream = context->streams; stream != NULL; stream = stream->sibling) {
        sim_point end = {.stream = stream, .at = stream->submitted};
        sim_wait(&end);
    }
}

void sim_op_drop(sim_op *op)
{
    if (op->kind == OP_COPY) {
        free(op->u.copy.staged);
    } else if (op->kind == OP_KERNEL) {
        free(op->u.launch.parameters);
    } else if (op->kind == OP_WAIT && op->u.wait.shared != NULL) {
        sim_shared_drop(op->u.wait.shared);
    }
    free(op);
}

static void sleep_us(long microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void copy(const sim_copy *copy)
{
    for (size_t layer = 0; layer < copy->layers; layer++) {
        for (size_t row = 0; row < copy->rows; row++) {
            memmove(copy->to + layer * copy->to_layer + row * copy->to_pitch,
                    copy->from + layer * copy->from_layer + row * copy->from_pitch, copy->width);
        }
    }
}

static void set(const sim_set *set)
{
    for (size_t row = 0; row < set->rows; row++) {
        char *to = set->to + row * set->pitch;
        if (set->size == 1) {
            memset(to, (int)set->value, set->width);
            continue;
        }
        for (size_t i = 0; i < set->width; i++) {
            memcpy(to + i * set->size, &set->value, set->size);
        }
    }
}

/* Runs one operation, with the lock released. The code of a failed kernel. */
static CUresult run_unlocked(sim_context *context, const sim_op *op)
{
    CUresult code = CUDA_SUCCESS;
    long delay = sim.delay_us;
    sim_unlock(CUDA_SUCCESS);
    switch (op->kind) {
        case OP_COPY:
            copy(&op->u.copy);
            break;
        case OP_SET:
            set(&op->u.set);
            break;
        case OP_KERNEL:
            if (delay > 0) {
                sleep_us(delay);
            }
            code = sim_kernel_run(context, &op->u.launch);
            break;
        default:
            sim_in_callback = true;
            op->u.host.call(op->u.host.data);
            sim_in_callback = false;
            break;
    }
    sim_lock();
    sim.launches += op->kind == OP_KERNEL && code == CUDA_SUCCESS;
    return code;
}

void sim_execute(sim_stream *stream, sim_op *op)
{
    sim_context *context = stream->context;
    sim_block *block;
    CUresult code;
    switch (op->kind) {
        case OP_WAIT:
            break;
        case OP_RECORD:
            if (op->u.record.event->generation == op->u.record.generation) {
                op->u.record.event->timed = op->u.record.generation;
                op->u.record.event->ns = sim_now();
            }
            if (op->u.record.event->shared != NULL) {
                sim_shared_reach(op->u.record.event->shared, op->u.record.shared);
            }
            break;
        case OP_FREE:
            block = sim_block_at(op->u.freed);
            if (block != NULL && context->sticky == CUDA_SUCCESS) {
                sim_block_free(block);
            }
            break;
        case OP_GRAPH:
            sim_graph_run(stream, op->u.graph);
            break;
        default:
            code = context->sticky != CUDA_SUCCESS ? CUDA_SUCCESS : run_unlocked(context, op);
            if (code != CUDA_SUCCESS) {
                sim_lose(context, code);
            }
    }
}

static void *work(void *data)
{
    sim_stream *stream = data;
    sim_lock();
    for (;;) {
        sim_op *op = stream->head;
        if (op == NULL && !stream->base.alive) {
            break;
        }
        if (op == NULL) {
            pthread_cond_wait(&stream->work, &sim.lock);
            continue;
        }
        if (sim.held || (op->kind == OP_WAIT && !sim_reached(&op->u.wait))) {
            sim_pause(!sim.held && op->u.wait.shared != NULL);
            continue;
        }
        sim_execute(stream, op);
        stream->head = op->next;
        stream->tail = op->next == NULL ? NULL : stream->tail;
        stream->finished = op->at;
        sim_op_drop(op);
        pthread_cond_broadcast(&sim.progress);
    }
    stream->started = false;
    leave_context(stream);
    sim_unlock(CUDA_SUCCESS);
    return NULL;
}

static void start(sim_stream *stream)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, work, stream) != 0) {
        abort();
    }
    pthread_attr_destroy(&attributes);
    stream->started = true;
}

static void append(sim_stream *stream, const sim_op *op)
{
    sim_op *own = malloc(sizeof *own);
    *own = *op;
    own->next = NULL;
    own->at = ++stream->submitted;
    if (stream->tail != NULL) {
        stream->tail->next = own;
    } else {
        stream->head = own;
    }
    stream->tail = own;
    if (!stream->started) {
        start(stream);
    }
    pthread_cond_signal(&stream->work);
}

static void append_wait(sim_stream *stream, sim_stream *other)
{
    sim_op op = {.kind = OP_WAIT, .u.wait = {.stream = other, .at = other->submitted}};
    if (other->finished < other->submitted) {
        append(stream, &op);
    }
}

CUresult sim_submit(sim_stream *stream, const sim_op *op, sim_point *at)
{
    if (stream->capture != NULL) {
        return sim_capture_add(stream, op);
    }
    if (stream->legacy) {
        CUresult code = sim_capture_implicit(stream->context);
        if (code != CUDA_SUCCESS) {
            return code;
        }
        for (sim_stream *other = stream->context->streams; other != NULL; other = other->sibling) {
            if (other != stream && (other->flags & CU_STREAM_NON_BLOCKING) == 0) {
                append_wait(stream, other);
            }
        }
    } else if ((stream->flags & CU_STREAM_NON_BLOCKING) == 0) {
        append_wait(stream, stream->context->legacy);
    }
    append(stream, op);
    if (at != NULL) {
        *at = (sim_point){.stream = stream, .at = stream->submitted};
    }
    return CUDA_SUCCESS;
}

static CUresult create(CUstream *out, unsigned flags, int priority, sim_context *context)
{
    if (out == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = (CUstream)sim_stream_new(context, flags, priority);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    SIM_ENTER_CURRENT(cuStreamCreate, context);
    return sim_unlock(create(out, flags, 0, context));
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    SIM_ENTER_CURRENT(cuStreamCreateWithPriority, context);
    return sim_unlock(create(out, flags, priority, context));
}

CUresult cuStreamDestroy(CUstream handle)
{
    SIM_ENTER(cuStreamDestroy);
    sim_lock();
    sim_stream *stream = sim_find(SIM_STREAM, handle);
    if (stream == NULL || stream->legacy || stream->per_thread) {
        return sim_unlock(CUDA_ERROR_INVALID_HANDLE);
    }
    sim_capture_invalidate(stream);
    sim_stream_end(stream);
    return sim_unlock((CUresult)stream->context->sticky);
}

/* Enters a call about a stream: it, with the lock held and a current context. */
#define SIM_ENTER_STREAM(name, handle, stream)                    \
    SIM_ENTER_CURRENT_BY(F_##name, context);                      \
    sim_stream *stream;                                           \
    do {                                                          \
        CUresult found = sim_stream_of(handle, context, &stream); \
        if (found != CUDA_SUCCESS) {                              \
            return sim_unlock(found);                             \
        }                                                         \
    } while (0)

/* Neither may the host ask about a captured stream, nor at all where a capture of this thread or of any
 * forbids it. */
static CUresult may_ask(sim_stream *stream)
{
    if (stream->capture != NULL) {
        sim_capture_invalidate(stream);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return stream->legacy ? sim_capture_implicit(stream->context) : sim_capture_unsafe();
}

/* What the legacy stream waits for counts as its own. */
static bool idle(sim_stream *stream)
{
    bool idle = stream->finished == stream->submitted;
    for (sim_stream *other = stream->context->streams; idle && stream->legacy && other != NULL;
         other = other->sibling) {
        idle = (other->flags & CU_STREAM_NON_BLOCKING) != 0 || other->finished == other->submitted;
    }
    return idle;
}

CUresult cuStreamSynchronize(CUstream handle)
{
    SIM_ENTER_STREAM(cuStreamSynchronize, handle, stream);
    CUresult code = may_ask(stream);
    if (code == CUDA_SUCCESS) {
        sim_point end = {.stream = stream, .at = stream->submitted};
        for (sim_stream *other = context->streams; stream->legacy && other != NULL; other = other->sibling) {
            sim_point others = {.stream = other, .at = other->submitted};
            if ((other->flags & CU_STREAM_NON_BLOCKING) == 0) {
                sim_wait(&others);
            }
        }
        code = sim_wait(&end);
        sim_pools_trim();
    }
    return sim_unlock(code);
}

CUresult cuStreamQuery(CUstream handle)
{
    SIM_ENTER_STREAM(cuStreamQuery, handle, stream);
    CUresult code = may_ask(stream);
    if (code == CUDA_SUCCESS) {
        code = idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    return sim_unlock(code);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
    SIM_ENTER_STREAM(cuStreamGetCtx, handle, stream);
    if (stream->capture != NULL) {
        return sim_unlock(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    *out = (CUcontext)stream->context;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    SIM_ENTER_STREAM(cuStreamGetFlags, handle, stream);
    *flags = stream->flags;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
    SIM_ENTER_STREAM(cuStreamGetPriority, handle, stream);
    *priority = stream->priority;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
    SIM_ENTER_STREAM(cuStreamGetId, handle, stream);
    *id = stream->id;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags)
{
    SIM_ENTER_STREAM(cuStreamWaitEvent, handle, stream);
    sim_event *event = sim_find(SIM_EVENT, event_handle);
    bool done = false;
    if (event == NULL || (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) != 0) {
        return sim_unlock(event == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    }
    CUresult code = sim_capture_wait(stream, event, &done);
    sim_point point = event->shared != NULL ? sim_shared_point(event->shared) : event->point;
    if (code == CUDA_SUCCESS && !done && event->recorded && !sim_reached(&point)) {
        sim_op op = {.kind = OP_WAIT, .u.wait = point};
        code = sim_submit(stream, &op, NULL);
        if (code == CUDA_SUCCESS && point.shared != NULL) {
            sim_shared_hold(point.shared);
        }
    }
    return sim_unlock(code);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn call, void *data)
{
    SIM_ENTER_STREAM(cuLaunchHostFunc, handle, stream);
    sim_op op = {.kind = OP_HOST, .u.host = {call, data}};
    return sim_unlock(call == NULL ? CUDA_ERROR_INVALID_VALUE : sim_submit(stream, &op, NULL));
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size,
#if CUDA_VERSION >= 13000
                            CUmemLocation location, unsigned flags,
#else
                            CUdevice device,
#endif
                            CUstream handle)
{
    SIM_ENTER_STREAM(cuMemPrefetchAsync, handle, stream);
#if CUDA_VERSION >= 13000
    int device = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
    (void)flags;
#endif
    sim_block *block = sim_block_at(address);
    if (block == NULL || !block->managed || size == 0 || address + size > block->start + block->size) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    if (device != CU_DEVICE_CPU && (device < 0 || device >= sim.devices)) {
        return sim_unlock(CUDA_ERROR_INVALID_DEVICE);
    }
    (void)stream;
    return sim_unlock(CUDA_SUCCESS);
}
