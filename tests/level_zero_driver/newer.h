/* Functions that came after version 1.4 of the interface: the header may be older. */
#ifndef SIM_NEWER_H
#define SIM_NEWER_H

#include <level_zero/ze_api.h>

struct _ze_init_driver_type_desc_t;

ze_result_t ZE_APICALL zeInitDrivers(uint32_t *count, ze_driver_handle_t *drivers,
                                     struct _ze_init_driver_type_desc_t *desc);
ze_result_t ZE_APICALL zeDriverGetLastErrorDescription(ze_driver_handle_t driver, const char **text);
ze_result_t ZE_APICALL zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root);
ze_result_t ZE_APICALL zeCommandQueueGetOrdinal(ze_command_queue_handle_t queue, uint32_t *ordinal);
ze_result_t ZE_APICALL zeCommandQueueGetIndex(ze_command_queue_handle_t queue, uint32_t *index);
ze_result_t ZE_APICALL zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);
ze_result_t ZE_APICALL zeCommandListGetDeviceHandle(ze_command_list_handle_t list,
                                                    ze_device_handle_t *device);
ze_result_t ZE_APICALL zeCommandListGetContextHandle(ze_command_list_handle_t list,
                                                     ze_context_handle_t *context);
ze_result_t ZE_APICALL zeCommandListGetOrdinal(ze_command_list_handle_t list, uint32_t *ordinal);
ze_result_t ZE_APICALL zeCommandListImmediateGetIndex(ze_command_list_handle_t list, uint32_t *index);
ze_result_t ZE_APICALL zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t *immediate);
ze_result_t ZE_APICALL zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t list,
                                                                   uint32_t n_lists,
                                                                   ze_command_list_handle_t *lists,
                                                                   ze_event_handle_t signal, uint32_t n_waits,
                                                                   ze_event_handle_t *waits);
ze_result_t ZE_APICALL zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle);
ze_result_t ZE_APICALL zeEventGetEventPool(ze_event_handle_t event, ze_event_pool_handle_t *pool);

#endif
