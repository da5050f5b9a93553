/*
 * How a loader finds the driver's functions: one exported function a table, which fills it as far as the
 * version goes that the loader asked for. What lies behind may be the loader's own stack.
 */
#include "driver.h"

typedef void (*sim_any)(void);

/* A place at the end is left alone where the loader may not have it. */
static ze_result_t fill(sim_any *table, ze_api_version_t version, uint32_t place, uint32_t since,
                        int function, sim_any value)
{
    if (ZE_MAJOR_VERSION(version) != 1)
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    if (ZE_MINOR_VERSION(version) < since)
        return ZE_RESULT_SUCCESS;
    const sim_setup *setup = sim_settings();
    bool absent = function >= 0 && (setup->without[function] || since > setup->api_minor);
    table[place] = absent ? NULL : value;
    return ZE_RESULT_SUCCESS;
}

/* One pass over the list for each table: entries of other tables are compiled away. */
enum {
    TABLE_Global,
    TABLE_Driver,
    TABLE_DriverExp,
    TABLE_Device,
    TABLE_DeviceExp,
    TABLE_Context,
    TABLE_CommandQueue,
    TABLE_CommandList,
    TABLE_CommandListExp,
    TABLE_Image,
    TABLE_ImageExp,
    TABLE_Mem,
    TABLE_MemExp,
    TABLE_Fence,
    TABLE_EventPool,
    TABLE_Event,
    TABLE_EventExp,
    TABLE_Module,
    TABLE_ModuleBuildLog,
    TABLE_Kernel,
    TABLE_KernelExp,
    TABLE_Sampler,
    TABLE_PhysicalMem,
    TABLE_VirtualMem,
    TABLE_FabricVertexExp,
    TABLE_FabricEdgeExp,
};

static ze_result_t fill_table(int which, ze_api_version_t version, void *table)
{
    if (table == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ze_result_t result = ZE_RESULT_SUCCESS;
#define SIM_ENTRY(name, place, since, function)               \
    if (TABLE_##name == which && result == ZE_RESULT_SUCCESS) \
        result = fill(table, version, place, since, SIM_FN_##function, (sim_any)function);
#define SIM_EMPTY(name, place, since)                         \
    if (TABLE_##name == which && result == ZE_RESULT_SUCCESS) \
        result = fill(table, version, place, since, -1, NULL);
#include "tables.inc"
#undef SIM_ENTRY
#undef SIM_EMPTY
    return result;
}

#define TABLE(name)                                                                                      \
    SIM_EXPORT ze_result_t ZE_APICALL zeGet##name##ProcAddrTable(ze_api_version_t version, void *table); \
    ze_result_t ZE_APICALL zeGet##name##ProcAddrTable(ze_api_version_t version, void *table)             \
    {                                                                                                    \
        return fill_table(TABLE_##name, version, table);                                                 \
    }

TABLE(Global)
TABLE(Driver)
TABLE(DriverExp)
TABLE(Device)
TABLE(DeviceExp)
TABLE(Context)
TABLE(CommandQueue)
TABLE(CommandList)
TABLE(CommandListExp)
TABLE(Image)
TABLE(ImageExp)
TABLE(Mem)
TABLE(MemExp)
TABLE(Fence)
TABLE(EventPool)
TABLE(Event)
TABLE(EventExp)
TABLE(Module)
TABLE(ModuleBuildLog)
TABLE(Kernel)
TABLE(KernelExp)
TABLE(Sampler)
TABLE(PhysicalMem)
TABLE(VirtualMem)
TABLE(FabricVertexExp)
TABLE(FabricEdgeExp)

/*
 * The tables of tools and system management, of which the driver has nothing: they stay as the loader made
 * them, all zeros. Loaders of 1.8 refuse a driver that lacks one of these functions.
 */
#define LEFT_EMPTY(function)                                                           \
    SIM_EXPORT ze_result_t ZE_APICALL function(ze_api_version_t version, void *table); \
    ze_result_t ZE_APICALL function(ze_api_version_t version, void *table)             \
    {                                                                                  \
        return fill_nothing(version, table);                                           \
    }

static ze_result_t fill_nothing(ze_api_version_t version, const void *table)
{
    if (table == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return ZE_MAJOR_VERSION(version) == 1 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
}

LEFT_EMPTY(zetGetDeviceProcAddrTable)
LEFT_EMPTY(zetGetContextProcAddrTable)
LEFT_EMPTY(zetGetCommandListProcAddrTable)
LEFT_EMPTY(zetGetModuleProcAddrTable)
LEFT_EMPTY(zetGetKernelProcAddrTable)
LEFT_EMPTY(zetGetMetricGroupProcAddrTable)
LEFT_EMPTY(zetGetMetricGroupExpProcAddrTable)
LEFT_EMPTY(zetGetMetricProcAddrTable)
LEFT_EMPTY(zetGetMetricStreamerProcAddrTable)
LEFT_EMPTY(zetGetMetricQueryPoolProcAddrTable)
LEFT_EMPTY(zetGetMetricQueryProcAddrTable)
LEFT_EMPTY(zetGetTracerExpProcAddrTable)
LEFT_EMPTY(zetGetDebugProcAddrTable)
LEFT_EMPTY(zesGetDriverProcAddrTable)
LEFT_EMPTY(zesGetDeviceProcAddrTable)
LEFT_EMPTY(zesGetSchedulerProcAddrTable)
LEFT_EMPTY(zesGetPerformanceFactorProcAddrTable)
LEFT_EMPTY(zesGetPowerProcAddrTable)
LEFT_EMPTY(zesGetFrequencyProcAddrTable)
LEFT_EMPTY(zesGetEngineProcAddrTable)
LEFT_EMPTY(zesGetStandbyProcAddrTable)
LEFT_EMPTY(zesGetFirmwareProcAddrTable)
LEFT_EMPTY(zesGetMemoryProcAddrTable)
LEFT_EMPTY(zesGetFabricPortProcAddrTable)
LEFT_EMPTY(zesGetTemperatureProcAddrTable)
LEFT_EMPTY(zesGetPsuProcAddrTable)
LEFT_EMPTY(zesGetFanProcAddrTable)
LEFT_EMPTY(zesGetLedProcAddrTable)
LEFT_EMPTY(zesGetRasProcAddrTable)
LEFT_EMPTY(zesGetDiagnosticsProcAddrTable)
