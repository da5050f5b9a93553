/* Memory of the host for several processes: files in memory (memfd_create), which need no /dev/shm. */
#ifndef USM_CORE_MEMFD_H
#define USM_CORE_MEMFD_H

#include "core/device/backend.h"

/* For places of the host's device. */
extern const usm_share_entries usm_memfd_entries;

#endif
