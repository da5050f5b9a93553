#include "graph.h"

void sim_graph_add(sim_graph *graph, const sim_op *op)
{
    if (graph->n == graph->room) {
        graph->room = graph->room == 0 ? 16 : graph->room * 2;
        graph->nodes = realloc(graph->nodes, graph->room * sizeof *graph->nodes);
    }
    sim_op *own = malloc(sizeof *own);
    *own = *op;
    graph->nodes[graph->n++] = own;
}

void sim_graph_run(sim_stream *stream, sim_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++) {
        sim_execute(stream, graph->nodes[i]);
    }
    graph->pending--;
    if (!graph->base.alive && graph->pending == 0) {
        sim_graph_release(graph);
    }
}

static void user_release(sim_user *user, unsigned count)
{
    user->refs -= count < user->refs ? count : user->refs;
    if (user->refs == 0 && user->base.alive) {
        user->base.alive = false;
        sim_unlock(CUDA_SUCCESS);
        sim_in_callback = true;
        user->destroy(user->data);
        sim_in_callback = false;
        sim_lock();
    }
}

void sim_graph_release(sim_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++) {
        sim_op_drop(graph->nodes[i]);
    }
    free(graph->nodes);
    graph->nodes = NULL;
    graph->n = 0;
    sim_held *held = graph->held;
    size_t n = graph->n_held;
    graph->held = NULL;
    graph->n_held = 0;
    for (size_t i = 0; i < n; i++) {
        user_release(held[i].user, held[i].count);
    }
    free(held);
}

static void hold(sim_graph *graph, sim_user *user, unsigned count)
{
    graph->held = realloc(graph->held, (graph->n_held + 1) * sizeof *graph->held);
    graph->held[graph->n_held++] = (sim_held){user, count};
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    SIM_ENTER_CURRENT(cuGraphInstantiate, context);
    sim_graph *graph = sim_find(SIM_GRAPH, handle);
    if (graph == NULL || out == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    (void)flags;
    sim_graph *exec = sim_new(SIM_EXEC, sizeof *exec);
    for (size_t i = 0; i < graph->n; i++) {
        sim_op op = *graph->nodes[i];
        if (op.kind == OP_KERNEL) {
            size_t size = sim_kernel_parameters(op.u.launch.kernel);
            op.u.launch.parameters = malloc(size + 1);
            memcpy(op.u.launch.parameters, graph->nodes[i]->u.launch.parameters, size);
        }
        sim_graph_add(exec, &op);
    }
    for (size_t i = 0; i < graph->n_held; i++) {
        graph->held[i].user->refs++;
        hold(exec, graph->held[i].user, 1);
    }
    *out = (CUgraphExec)exec;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    SIM_ENTER_CURRENT(cuGraphLaunch, context);
    sim_stream *stream;
    sim_graph *exec = sim_find(SIM_EXEC, handle);
    CUresult code = exec == NULL ? CUDA_ERROR_INVALID_VALUE : sim_stream_of(stream_handle, context, &stream);
    if (code == CUDA_SUCCESS) {
        sim_op op = {.kind = OP_GRAPH, .u.graph = exec};
        code = sim_submit(stream, &op, NULL);
        exec->pending += code == CUDA_SUCCESS;
    }
    return sim_unlock(code);
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
    SIM_ENTER(cuGraphGetNodes);
    sim_lock();
    sim_graph *graph = sim_find(SIM_GRAPH, handle);
    if (graph == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; nodes != NULL && i < *n; i++) {
        nodes[i] = i < graph->n ? (CUgraphNode)graph->nodes[i] : NULL;
    }
    *n = graph->n;
    return sim_unlock(CUDA_SUCCESS);
}

static CUresult destroy(sim_kind kind, void *handle)
{
    sim_lock();
    sim_graph *graph = sim_find(kind, handle);
    if (graph == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    graph->base.alive = false;
    if (graph->pending == 0) {
        sim_graph_release(graph);
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph handle)
{
    SIM_ENTER(cuGraphDestroy);
    return destroy(SIM_GRAPH, handle);
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    SIM_ENTER(cuGraphExecDestroy);
    return destroy(SIM_EXEC, handle);
}

CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn call, unsigned count, unsigned flags)
{
    SIM_ENTER(cuUserObjectCreate);
    if (out == NULL || call == NULL || count == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_lock();
    sim_user *user = sim_new(SIM_USER, sizeof *user);
    user->refs = count;
    user->destroy = call;
    user->data = data;
    *out = (CUuserObject)user;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    SIM_ENTER(cuUserObjectRetain);
    sim_lock();
    sim_user *user = sim_find(SIM_USER, handle);
    if (user != NULL) {
        user->refs += count;
    }
    return sim_unlock(user == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    SIM_ENTER(cuUserObjectRelease);
    sim_lock();
    sim_user *user = sim_find(SIM_USER, handle);
    if (user == NULL || count > user->refs) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    user_release(user, count);
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object, unsigned count, unsigned flags)
{
    SIM_ENTER(cuGraphRetainUserObject);
    sim_lock();
    sim_graph *graph = sim_find(SIM_GRAPH, handle);
    sim_user *user = sim_find(SIM_USER, object);
    if (graph == NULL || user == NULL || count == 0) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    user->refs += flags & CU_GRAPH_USER_OBJECT_MOVE ? 0 : count;
    hold(graph, user, count);
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object, unsigned count)
{
    SIM_ENTER(cuGraphReleaseUserObject);
    sim_lock();
    sim_graph *graph = sim_find(SIM_GRAPH, handle);
    sim_user *user = sim_find(SIM_USER, object);
    for (size_t i = 0; graph != NULL && user != NULL && i < graph->n_held; i++) {
        if (graph->held[i].user == user && graph->held[i].count >= count) {
            graph->held[i].count -= count;
            user_release(user, count);
            return sim_unlock(CUDA_SUCCESS);
        }
    }
    return sim_unlock(CUDA_ERROR_INVALID_VALUE);
}
