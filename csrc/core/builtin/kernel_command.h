/*
 * Submissions of commands that not every backend has a call for: strided copies, sequences, and fills that
 * the driver's own fill does not take become launches of built-in kernels here, so that no backend sees them.
 */
#ifndef USM_CORE_KERNEL_COMMAND_H
#define USM_CORE_KERNEL_COMMAND_H

#include "core/tasks/submit.h"

/*
 * usm_queue_submit, for any command. Strided commands go to backends whose work is done by the host's loops
 * alone, fills to those that take the pattern (usm_device_info.max_fill), and where the device does not reach
 * the memory: that is the backend's to carry there. The kernel is built before anything is submitted, which
 * may take long (usm_detach). A strided command of many axes is several tasks, of which *out is the last: its
 * first access is of what it writes. No lock held.
 */
usm_status usm_command_submit(usm_queue *queue, const usm_submission *submission, USM_GIVES usm_event **out,
                              usm_error *error);

/* Of a strided command for this queue, where its device takes a kernel. */
struct usm_kernel_plan;
void usm_command_plan(const usm_queue *queue, const usm_strided *strided, struct usm_kernel_plan *plan);

#endif
