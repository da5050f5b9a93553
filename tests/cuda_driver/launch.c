/* Launches: blocks one after the other, on up to two threads, and the threads of each. */
#include "ptx.h"

#include <fenv.h>

#define WARP 32
#define STACK_SLOTS (64u << 10)
#define STACK_BYTES (64u << 10)

/* What the threads that run one launch share. */
typedef struct launch_job {
    sim_context *context;
    const sim_launch *launch;
    sim_map *map;
    uint64_t blocks;
    _Atomic uint64_t next;
    _Atomic int fault;
    char text[200];
} launch_job;

static void fiber_start(ptx_runner *runner, ptx_fiber *fiber)
{
    const ptx_function *entry = runner->entry;
    bool calls = entry->calls;
    fiber->room_slots = entry->slots + (calls ? STACK_SLOTS : 0);
    fiber->room_params = ((entry->frame_size + 15) & ~15u) + 16 + (calls ? STACK_BYTES : 0);
    fiber->room_local = ((entry->local_size + 15) & ~15u) + 16 + (calls ? STACK_BYTES : 0);
    fiber->slots = malloc(fiber->room_slots * sizeof *fiber->slots);
    fiber->params = malloc(fiber->room_params);
    fiber->local = malloc(fiber->room_local);
    fiber->frames = calloc(calls ? 64 : 1, sizeof *fiber->frames);
    memset(fiber->slots, 0, entry->slots * sizeof *fiber->slots);
    ptx_constants(entry, runner->module, fiber->slots);
    memcpy(fiber->params, runner->launch->parameters, entry->params_size);
}

static void fiber_end(ptx_fiber *fiber)
{
    free(fiber->slots);
    free(fiber->params);
    free(fiber->local);
    free(fiber->frames);
}

/* The thread `index` of the runner's block, before its first instruction. */
static void fiber_reset(ptx_runner *runner, ptx_fiber *fiber, uint32_t index)
{
    const sim_launch *launch = runner->launch;
    uint64_t *slots = fiber->slots;
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    fiber->depth = 0;
    fiber->frames[0] = (ptx_frame){.function = runner->entry};
    fiber->stop = STOP_READY;
    fiber->waits = NULL;
    fiber->lane = index % WARP;
    fiber->warp = index / WARP;
    slots[S_TID_X] = index % launch->block[0];
    slots[S_TID_Y] = index / launch->block[0] % launch->block[1];
    slots[S_TID_Z] = index / launch->block[0] / launch->block[1];
    for (int i = 0; i < 3; i++) {
        slots[S_NTID_X + i] = launch->block[i];
        slots[S_CTAID_X + i] = runner->block[i];
        slots[S_NCTAID_X + i] = launch->grid[i];
    }
    uint32_t bit = 1u << fiber->lane;
    slots[S_ZERO] = 0;
    slots[S_LANEID] = fiber->lane;
    slots[S_WARPID] = fiber->warp;
    slots[S_NWARPID] = (threads + WARP - 1) / WARP;
    slots[S_LANEMASK_EQ] = bit;
    slots[S_LANEMASK_LT] = bit - 1;
    slots[S_LANEMASK_LE] = bit | (bit - 1);
    slots[S_LANEMASK_GT] = ~(bit | (bit - 1));
    slots[S_LANEMASK_GE] = ~(bit - 1);
    slots[S_DYNAMIC] = runner->shared_size - launch->dynamic;
    slots[S_DYNAMIC_SIZE] = launch->dynamic;
    slots[S_TOTAL_SIZE] = runner->shared_size;
    slots[S_WARP_SIZE] = WARP;
}

/* All threads that have not ended wait at a barrier: they pass it. False where one of them does not. */
static bool pass_barrier(ptx_runner *runner)
{
    uint32_t waiting = 0, truths = 0;
    for (uint32_t i = 0; i < runner->n_fibers; i++) {
        ptx_fiber *fiber = &runner->fibers[i];
        if (fiber->stop == STOP_BARRIER) {
            const uint64_t *slots = fiber->slots + fiber->frames[fiber->depth].slots;
            waiting++;
            truths += slots[fiber->waits->a] != 0;
        } else if (fiber->stop != STOP_EXIT) {
            return false;
        }
    }
    for (uint32_t i = 0; i < runner->n_fibers && waiting > 0; i++) {
        ptx_fiber *fiber = &runner->fibers[i];
        if (fiber->stop == STOP_BARRIER) {
            uint64_t *slots = fiber->slots + fiber->frames[fiber->depth].slots;
            const ptx_ins *ins = fiber->waits;
            if (ins->imm != BAR_PLAIN) {
                slots[ins->d] = ins->imm == BAR_POPC  ? truths
                                : ins->imm == BAR_AND ? truths == waiting
                                                      : truths > 0;
            }
            fiber->stop = STOP_READY;
        }
    }
    return waiting > 0;
}

/* False after a fault. */
static bool run_together(ptx_runner *runner)
{
    for (;;) {
        bool progress = false, live = false;
        for (uint32_t i = 0; i < runner->n_fibers; i++) {
            ptx_fiber *fiber = &runner->fibers[i];
            if (fiber->stop == STOP_READY) {
                progress = true;
                if (ptx_run(runner, fiber) == STOP_FAULT) {
                    return false;
                }
            }
            live |= fiber->stop != STOP_EXIT;
        }
        if (!live) {
            return true;
        }
        for (uint32_t first = 0; first < runner->n_fibers; first += WARP) {
            uint32_t end = first + WARP < runner->n_fibers ? first + WARP : runner->n_fibers;
            progress |= ptx_warp(runner, first, end);
        }
        progress |= pass_barrier(runner);
        if (!progress) {
            runner->fault = CUDA_ERROR_LAUNCH_TIMEOUT; /* threads wait for others that never come */
            return false;
        }
    }
}

static bool run_block(ptx_runner *runner, uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        ptx_fiber *fiber = &runner->fibers[runner->entry->collective ? i : 0];
        fiber_reset(runner, fiber, i);
        if (!runner->entry->collective && ptx_run(runner, fiber) == STOP_FAULT) {
            return false;
        }
    }
    return !runner->entry->collective || run_together(runner);
}

static void describe(const ptx_runner *runner, launch_job *job)
{
    for (uint32_t i = 0; i < runner->n_fibers; i++) {
        const ptx_fiber *fiber = &runner->fibers[i];
        if (fiber->stop == STOP_FAULT) {
            const ptx_frame *frame = &fiber->frames[fiber->depth];
            const uint64_t *tid = fiber->slots + S_TID_X;
            snprintf(job->text, sizeof job->text,
                     "code %d at address %#llx in %s, line %u, block %u %u %u, thread %u %u %u",
                     runner->fault, (unsigned long long)runner->fault_at, frame->function->name,
                     frame->function->lines[frame->pc], runner->block[0], runner->block[1], runner->block[2],
                     (unsigned)tid[0], (unsigned)tid[1], (unsigned)tid[2]);
        }
    }
}

static void *run_blocks(void *data)
{
    launch_job *job = data;
    const sim_launch *launch = job->launch;
    const ptx_function *entry = launch->kernel->function;
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    ptx_runner runner = {
        .module = launch->kernel->module->ptx,
        .context = job->context,
        .launch = launch,
        .entry = entry,
        .map = job->map,
        .shared_size =
            (launch->dynamic > 0 ? (entry->shared_size + 15) & ~15u : entry->shared_size) + launch->dynamic,
        .n_fibers = entry->collective ? threads : 1,
    };
    runner.shared = aligned_alloc(256, (runner.shared_size + 511) & ~(size_t)255);
    memset(runner.shared, 0xCB, runner.shared_size);
    runner.fibers = calloc(runner.n_fibers, sizeof *runner.fibers);
    for (uint32_t i = 0; i < runner.n_fibers; i++) {
        fiber_start(&runner, &runner.fibers[i]);
    }
    uint64_t block;
    while (job->fault == 0 && (block = job->next++) < job->blocks) {
        runner.block[0] = (uint32_t)(block % launch->grid[0]);
        runner.block[1] = (uint32_t)(block / launch->grid[0] % launch->grid[1]);
        runner.block[2] = (uint32_t)(block / launch->grid[0] / launch->grid[1]);
        int expected = 0;
        if (!run_block(&runner, threads) &&
            __atomic_compare_exchange_n((int *)&job->fault, &expected, (int)runner.fault, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            describe(&runner, job);
        }
    }
    for (uint32_t i = 0; i < runner.n_fibers; i++) {
        fiber_end(&runner.fibers[i]);
    }
    free(runner.fibers);
    free(runner.shared);
    return NULL;
}

/* Fewer threads than this are not worth another thread of the host. */
#define WORTH 4096

CUresult sim_kernel_run(sim_context *context, const sim_launch *launch)
{
    launch_job job = {.context = context, .launch = launch};
    pthread_t other;
    job.blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    sim_lock();
    job.map = sim_map_take();
    sim_unlock(CUDA_SUCCESS);
    bool two = job.blocks > 1 && job.blocks * threads >= WORTH &&
               pthread_create(&other, NULL, run_blocks, &job) == 0;
    run_blocks(&job);
    if (two) {
        pthread_join(other, NULL);
    }
    sim_lock();
    sim_map_drop(job.map);
    if (job.fault != 0) {
        snprintf(sim.fault, sizeof sim.fault, "%s", job.text);
    }
    sim_unlock(CUDA_SUCCESS);
    return (CUresult)job.fault;
}

size_t sim_kernel_parameters(const sim_kernel *kernel)
{
    return kernel->function->params_size;
}

/* The arguments as one block: each at its offset. NULL: they do not fit the parameters. */
static uint8_t *pack(const ptx_function *function, void **parameters, void **extra)
{
    uint8_t *packed = calloc(1, function->params_size + 16);
    if (extra != NULL) {
        const void *buffer = NULL;
        size_t size = 0;
        for (void **one = extra; *one != CU_LAUNCH_PARAM_END; one += 2) {
            buffer = *one == CU_LAUNCH_PARAM_BUFFER_POINTER ? one[1] : buffer;
            size = *one == CU_LAUNCH_PARAM_BUFFER_SIZE ? *(size_t *)one[1] : size;
        }
        if (buffer == NULL || size < function->params_size) {
            free(packed);
            return NULL;
        }
        memcpy(packed, buffer, function->params_size);
        return packed;
    }
    if (parameters == NULL && function->n_params > 0) {
        free(packed);
        return NULL;
    }
    for (size_t i = 0; i < function->n_params; i++) {
        memcpy(packed + function->params[i].offset, parameters[i], function->params[i].size);
    }
    return packed;
}

static CUresult check(const ptx_function *function, const sim_launch *launch)
{
    static const uint32_t most_grid[3] = {0x7fffffff, 65535, 65535}, most_block[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->grid[i] > most_grid[i] || launch->block[i] == 0 ||
            launch->block[i] > most_block[i]) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (function->required[0] != 0 && (uint32_t)function->required[i] != launch->block[i]) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        threads *= launch->block[i];
    }
    if (threads > 1024 || (function->max_threads != 0 && threads > (uint64_t)function->max_threads)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint32_t limit = function->dynamic_limit != 0 ? (uint32_t)function->dynamic_limit
                                                  : (48u << 10) - function->shared_size;
    return launch->dynamic > limit ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic,
                        CUstream stream_handle, void **parameters, void **extra)
{
    SIM_ENTER_CURRENT(cuLaunchKernel, context);
    sim_stream *stream;
    sim_kernel *kernel = sim_find(SIM_KERNEL, handle);
    CUresult code =
        kernel == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_stream_of(stream_handle, context, &stream);
    if (code == CUDA_SUCCESS && (kernel->module->context != context || stream->context != context)) {
        code = CUDA_ERROR_INVALID_HANDLE;
    }
    sim_op op = {.kind = OP_KERNEL,
                 .u.launch = {kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic, NULL}};
    if (code == CUDA_SUCCESS) {
        code = check(kernel->function, &op.u.launch);
    }
    if (code == CUDA_SUCCESS) {
        op.u.launch.parameters = pack(kernel->function, parameters, extra);
        code = op.u.launch.parameters == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    if (code == CUDA_SUCCESS) {
        code = sim_submit(stream, &op, NULL);
        if (code != CUDA_SUCCESS) {
            free(op.u.launch.parameters);
        }
    }
    return sim_unlock(code);
}
