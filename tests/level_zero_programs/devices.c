/* Devices, their parts and properties. What the test asks for is in its environment. */
#include "program.h"

static uint32_t expected(const char *name)
{
    CHECK(getenv(name) != NULL);
    return (uint32_t)atoi(getenv(name));
}

static ze_device_properties_t properties_of(ze_device_handle_t device)
{
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    OK(zeDeviceGetProperties(device, &properties));
    return properties;
}

/* EXPECT_DEVICES and EXPECT_PARTS: what zeDeviceGet() and zeDeviceGetSubDevices() give. */
static void counts(void)
{
    /* Loaders from 1.19 on leave out drivers without a device. */
    if (expected("EXPECT_DEVICES") == 0 && zeInit(0) == ZE_RESULT_ERROR_UNINITIALIZED) {
        exit(0); /* there is no driver that could have seen anything */
    }
    open_driver();
    CHECK(n_devices == expected("EXPECT_DEVICES"));
    for (uint32_t i = 0; i < n_devices; i++) {
        ze_device_handle_t parts[16];
        uint32_t n = 0;
        OK(zeDeviceGetSubDevices(devices[i], &n, NULL));
        CHECK(n == expected("EXPECT_PARTS"));
        if (n > 0)
            OK(zeDeviceGetSubDevices(devices[i], &n, parts));
        ze_device_properties_t whole = properties_of(devices[i]);
        bool is_part = (whole.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0;
        CHECK(is_part == (expected("EXPECT_FLAG") != 0));
        for (uint32_t k = 0; k < n; k++) {
            ze_device_properties_t part = properties_of(parts[k]);
            CHECK((part.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0 && part.subdeviceId == k);
            CHECK(memcmp(&part.uuid, &whole.uuid, sizeof(part.uuid)) != 0);
            CHECK(part.numEUsPerSubslice * n == whole.numEUsPerSubslice);
        }
        for (uint32_t k = 0; k < i; k++) {
            ze_device_properties_t other = properties_of(devices[k]);
            CHECK(memcmp(&whole.uuid, &other.uuid, sizeof(other.uuid)) != 0);
        }
    }
}

static void groups_of_queues(void)
{
    open_context();
    uint32_t n = 0;
    OK(zeDeviceGetCommandQueueGroupProperties(devices[0], &n, NULL));
    CHECK(n == 2);
    ze_command_queue_group_properties_t groups[2] = {
        {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES},
        {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES}};
    OK(zeDeviceGetCommandQueueGroupProperties(devices[0], &n, groups));
    CHECK((groups[0].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0);
    CHECK(groups[1].flags == ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
    ze_command_list_handle_t list;
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 1};
    desc.index = groups[1].numQueues;
    ENDS(zeCommandListCreateImmediate(context, devices[0], &desc, &list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    desc.index = 0;
    OK(zeCommandListCreateImmediate(context, devices[0], &desc, &list));
    char *memory = new_memory(ZE_MEMORY_TYPE_SHARED, 1024), pattern[256] = {0};
    size_t most = groups[1].maxMemoryFillPatternSize;
    OK(zeCommandListAppendMemoryFill(list, memory, pattern, most, 1024, NULL, 0, NULL));
    ENDS(zeCommandListAppendMemoryFill(list, memory, pattern, 2 * most, 1024, NULL, 0, NULL),
         ZE_RESULT_ERROR_INVALID_SIZE);
    ENDS(zeCommandListAppendMemoryFill(list, memory, pattern, 3, 1023, NULL, 0, NULL),
         ZE_RESULT_ERROR_INVALID_SIZE);
    while (live("command") > 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    OK(zeMemFree(context, memory));
    OK(zeCommandListDestroy(list));
    close_context();
}

/* EXPECT_PEER */
static void peers(void)
{
    open_driver();
    ze_bool_t peer = 0;
    OK(zeDeviceCanAccessPeer(devices[0], devices[1], &peer));
    CHECK(peer == expected("EXPECT_PEER"));
    OK(zeDeviceCanAccessPeer(devices[0], devices[0], &peer));
    CHECK(peer);
    ze_device_p2p_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
    OK(zeDeviceGetP2PProperties(devices[0], devices[1], &properties));
    CHECK((properties.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS) == expected("EXPECT_PEER"));
}

/* EXPECT_GPU: is there a driver when graphics cards alone are asked for? */
static void kinds_that_are_asked_for(void)
{
    bool gpu = expected("EXPECT_GPU") != 0;
    ze_init_flag_t right = gpu ? ZE_INIT_FLAG_GPU_ONLY : ZE_INIT_FLAG_VPU_ONLY;
    OK(zeInit(right));
    uint32_t n = 1;
    OK(zeDriverGet(&n, &driver));
    CHECK(n == 1);
    n_devices = 1;
    OK(zeDeviceGet(driver, &n_devices, devices));
    CHECK(properties_of(devices[0]).type == (gpu ? ZE_DEVICE_TYPE_GPU : ZE_DEVICE_TYPE_VPU));
}

/* EXPECT_MINOR: the driver says that it is of this version; older ones have no lists in order. */
static void version_of_the_interface(void)
{
    open_context();
    ze_api_version_t version;
    OK(zeDriverGetApiVersion(driver, &version));
    CHECK(ZE_MINOR_VERSION(version) == expected("EXPECT_MINOR"));
    ze_command_list_handle_t list;
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .flags = IN_ORDER};
    ze_result_t result = zeCommandListCreateImmediate(context, devices[0], &desc, &list);
    ENDS(result, expected("EXPECT_MINOR") < 7 ? ZE_RESULT_ERROR_INVALID_ENUMERATION : ZE_RESULT_SUCCESS);
    if (result == ZE_RESULT_SUCCESS)
        OK(zeCommandListDestroy(list));
    close_context();
}

MAIN(TEST(counts), TEST(groups_of_queues), TEST(peers), TEST(kinds_that_are_asked_for),
     TEST(version_of_the_interface))
