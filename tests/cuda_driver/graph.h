/* Graphs: what captures record, and what is launched as one operation. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "sim.h"

/* Something of a user's that lives as long as the graphs that hold it. */
typedef struct sim_user {
    sim_object base;
    unsigned refs;
    CUhostFn destroy;
    void *data;
} sim_user;

typedef struct sim_held {
    sim_user *user;
    unsigned count;
} sim_held;

struct sim_graph {
    sim_object base;
    sim_op **nodes; /* in an order in which they may run; the graph's own */
    size_t n, room;
    sim_held *held;
    size_t n_held;
    unsigned pending; /* an executable one: launches that have not ended */
};

/* Nodes of a capture that come before something. */
struct sim_past {
    unsigned char *has;
    size_t n;
};

struct sim_capture {
    sim_capture *next;
    unsigned long long id;
    CUstreamCaptureMode mode;
    pthread_t thread;
    sim_graph *graph;
    sim_stream *origin;
    bool invalid;
};

/* All with the lock held. Takes the operation's parts. */
void sim_graph_add(sim_graph *graph, const sim_op *op);
/* The last launch has ended, or the graph was destroyed. Lets the lock go while it calls users. */
void sim_graph_release(sim_graph *graph);

#endif
