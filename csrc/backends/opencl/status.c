/* Codes of the driver in words, by the names of the specification, and the statuses that they become. */
#include "opencl.h"

#include "core/tasks/unretrieved.h"

#define NAMES(X)                                    \
    X(CL_DEVICE_NOT_FOUND)                          \
    X(CL_DEVICE_NOT_AVAILABLE)                      \
    X(CL_COMPILER_NOT_AVAILABLE)                    \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)             \
    X(CL_OUT_OF_RESOURCES)                          \
    X(CL_OUT_OF_HOST_MEMORY)                        \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)              \
    X(CL_MEM_COPY_OVERLAP)                          \
    X(CL_BUILD_PROGRAM_FAILURE)                     \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)              \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
    X(CL_COMPILE_PROGRAM_FAILURE)                   \
    X(CL_LINKER_NOT_AVAILABLE)                      \
    X(CL_LINK_PROGRAM_FAILURE)                      \
    X(CL_DEVICE_PARTITION_FAILED)                   \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)             \
    X(CL_INVALID_VALUE)                             \
    X(CL_INVALID_DEVICE_TYPE)                       \
    X(CL_INVALID_PLATFORM)                          \
    X(CL_INVALID_DEVICE)                            \
    X(CL_INVALID_CONTEXT)                           \
    X(CL_INVALID_QUEUE_PROPERTIES)                  \
    X(CL_INVALID_COMMAND_QUEUE)                     \
    X(CL_INVALID_HOST_PTR)                          \
    X(CL_INVALID_MEM_OBJECT)                        \
    X(CL_INVALID_BINARY)                            \
    X(CL_INVALID_BUILD_OPTIONS)                     \
    X(CL_INVALID_PROGRAM)                           \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                \
    X(CL_INVALID_KERNEL_NAME)                       \
    X(CL_INVALID_KERNEL_DEFINITION)                 \
    X(CL_INVALID_KERNEL)                            \
    X(CL_INVALID_ARG_INDEX)                         \
    X(CL_INVALID_ARG_VALUE)                         \
    X(CL_INVALID_ARG_SIZE)                          \
    X(CL_INVALID_KERNEL_ARGS)                       \
    X(CL_INVALID_WORK_DIMENSION)                    \
    X(CL_INVALID_WORK_GROUP_SIZE)                   \
    X(CL_INVALID_WORK_ITEM_SIZE)                    \
    X(CL_INVALID_GLOBAL_OFFSET)                     \
    X(CL_INVALID_EVENT_WAIT_LIST)                   \
    X(CL_INVALID_EVENT)                             \
    X(CL_INVALID_OPERATION)                         \
    X(CL_INVALID_BUFFER_SIZE)                       \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                  \
    X(CL_INVALID_PROPERTY)                          \
    X(CL_INVALID_COMPILER_OPTIONS)                  \
    X(CL_INVALID_LINKER_OPTIONS)                    \
    X(CL_INVALID_DEVICE_PARTITION_COUNT)            \
    X(CL_INVALID_SPEC_ID)                           \
    X(CL_MAX_SIZE_RESTRICTION_EXCEEDED)             \
    X(CL_PLATFORM_NOT_FOUND_KHR)

const char *usm_opencl_name(cl_int code)
{
    switch (code) {
#define CASE(name) \
    case name:     \
        return #name;
        NAMES(CASE)
#undef CASE
    }
    return "CL_UNKNOWN_ERROR";
}

/* CL_OUT_OF_RESOURCES counts as memory: drivers return it where an allocation of their own failed. */
usm_status usm_opencl_failed(usm_error *error, cl_int code, const char *function)
{
    bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                  code == CL_OUT_OF_HOST_MEMORY;
    return usm_error_driver(error, memory ? USM_MEMORY : USM_DRIVER, "opencl", code, usm_opencl_name(code),
                            "%s failed with %s (%d)", function, usm_opencl_name(code), code);
}

void usm_opencl_given_back(cl_int code, const char *function)
{
    usm_error error;
    if (USM_UNLIKELY(code != CL_SUCCESS)) {
        (void)usm_opencl_failed(&error, code, function);
        usm_unretrieved_report_once(&error);
    }
}
