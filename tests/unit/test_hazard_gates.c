/*
 * Tasks on the same memory, each held at a gate of its own, whose gates are opened one by one in every order:
 * after each step exactly those tasks have begun that conflict with none that has not ended.
 *
 * A task that begins too early is found in three ways, none of which waits for time to pass: its chain of
 * dependencies does not lead to each conflicting task, right after its submission; it sees, when it begins,
 * that a conflicting task has not ended; its gate counts it, after the step that let others begin.
 */
#include "check.h"
#include "support.h"

#include "core/tasks/worker.h"

enum { MOST_TASKS = 24, MEMORIES = 2 };

/* One task of a program: its queue, and how it touches each memory (usm_access_mode; 0: not at all). */
typedef struct held_task {
    int queue;
    unsigned modes[MEMORIES];
    bool twice; /* each memory is an argument twice, read by one of them and written by the other */

    gate gate;
    _Atomic bool ended; /* set by its last instruction */
    bool opened, over;  /* its gate was opened; its end was awaited */
    usm_event *event;   /* one count, once it was submitted */
} held_task;

static usm_queue *queues[MOST_TASKS]; /* in order and out of order in turn */
static usm_alloc *memories[MEMORIES];
static held_task tasks[MOST_TASKS];
static int n_tasks, early, order[MOST_TASKS];

static bool in_order(int queue)
{
    return queue % 2 == 0;
}

static void print_program(void)
{
    for (int i = 0; i < n_tasks; i++) {
        fprintf(stderr, "  task %d in queue %d, %s:", i, tasks[i].queue,
                in_order(tasks[i].queue) ? "in order" : "out of order");
        for (int m = 0; m < MEMORIES; m++) {
            static const char *const words[] = {"leaves", "reads", "writes", "reads and writes"};
            fprintf(stderr, " %s %c%s", words[tasks[i].modes[m]], 'a' + m, m < MEMORIES - 1 ? "," : "");
        }
        fprintf(stderr, "%s%s\n", tasks[i].twice ? ", named twice" : "", tasks[i].over ? " (has ended)" : "");
    }
    fprintf(stderr, "  %d gates open before the last task is submitted, in the order", early);
    for (int i = 0; i < n_tasks; i++) {
        fprintf(stderr, " %d", order[i]);
    }
    fprintf(stderr, "\n");
}

/* The two tasks that met. */
static void fail(int first, int second, const char *how)
{
    print_program();
    CHECK_FAIL("task %d %s, although task %d has not ended", second, how, first);
}

static bool conflict(int first, int second)
{
    const held_task *a = &tasks[first], *b = &tasks[second];
    bool conflicts = a->queue == b->queue && in_order(a->queue);
    for (int m = 0; m < MEMORIES; m++) {
        bool both = a->modes[m] != 0 && b->modes[m] != 0;
        conflicts = conflicts || (both && ((a->modes[m] | b->modes[m]) & USM_WRITE) != 0);
    }
    return conflicts;
}

static usm_status run_held(void *argument, usm_error *error)
{
    held_task *self = argument;
    int at = (int)(self - tasks);
    (void)error;
    for (int i = 0; i < at; i++) {
        if (conflict(i, at) && !tasks[i].ended) {
            fail(i, at, "began");
        }
    }
    usm_worker_block(true); /* the queue may need another thread for its other tasks */
    gate_pass(&self->gate);
    usm_worker_block(false);
    self->ended = true;
    return USM_OK;
}

/*
 * Whether the event waits for the other one, itself or through others. A gate keeps each of them from ending
 * meanwhile, but for those that have ended: they give their links back.
 */
static bool leads_to(const usm_event *event, const usm_event *target)
{
    bool found = event == target;
    for (size_t i = 0; !usm_event_ended(event) && i < event->n_links && !found; i++) {
        found = leads_to(event->links[i].event, target);
    }
    return found;
}

static void submit_held(int at)
{
    held_task *self = &tasks[at];
    usm_access accesses[MEMORIES * 2];
    size_t n = 0;
    for (int m = 0; m < MEMORIES; m++) {
        unsigned mode = self->modes[m];
        if (mode != 0 && self->twice) {
            unsigned one = (mode & USM_READ) != 0 ? USM_READ : USM_WRITE;
            unsigned two = (mode & USM_WRITE) != 0 ? USM_WRITE : USM_READ;
            accesses[n++] = (usm_access){memories[m], (usm_access_mode)(at % 2 == 0 ? one : two)};
            accesses[n++] = (usm_access){memories[m], (usm_access_mode)(at % 2 == 0 ? two : one)};
        } else if (mode != 0) {
            accesses[n++] = (usm_access){memories[m], (usm_access_mode)mode};
        }
    }
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {run_held, self}};
    const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = n};
    usm_error error;
    self->gate = (gate)GATE_CLOSED;
    self->ended = self->opened = self->over = false;
    CHECK_OK(usm_queue_submit(queues[self->queue], &submission, &self->event, &error));
    for (int i = 0; i < at; i++) {
        if (conflict(i, at) && !tasks[i].over && !leads_to(self->event, tasks[i].event)) {
            fail(i, at, "does not wait");
        }
    }
}

/* An earlier task that has to end before this one begins; -1: there is none. */
static int blocker(int at)
{
    for (int i = 0; i < at; i++) {
        if (conflict(i, at) && !tasks[i].over) {
            return i;
        }
    }
    return -1;
}

/* Opens a gate, and awaits all that follows from it, of the tasks that were submitted. */
static void open_gate(int which, int submitted)
{
    usm_error error;
    tasks[which].opened = true;
    gate_open(&tasks[which].gate);
    for (int i = 0; i < submitted; i++) {
        int before = blocker(i);
        if (before < 0) {
            gate_await(&tasks[i].gate, 1);
            if (tasks[i].opened && !tasks[i].over) {
                CHECK_OK(usm_event_wait_end(tasks[i].event, NULL, &error));
                CHECK_EQ(usm_event_get_state(tasks[i].event), USM_EVENT_COMPLETE);
                tasks[i].over = true;
            }
        } else if (gate_arrived(&tasks[i].gate) != 0) {
            fail(before, i, "began");
        } else if (usm_event_ended(tasks[i].event)) {
            fail(before, i, "ended");
        }
    }
}

/* Opens `early` gates before the last task is submitted, which may be waited for by none of them. */
static void run_program(void)
{
    for (int i = 0; i < n_tasks - 1; i++) {
        submit_held(i);
    }
    for (int i = 0; i < early; i++) {
        if (order[i] != n_tasks - 1) {
            open_gate(order[i], n_tasks - 1);
        }
    }
    submit_held(n_tasks - 1);
    for (int i = 0; i < n_tasks; i++) {
        if (!tasks[order[i]].opened) {
            open_gate(order[i], n_tasks);
        }
    }
    for (int i = 0; i < n_tasks; i++) {
        CHECK(tasks[i].over);
        usm_event_release(tasks[i].event);
    }
    for (int m = 0; m < MEMORIES; m++) {
        CHECK_EQ(wait_alloc(memories[m], USM_READ_WRITE), USM_OK);
        if (!usm_alloc_is_clean(memories[m])) {
            print_program();
            CHECK_FAIL("all tasks have ended, and memory %c is busy", 'a' + m);
        }
    }
}

/* The next order of the gates, by the alphabet; false, and the first one again, after the last. */
static bool next_order(void)
{
    int i = n_tasks - 2, k = n_tasks - 1;
    while (i >= 0 && order[i] > order[i + 1]) {
        i--;
    }
    for (; i >= 0 && order[k] < order[i]; k--) {
    }
    if (i >= 0) {
        int swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (int low = i + 1, high = n_tasks - 1; low < high; low++, high--) {
        int swap = order[low];
        order[low] = order[high];
        order[high] = swap;
    }
    return i >= 0;
}

static void begin_orders(int n)
{
    n_tasks = n;
    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
}

static void make(int at, int queue, unsigned a, unsigned b, bool twice)
{
    tasks[at] = (held_task){.queue = queue, .modes = {a, b}, .twice = twice};
}

/* Every row of four readers and writers of one memory, each in a queue of its own, or two in each. */
static void four_tasks_in_every_order(void)
{
    static const int queue_of[3][4] = {{0, 1, 2, 3}, {0, 2, 0, 2}, {1, 3, 1, 3}};
    for (unsigned row = 0; row < 16; row++) {
        begin_orders(4);
        do {
            for (early = 0; early < n_tasks; early++) {
                for (int i = 0; i < n_tasks; i++) {
                    unsigned writes = (i + early) % 2 == 0 ? USM_READ_WRITE : USM_WRITE;
                    make(i, queue_of[(row + (unsigned)early) % 3][i], (row >> i & 1) != 0 ? writes : USM_READ,
                         0, early % 2 == 1);
                }
                run_program();
            }
        } while (next_order());
    }
}

/* Every row of three tasks, each of which leaves, reads or writes each of two memories. */
static void two_memories_in_every_order(void)
{
    for (unsigned row = 0; row < 9 * 9 * 9; row++) {
        begin_orders(3);
        do {
            early = (int)row % n_tasks;
            for (unsigned i = 0, rest = row; i < 3; i++, rest /= 9) {
                make((int)i, (int)i, rest % 3, rest % 9 / 3, row % 2 == 1);
            }
            run_program();
        } while (next_order());
    }
}

/*
 * More readers than a list of readers or of dependencies has room for at first, one of them twice in a queue
 * in order; each is the last to end before the writer.
 */
static void each_of_many_readers_is_the_last(void)
{
    for (int last = 0; last < MOST_TASKS - 2; last++) {
        begin_orders(MOST_TASKS - 1);
        for (int i = 0; i < n_tasks; i++) {
            make(i, i, USM_READ, USM_READ, false);
            order[i] = (i + last + 1) % (n_tasks - 1);
        }
        tasks[n_tasks - 2].queue = 4;
        make(n_tasks - 1, n_tasks - 1, USM_WRITE, 0, false);
        order[n_tasks - 1] = order[n_tasks - 2];
        order[n_tasks - 2] = n_tasks - 1; /* its own gate is open before the last reader's */
        early = last % 3 * 7;
        run_program();
    }
}

int main(void)
{
    watchdog(600);
    for (int i = 0; i < MOST_TASKS; i++) {
        queues[i] = new_queue(in_order(i));
    }
    for (int m = 0; m < MEMORIES; m++) {
        memories[m] = new_alloc(64);
    }
    RUN_SETTLED(four_tasks_in_every_order);
    RUN_SETTLED(two_memories_in_every_order);
    RUN_SETTLED(each_of_many_readers_is_the_last);
    for (int i = 0; i < MOST_TASKS; i++) {
        usm_queue_release(queues[i]);
    }
    for (int m = 0; m < MEMORIES; m++) {
        usm_alloc_release(memories[m]);
    }
    return 0;
}
