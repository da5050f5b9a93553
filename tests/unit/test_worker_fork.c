/* fork() with a worker: tasks of threads that the child has not are forgotten, and it goes on. */
#include "check.h"
#include "jobs.h"

#include <signal.h>
#include <sys/wait.h>

static pid_t fork_with(usm_worker *worker)
{
    usm_worker_fork(worker, USM_FORK_PREPARE);
    pid_t child = fork();
    CHECK(child >= 0);
    usm_worker_fork(worker, child == 0 ? USM_FORK_CHILD : USM_FORK_PARENT);
    if (child == 0) {
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        pthread_sigmask(SIG_UNBLOCK, &alarms, NULL); /* of a thread of a worker */
        watchdog(600);                               /* alarms are not inherited */
    }
    return child;
}

static void await_child(pid_t child)
{
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        CHECK_FAIL("the child ended with status %#x", (unsigned)status);
    }
}

static void end_child(usm_work *work)
{
    job *job = (struct job *)work;
    CHECK(n_ran > 0); /* the task that forked, which this thread ended before */
    usm_worker_drop(job->worker);
    _exit(0);
}

/* In the child the thread goes on with what comes next, as it does here. */
static void run_fork(usm_work *work)
{
    job *job = (struct job *)work;
    static struct job next;
    pid_t child = fork_with(job->worker);
    if (child == 0) {
        next = (struct job){.work.run = end_child, .worker = job->worker};
        announce(job->worker);
        usm_worker_put(job->worker, &next.work);
        await_rest();
        CHECK_EQ(n_ran, 0); /* there is no other thread */
    } else {
        await_child(child);
    }
    atomic_fetch_add(&n_ran, 1);
}

static void a_task_that_forks_goes_on_in_both(void)
{
    usm_worker *worker = new_worker(1, NULL);
    job forks = {.worker = worker, .work.run = run_fork}, behind = {.order = 0};
    announce(worker);
    usm_worker_put(worker, &forks.work);
    await_ran(1);
    submit(worker, &behind);
    await_ran(2);
    usm_worker_drop(worker);
}

#ifndef __SANITIZE_THREAD__ /* which does not support threads that start in such a child */
static void a_worker_goes_on_in_the_child(void)
{
    usm_worker *worker = new_worker(2, NULL);
    job before = {.order = 0}, after = {.order = 0};
    submit(worker, &before);
    await_ran(1);
    pid_t child = fork_with(worker);
    submit(worker, &after);
    await_ran(2);
    usm_worker_drop(worker);
    if (child == 0) {
        _exit(0);
    }
    await_child(child);
}

static void tasks_of_other_threads_are_forgotten_in_the_child(void)
{
    usm_worker *worker = new_worker(1, NULL);
    gate held = GATE_CLOSED;
    job running = {.gate = &held}, ready = {.order = 0}, after = {.order = 0};
    submit(worker, &running);
    gate_await(&held, 1);
    submit(worker, &ready);
    announce(worker); /* of a task that waits for others */
    pid_t child = fork_with(worker);
    if (child == 0) {
        submit(worker, &after);
        await_ran(1);
        usm_worker_drop(worker); /* which waits for nothing that was announced in the parent */
        expect_threads("usmpy-queue", 0);
        CHECK_EQ(ready.order, 0);
        _exit(0);
    }
    await_child(child);
    gate_open(&held);
    put(worker, &after);
    await_ran(3);
    CHECK_EQ(after.order, 3);
    usm_worker_drop(worker);
}

/* The one wait of the child is that of the thread that forked: its place is free, and is taken back. */
static void run_fork_in_a_wait(usm_work *work)
{
    job *job = (struct job *)work;
    static struct job others[2];
    static gate held = GATE_CLOSED;
    usm_worker_block(true);
    pid_t child = fork_with(job->worker);
    if (child == 0) {
        others[0].gate = &held;
        submit(job->worker, &others[0]);
        gate_await(&held, 1);
        usm_worker_block(false);
        gate_open(&held);
        expect_threads("usmpy-queue", 1);
        others[1] = (struct job){.work.run = end_child, .worker = job->worker};
        announce(job->worker);
        usm_worker_put(job->worker, &others[1].work);
    } else {
        await_child(child);
        usm_worker_block(false);
    }
    atomic_fetch_add(&n_ran, 1);
}

static void a_task_that_forks_in_a_wait(void)
{
    usm_worker *worker = new_worker(1, NULL);
    job forks = {.worker = worker, .work.run = run_fork_in_a_wait};
    announce(worker);
    usm_worker_put(worker, &forks.work);
    await_ran(1);
    usm_worker_drop(worker);
}
#endif

int main(void)
{
    watchdog(600);
    RUN_ALONE(a_task_that_forks_goes_on_in_both);
#ifndef __SANITIZE_THREAD__
    RUN_ALONE(a_worker_goes_on_in_the_child);
    RUN_ALONE(tasks_of_other_threads_are_forgotten_in_the_child);
    RUN_ALONE(a_task_that_forks_in_a_wait);
#endif
    return 0;
}
