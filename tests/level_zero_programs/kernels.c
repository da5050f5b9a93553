/* Modules and kernels. The SPIR-V is the file named by the variable KERNELS: kernels.spv, of kernels.cl. */
#include "program.h"

#define LOG 65536

static unsigned char *spirv;
static size_t spirv_size;
static ze_command_list_handle_t list;
static ze_event_pool_handle_t pool;
static ze_event_handle_t event;

static void begin(void)
{
    FILE *file = fopen(getenv("KERNELS"), "rb");
    CHECK(file != NULL);
    spirv = malloc(1 << 20);
    spirv_size = fread(spirv, 1, 1 << 20, file);
    fclose(file);
    CHECK(spirv_size > 1000);
    open_context();
    list = new_list(devices[0], IN_ORDER);
    pool = new_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    event = new_event(pool, 0);
}

static void end(void)
{
    OK(zeEventDestroy(event));
    OK(zeEventPoolDestroy(pool));
    OK(zeCommandListDestroy(list));
    close_context();
}

static ze_result_t build(ze_module_format_t format, const void *input, size_t size,
                         const ze_module_constants_t *constants, ze_module_handle_t *module, char *text)
{
    ze_module_build_log_handle_t log;
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = format,
                             .inputSize = size,
                             .pInputModule = input,
                             .pBuildFlags = "-ze-opt-disable -ze-opt-greater-than-4GB-buffer-required",
                             .pConstants = constants};
    ze_result_t result = zeModuleCreate(context, devices[0], &desc, module, &log);
    size_t length = 0;
    if (log == NULL)
        return result;
    OK(zeModuleBuildLogGetString(log, &length, NULL));
    CHECK(length > 0 && length < LOG);
    OK(zeModuleBuildLogGetString(log, &length, text));
    OK(zeModuleBuildLogDestroy(log));
    return result;
}

static ze_module_handle_t new_module(void)
{
    char text[LOG];
    ze_module_handle_t module;
    OK(build(ZE_MODULE_FORMAT_IL_SPIRV, spirv, spirv_size, NULL, &module, text));
    return module;
}

static ze_kernel_handle_t new_kernel(ze_module_handle_t module, const char *name)
{
    ze_kernel_handle_t kernel;
    ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    OK(zeKernelCreate(module, &desc, &kernel));
    return kernel;
}

static void launch(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    ze_group_count_t count = {x, y, z};
    OK(zeCommandListAppendLaunchKernel(list, kernel, &count, event, 0, NULL));
}

static void wait_for_it(void)
{
    OK(zeEventHostSynchronize(event, UINT64_MAX));
    OK(zeEventHostReset(event));
}

static void a_kernel_runs_with_the_arguments_that_it_was_appended_with(void)
{
    begin();
    ze_module_handle_t module = new_module();
    ze_kernel_handle_t add = new_kernel(module, "add");
    int *a = new_memory(ZE_MEMORY_TYPE_SHARED, 4000), *b = new_memory(ZE_MEMORY_TYPE_HOST, 4000);
    int *c = new_memory(ZE_MEMORY_TYPE_SHARED, 4000), more = 5, other = 1000;
    uint32_t x, y, z;
    for (int i = 0; i < 1000; i++)
        a[i] = i, b[i] = 2 * i;
    OK(zeKernelSetArgumentValue(add, 0, 8, &a));
    OK(zeKernelSetArgumentValue(add, 1, 8, &b));
    OK(zeKernelSetArgumentValue(add, 2, 8, &c));
    ze_group_count_t one = {1, 1, 1};
    ENDS(zeCommandListAppendLaunchKernel(list, add, &one, NULL, 0, NULL), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(zeKernelSetArgumentValue(add, 3, 4, &more));
    OK(zeKernelSuggestGroupSize(add, 1000, 1, 1, &x, &y, &z));
    CHECK(x > 1 && 1000 % x == 0 && y == 1 && z == 1);
    OK(zeKernelSetGroupSize(add, x, y, z));
    pause_all(true);
    launch(add, 1000 / x, 1, 1);
    OK(zeKernelSetArgumentValue(add, 3, 4, &other)); /* for the next launch */
    pause_all(false);
    wait_for_it();
    for (int i = 0; i < 1000; i++)
        CHECK(c[i] == 3 * i + 5);
    launch(add, 1000 / x, 1, 1);
    wait_for_it();
    CHECK(c[999] == 3 * 999 + 1000);
    OK(zeMemFree(context, a));
    OK(zeMemFree(context, b));
    OK(zeMemFree(context, c));
    OK(zeKernelDestroy(add));
    OK(zeModuleDestroy(module));
    end();
}

static void local_memory_and_values(void)
{
    begin();
    ze_module_handle_t module = new_module();
    ze_kernel_handle_t sums = new_kernel(module, "sums"), by_value = new_kernel(module, "by_value");
    int *a = new_memory(ZE_MEMORY_TYPE_SHARED, 4 * 256), *out = new_memory(ZE_MEMORY_TYPE_SHARED, 64);
    float *floats = new_memory(ZE_MEMORY_TYPE_SHARED, 64);
    struct {
        int first;
        float second;
    } pair = {3, 0.5f};
    double d = 0.25;
    char c = -7;
    for (int i = 0; i < 256; i++)
        a[i] = i;
    OK(zeKernelSetArgumentValue(sums, 0, 8, &a));
    OK(zeKernelSetArgumentValue(sums, 1, 8, &out));
    ENDS(zeKernelSetArgumentValue(sums, 2, 4, &d), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(zeKernelSetArgumentValue(sums, 2, 64 * 4, NULL));
    OK(zeKernelSetGroupSize(sums, 64, 1, 1));
    launch(sums, 4, 1, 1);
    wait_for_it();
    for (int i = 0; i < 4; i++)
        CHECK(out[i] == 64 * 64 * i + 63 * 32);
    OK(zeKernelSetArgumentValue(sums, 2, 1 << 20, NULL));
    ze_group_count_t one = {1, 1, 1};
    ENDS(zeCommandListAppendLaunchKernel(list, sums, &one, NULL, 0, NULL),
         ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    OK(zeKernelSetArgumentValue(by_value, 0, sizeof(pair), &pair));
    OK(zeKernelSetArgumentValue(by_value, 1, sizeof(d), &d));
    ENDS(zeKernelSetArgumentValue(by_value, 1, 4, &d), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
    OK(zeKernelSetArgumentValue(by_value, 2, sizeof(c), &c));
    OK(zeKernelSetArgumentValue(by_value, 3, sizeof(floats), &floats));
    ENDS(zeKernelSetArgumentValue(by_value, 4, 4, &d), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
    OK(zeKernelSetGroupSize(by_value, 1, 1, 1));
    launch(by_value, 1, 1, 1);
    wait_for_it();
    CHECK(floats[0] == 3.5f && floats[1] == 0.25f && floats[2] == -7.0f);
    OK(zeMemFree(context, a));
    OK(zeMemFree(context, out));
    OK(zeMemFree(context, floats));
    OK(zeKernelDestroy(sums));
    OK(zeKernelDestroy(by_value));
    OK(zeModuleDestroy(module));
    end();
}

static void three_dimensions_and_a_required_group(void)
{
    begin();
    ze_module_handle_t module = new_module();
    ze_kernel_handle_t grid = new_kernel(module, "grid"), nothing = new_kernel(module, "nothing");
    uint32_t *out = new_memory(ZE_MEMORY_TYPE_SHARED, 8 * 4 * 3 * 4), x, y, z;
    ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    OK(zeKernelGetProperties(grid, &properties));
    CHECK(properties.numKernelArgs == 1);
    CHECK(properties.requiredGroupSizeX == 4 && properties.requiredGroupSizeY == 2);
    OK(zeKernelSuggestGroupSize(grid, 8, 4, 3, &x, &y, &z));
    CHECK(x == 4 && y == 2 && z == 1);
    ENDS(zeKernelSetGroupSize(grid, 8, 1, 1), ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
    ENDS(zeKernelSetGroupSize(nothing, 64, 64, 1), ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
    ENDS(zeKernelSetGroupSize(nothing, 0, 1, 1), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    OK(zeKernelSetGroupSize(grid, 4, 2, 1));
    OK(zeKernelSetArgumentValue(grid, 0, 8, &out));
    launch(grid, 2, 2, 3);
    wait_for_it();
    for (uint32_t i = 0; i < 96; i++)
        CHECK(out[i] == 100 * (i / 32) + 10 * (i / 8 % 4) + i % 8);
    OK(zeKernelSetGroupSize(nothing, 1, 1, 1));
    launch(nothing, 0, 1, 1); /* no work-items */
    wait_for_it();
    OK(zeMemFree(context, out));
    OK(zeKernelDestroy(grid));
    OK(zeKernelDestroy(nothing));
    OK(zeModuleDestroy(module));
    end();
}

static void names_and_properties(void)
{
    begin();
    ze_module_handle_t module = new_module();
    uint32_t n = 0;
    const char *names[16];
    OK(zeModuleGetKernelNames(module, &n, NULL));
    CHECK(n == 8);
    OK(zeModuleGetKernelNames(module, &n, names));
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found = found || strcmp(names[i], "by_value") == 0;
    CHECK(found);
    ze_module_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES, .flags = 99};
    OK(zeModuleGetProperties(module, &properties));
    CHECK(properties.flags == 0);
    ze_kernel_handle_t kernel;
    ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "none"};
    ENDS(zeKernelCreate(module, &desc, &kernel), ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
    kernel = new_kernel(module, "sums");
    char name[16];
    size_t length = 0;
    OK(zeKernelGetName(kernel, &length, NULL));
    CHECK(length == 5);
    OK(zeKernelGetName(kernel, &length, name));
    CHECK(strcmp(name, "sums") == 0);
    OK(zeKernelDestroy(kernel));
    OK(zeModuleDestroy(module));
    end();
}

static int run_constants(ze_module_handle_t module, int second)
{
    int *out = new_memory(ZE_MEMORY_TYPE_SHARED, 64), result;
    ze_kernel_handle_t kernel = new_kernel(module, "constants");
    OK(zeKernelSetArgumentValue(kernel, 0, 8, &out));
    OK(zeKernelSetGroupSize(kernel, 1, 1, 1));
    launch(kernel, 1, 1, 1);
    wait_for_it();
    result = out[0];
    CHECK(out[1] == second);
    OK(zeMemFree(context, out));
    OK(zeKernelDestroy(kernel));
    OK(zeModuleDestroy(module));
    return result;
}

static void specialization_constants(void)
{
    begin();
    char text[LOG];
    ze_module_handle_t module;
    uint32_t ids[] = {8, 7};
    int16_t first = -3;
    int32_t second = 123456;
    const void *values[] = {&first, &second};
    ze_module_constants_t constants = {2, ids, values};
    CHECK(run_constants(new_module(), 12) == 11);
    OK(build(ZE_MODULE_FORMAT_IL_SPIRV, spirv, spirv_size, &constants, &module, text));
    CHECK(run_constants(module, -3) == 123456);
    ids[0] = 99;
    ENDS(build(ZE_MODULE_FORMAT_IL_SPIRV, spirv, spirv_size, &constants, &module, text),
         ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    CHECK(strstr(text, "99") != NULL);
    end();
}

static void native_binaries_come_back(void)
{
    begin();
    char text[LOG];
    ze_module_handle_t module = new_module();
    size_t size = 0;
    OK(zeModuleGetNativeBinary(module, &size, NULL));
    unsigned char *binary = malloc(size);
    OK(zeModuleGetNativeBinary(module, &size, binary));
    OK(zeModuleDestroy(module));
    OK(build(ZE_MODULE_FORMAT_NATIVE, binary, size, NULL, &module, text));
    CHECK(run_constants(module, 12) == 11);
    for (size_t cut = 1; cut < size; cut += size / 7)
        ENDS(build(ZE_MODULE_FORMAT_NATIVE, binary, cut, NULL, &module, text),
             ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
    binary[size / 2] ^= 1;
    ENDS(build(ZE_MODULE_FORMAT_NATIVE, binary, size, NULL, &module, text),
         ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
    free(binary);
    end();
}

static void a_module_that_is_cut_short_has_a_log(void)
{
    begin();
    char text[LOG];
    ze_module_handle_t module;
    for (size_t size = 1; size < spirv_size; size += 4) {
        ENDS(build(ZE_MODULE_FORMAT_IL_SPIRV, spirv, size, NULL, &module, text),
             ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
        CHECK(text[0] != '\0');
    }
    end();
}

static void memory_that_the_device_does_not_know_is_told(void)
{
    begin();
    ze_module_handle_t module = new_module();
    ze_kernel_handle_t kernel = new_kernel(module, "constants");
    int plain[2], *at = plain;
    OK(zeKernelSetArgumentValue(kernel, 0, 8, &at));
    OK(zeKernelSetGroupSize(kernel, 1, 1, 1));
    launch(kernel, 1, 1, 1);
    CHECK(was_told("argument 0 is memory that the driver does not know"));
    wait_for_it();
    pause_all(true);
    launch(kernel, 1, 1, 1);
    was_told("");
    OK(zeKernelDestroy(kernel));
    CHECK(was_told("a launch of constants has not ended"));
    OK(zeModuleDestroy(module));
    pause_all(false);
    wait_for_it();
    end();
}

static void a_list_that_only_copies_takes_no_kernel(void)
{
    begin();
    ze_module_handle_t module = new_module();
    ze_kernel_handle_t kernel = new_kernel(module, "nothing");
    ze_command_list_handle_t copies;
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 1};
    ze_group_count_t one = {1, 1, 1};
    OK(zeCommandListCreateImmediate(context, devices[0], &desc, &copies));
    OK(zeKernelSetGroupSize(kernel, 1, 1, 1));
    ENDS(zeCommandListAppendLaunchKernel(copies, kernel, &one, NULL, 0, NULL),
         ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    OK(zeCommandListDestroy(copies));
    OK(zeKernelDestroy(kernel));
    OK(zeModuleDestroy(module));
    end();
}

/* Where a launch kept the kernel to itself while it runs, the other could not begin. */
static void one_kernel_runs_in_two_lists_at_once(void)
{
    begin();
    ze_module_handle_t module = new_module();
    ze_kernel_handle_t meet = new_kernel(module, "meet");
    ze_command_list_handle_t lists[2] = {list, new_list(devices[0], IN_ORDER)};
    int *arrived = new_memory(ZE_MEMORY_TYPE_SHARED, 64), *met = new_memory(ZE_MEMORY_TYPE_SHARED, 64);
    int looks = 1 << 28;
    ze_group_count_t one = {1, 1, 1};
    *arrived = met[0] = met[1] = 0;
    OK(zeKernelSetGroupSize(meet, 1, 1, 1));
    OK(zeKernelSetArgumentValue(meet, 0, 8, &arrived));
    OK(zeKernelSetArgumentValue(meet, 1, 8, &met));
    OK(zeKernelSetArgumentValue(meet, 3, 4, &looks));
    for (int i = 0; i < 2; i++) {
        OK(zeKernelSetArgumentValue(meet, 2, 4, &i));
        OK(zeCommandListAppendLaunchKernel(lists[i], meet, &one, NULL, 0, NULL));
    }
    for (int i = 0; i < 2; i++) {
        OK(zeCommandListAppendBarrier(lists[i], event, 0, NULL));
        wait_for_it();
    }
    CHECK(met[0] && met[1]);
    OK(zeCommandListDestroy(lists[1]));
    OK(zeMemFree(context, arrived));
    OK(zeMemFree(context, met));
    OK(zeKernelDestroy(meet));
    OK(zeModuleDestroy(module));
    end();
}

MAIN(TEST(a_kernel_runs_with_the_arguments_that_it_was_appended_with), TEST(local_memory_and_values),
     TEST(three_dimensions_and_a_required_group), TEST(names_and_properties), TEST(specialization_constants),
     TEST(native_binaries_come_back), TEST(a_module_that_is_cut_short_has_a_log),
     TEST(memory_that_the_device_does_not_know_is_told), TEST(a_list_that_only_copies_takes_no_kernel),
     TEST(one_kernel_runs_in_two_lists_at_once))
