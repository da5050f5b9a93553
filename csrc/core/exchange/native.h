/*
 * Objects, streams and memory that other libraries share with a driver: what its backend says of them. A
 * backend without such objects has no entries for this group; the functions say what they do then.
 */
#ifndef USM_CORE_NATIVE_H
#define USM_CORE_NATIVE_H

#include "core/device/backend.h"
#include "core/tasks/submit.h"

/* Its devices, contexts and queues are objects of a driver that other libraries use too. */
bool usm_backend_has_native(const usm_backend *backend);
/* It knows whose memory a pointer is; else every pointer of the process is usable. */
bool usm_backend_knows_memory(const usm_backend *backend);

/*
 * The driver's object behind a usm_device, usm_context or usm_queue, which lives as long as that; NULL where
 * there is none. Any thread, any lock.
 */
void *usm_native_handle(const usm_backend *backend, usm_native what, const void *object);
/*
 * The driver's event for a task of which we hold the event, recorded in its stream behind the task; it lives
 * as long as the usm_event. NULL: the task has no such event, or the backend no streams. No lock; one thread
 * at a time.
 */
void *usm_native_event(usm_event *event);
/*
 * Adds a count of a driver's context or queue for somebody else (`more`), or gives back one that somebody
 * added for us. Nothing where the driver does not count. Any thread, no lock.
 */
void usm_native_count(const usm_backend *backend, usm_native what, void *handle, bool more);
/*
 * The device of a driver's queue or stream, where the backend has several; of one device, that one, and the
 * first use of the handle finds out what it is. Any thread, no lock.
 */
usm_status usm_native_device(const usm_backend *backend, void *queue, usm_device **out, usm_error *error);

/* Whose memory is this? Zeros in *info where the backend does not know. Any thread, no lock. */
usm_status usm_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                            usm_error *error);

/*
 * The root device that DLPack calls (type, id); NULL where there is none. Starts backends as needed. Where
 * several have memory of that name (managed and pinned memory of CUDA, always id 0), their driver is asked
 * about `pointer`; NULL: the first of them. May block on the first call: no lock, no GIL.
 */
usm_device *usm_device_from_dlpack(int32_t type, int32_t id, const void *pointer);

#endif
