/*
 * Tasks that nobody has, and whose successor touches the same memory in the same way: one event stands for
 * both. A loop of launches then makes one event instead of one a launch, and its end ends all of them.
 */
#ifndef USM_CORE_REPEAT_H
#define USM_CORE_REPEAT_H

#include "queue.h"

/*
 * The queue's last task, without a count, where it can stand for the submission too; it is then as if it had
 * not been given to the driver yet, until usm_repeat_submit, which must follow. NULL: the submission needs a
 * task of its own. Queue lock and the stripes of all accesses held.
 */
usm_event *usm_repeat_begin(usm_queue *queue, const usm_submission *submission);
/*
 * Gives the command to the driver, behind all that the event stood for before. On failure it stands for that
 * alone. Queue lock held, no stripe.
 */
usm_status usm_repeat_submit(usm_event *event, const usm_submission *submission, usm_error *error);

#endif
