#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "graph.h"

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

#endif
