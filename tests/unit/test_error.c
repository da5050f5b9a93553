/* Errors and failures: contents, ownership, and that only a failure that was raised counts as retrieved. */
#include "check.h"
#include "support.h"

#include "core/base/error.h"
#include "core/base/fault.h"

static void filling(void)
{
    usm_error error;
    memset(&error, 0xff, sizeof error);
    CHECK_EQ(usm_error_set(&error, USM_VALUE, "%d is not %s", 3, "four"), USM_VALUE);
    CHECK(error.status == USM_VALUE && error.code == 0 && error.failure == NULL);
    CHECK(error.backend[0] == '\0' && error.name[0] == '\0');
    CHECK(strcmp(error.text, "3 is not four") == 0);

    memset(&error, 0xff, sizeof error);
    CHECK_EQ(usm_error_driver(&error, USM_DRIVER, "opencl", -5, "CL_OUT_OF_RESOURCES", "no %s", "luck"),
             USM_DRIVER);
    CHECK(error.status == USM_DRIVER && error.code == -5 && error.failure == NULL);
    CHECK(strcmp(error.backend, "opencl") == 0 && strcmp(error.name, "CL_OUT_OF_RESOURCES") == 0);
    CHECK(strcmp(error.text, "no luck") == 0);

    CHECK_EQ(usm_error_memory(&error, 77, "a test"), USM_MEMORY);
    CHECK(strstr(error.text, "77 bytes for a test") != NULL);

    CHECK_EQ(usm_error_set(NULL, USM_TYPE, "nobody listens"), USM_TYPE);
    CHECK_EQ(usm_error_driver(NULL, USM_DRIVER, "host", 1, "X", "nobody listens"), USM_DRIVER);
}

static void long_texts_are_cut(void)
{
    char text[2000];
    usm_error error;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    usm_error_driver(&error, USM_DRIVER, text, 1, text, "%s", text);
    CHECK_EQ(strlen(error.text), sizeof error.text - 1);
    CHECK_EQ(strlen(error.name), sizeof error.name - 1);
    CHECK_EQ(strlen(error.backend), sizeof error.backend - 1);
    usm_error_driver(&error, USM_DRIVER, NULL, 1, NULL, "x");
    CHECK(error.backend[0] == '\0' && error.name[0] == '\0');
}

static usm_failure *make_failure(void)
{
    usm_error error;
    usm_error_driver(&error, USM_DRIVER, "host", 9, "NINE", "the ninth");
    usm_failure *failure = usm_failure_from_error(&error);
    CHECK(failure != NULL);
    return failure;
}

static void failures_carry_the_error(void)
{
    live before = live_now();
    usm_error error;
    usm_failure *failure = make_failure();
    CHECK_EQ(usm_live_count(USM_LIVE_FAILURE), before.counts[USM_LIVE_FAILURE] + 1);
    CHECK(failure->status == USM_DRIVER && failure->code == 9 && strcmp(failure->name, "NINE") == 0);
    CHECK(failure->cause == NULL && failure->payload == NULL && !failure->delivered);

    CHECK_EQ(usm_error_failed(&error, failure), USM_FAILED);
    CHECK_EQ(error.failure->refs.value, 2);
    CHECK_EQ(usm_error_failed(NULL, failure), USM_FAILED);
    usm_error_clear(&error);
    usm_error_clear(&error);
    CHECK_EQ(failure->refs.value, 1);
    usm_failure_release(failure);
}

static void the_first_error_is_the_cause(void)
{
    usm_failure *first = make_failure();
    usm_failure *second = usm_failure_from_cause(first), *third = usm_failure_from_cause(second);
    CHECK(second->cause == first && third->cause == first);
    CHECK(second->status == USM_FAILED && third->code == 9 && strcmp(third->name, "NINE") == 0);
    usm_failure_release(first);
    usm_failure_deliver(third);
    CHECK(third->delivered && first->delivered && !second->delivered);
    usm_failure_release(second);
    usm_failure_release(third);
}

static int released;

static void release_payload(void *payload)
{
    CHECK_EQ(payload, &released);
    released++;
}

static void payloads_are_released_once(void)
{
    released = 0;
    usm_failure *failure = usm_failure_from_payload(&released, release_payload);
    usm_failure *after = usm_failure_from_cause(failure);
    CHECK(after->payload == NULL);
    usm_failure_release(failure);
    CHECK_EQ(released, 0);
    usm_failure_release(after);
    CHECK_EQ(released, 1);
    CHECK(usm_fault_arm("heap", 1));
    CHECK(usm_failure_from_payload(&released, release_payload) == NULL);
    CHECK_EQ(released, 2);
    usm_failure_release(NULL);
}

/* What a host task hands over in error.failure is the task's own failure. */
static void a_failure_in_an_error_is_kept(void)
{
    usm_error error;
    usm_failure *failure = usm_failure_from_payload(&released, release_payload);
    usm_error_failed(&error, failure);
    usm_failure *kept = usm_failure_from_error(&error);
    CHECK_EQ(kept, failure);
    usm_error_clear(&error);
    usm_failure_release(kept);
    usm_failure_release(failure);
}

/* Told to a task that passed it on, it is still news to whoever waits for that task. */
static void a_delivered_failure_in_an_error_becomes_a_cause(void)
{
    usm_error error;
    usm_failure *failure = make_failure();
    usm_failure_deliver(failure);
    usm_error_failed(&error, failure);
    usm_failure *mine = usm_failure_from_error(&error);
    CHECK(mine != failure && mine->cause == failure && !mine->delivered);
    CHECK(mine->code == 9 && strcmp(mine->text, "the ninth") == 0);
    usm_error_clear(&error);
    usm_failure_release(mine);
    usm_failure_release(failure);
}

/* It stands for many failures: retrieving one of them does not retrieve the others. */
static void the_failure_of_last_resort_is_never_told(void)
{
    usm_failure *failure = usm_failure_no_memory();
    usm_failure_deliver(failure);
    CHECK(!failure->delivered);
    usm_failure_release(failure);
    CHECK_EQ(usm_failure_no_memory()->status, USM_MEMORY);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(filling);
    RUN_SETTLED(long_texts_are_cut);
    RUN_SETTLED(failures_carry_the_error);
    RUN_SETTLED(the_first_error_is_the_cause);
    RUN_SETTLED(payloads_are_released_once);
    RUN_SETTLED(a_failure_in_an_error_is_kept);
    RUN_SETTLED(a_delivered_failure_in_an_error_becomes_a_cause);
    RUN_SETTLED(the_failure_of_last_resort_is_never_told);
    return 0;
}
