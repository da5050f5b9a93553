/* Results of the driver in words, by the names of the specification, and the statuses that they become. */
#include "level_zero.h"

#include "core/tasks/unretrieved.h"

#define NAMES(X)                                      \
    X(ZE_RESULT_NOT_READY)                            \
    X(ZE_RESULT_ERROR_DEVICE_LOST)                    \
    X(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)             \
    X(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)           \
    X(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)           \
    X(ZE_RESULT_ERROR_MODULE_LINK_FAILURE)            \
    X(ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET)          \
    X(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE)      \
    X(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS)       \
    X(ZE_RESULT_ERROR_NOT_AVAILABLE)                  \
    X(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE)         \
    X(ZE_RESULT_ERROR_UNINITIALIZED)                  \
    X(ZE_RESULT_ERROR_UNSUPPORTED_VERSION)            \
    X(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)            \
    X(ZE_RESULT_ERROR_INVALID_ARGUMENT)               \
    X(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)            \
    X(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE)           \
    X(ZE_RESULT_ERROR_INVALID_NULL_POINTER)           \
    X(ZE_RESULT_ERROR_INVALID_SIZE)                   \
    X(ZE_RESULT_ERROR_UNSUPPORTED_SIZE)               \
    X(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT)          \
    X(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT) \
    X(ZE_RESULT_ERROR_INVALID_ENUMERATION)            \
    X(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION)        \
    X(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT)       \
    X(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY)          \
    X(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME)            \
    X(ZE_RESULT_ERROR_INVALID_KERNEL_NAME)            \
    X(ZE_RESULT_ERROR_INVALID_FUNCTION_NAME)          \
    X(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION)   \
    X(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION) \
    X(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX)  \
    X(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE)   \
    X(ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE) \
    X(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED)        \
    X(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE)      \
    X(ZE_RESULT_ERROR_OVERLAPPING_REGIONS)

const char *usm_level_zero_name(ze_result_t result)
{
    switch (result) {
#define CASE(name) \
    case name:     \
        return #name;
        NAMES(CASE)
#undef CASE
        default:
            return "ZE_RESULT_ERROR_UNKNOWN";
    }
}

usm_status usm_level_zero_failed(usm_error *error, ze_result_t result, const char *function)
{
    bool memory =
        result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    return usm_error_driver(error, memory ? USM_MEMORY : USM_DRIVER, "level_zero", (int)result,
                            usm_level_zero_name(result), "%s failed with %s (0x%x)", function,
                            usm_level_zero_name(result), (unsigned)result);
}

void usm_level_zero_given_back(ze_result_t result, const char *function)
{
    usm_error error;
    if (USM_UNLIKELY(result != ZE_RESULT_SUCCESS && result != ZE_RESULT_ERROR_DEVICE_LOST)) {
        (void)usm_level_zero_failed(&error, result, function);
        usm_unretrieved_report_once(&error);
    }
}
