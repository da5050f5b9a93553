/* A driver without devices, in the place of Level Zero's. */
#include "support.h"

void (*driver_start)(void);

static usm_status start_without_devices(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    (void)devices;
    (void)n_devices;
    if (driver_start != NULL) {
        driver_start();
    }
    return usm_error_set(error, USM_UNAVAILABLE, "the driver of these tests has no device");
}

extern const usm_backend usm_level_zero_backend;
const usm_backend usm_level_zero_backend = {.name = "level_zero", .start = start_without_devices};

const usm_backend_report *start_driver(void)
{
    return usm_backend_start(usm_backend_index("level_zero", strlen("level_zero")));
}
