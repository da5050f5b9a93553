/* DLPack tensors: what is taken of foreign ones, what is refused, and the tensors that are handed out. */
#include "check.h"
#include "support.h"

#include "core/exchange/dlpack_types.h"
#include "core/exchange/dltensor.h"

#include <stdlib.h>

#define FLOAT32         \
    {                   \
        kDLFloat, 32, 1 \
    }
#define FLOAT4                 \
    {                          \
        kDLFloat4_e2m1fn, 4, 1 \
    }
#define FLOAT6                 \
    {                          \
        kDLFloat6_e2m3fn, 6, 1 \
    }
#define INT8         \
    {                \
        kDLInt, 8, 1 \
    }
#define MOST INT64_MAX
#define LEAST INT64_MIN

static char memory[4096];

static usm_status take(const DLTensor *tensor, uint64_t flags, usm_dtype *dtype, int64_t *shape,
                       int64_t *strides, int64_t *low, int64_t *high, usm_error *error)
{
    usm_status status = usm_dltensor_check(tensor, flags, dtype, error);
    bool wraps = false;
    if (status == USM_OK) {
        status = usm_dltensor_layout(tensor, *dtype, shape, strides, low, high, &wraps, error);
    }
    return status == USM_OK && wraps ? usm_dltensor_refuse(tensor, error) : status; /* no bounds are known */
}

static void types(void)
{
    int taken = 0;
    usm_error error;
    for (int code = 0; code < 256; code++) {
        for (int bits = 0; bits < 256; bits++) {
            for (int lanes = 0; lanes < 4; lanes++) {
                const DLTensor tensor = {.data = memory, .dtype = {code, bits, lanes == 3 ? 65535 : lanes}};
                usm_dtype dtype, known = usm_dtype_from_dlpack(code, bits);
                usm_status status = usm_dltensor_check(&tensor, 0, &dtype, &error);
                CHECK_EQ(status, known != USM_NO_DTYPE && lanes == 1 ? USM_OK : USM_BUFFER);
                CHECK(status != USM_OK || dtype == known);
                taken += status == USM_OK;
            }
        }
    }
    CHECK_EQ(taken, USM_DTYPES);
    const DLTensor odd = {.data = memory, .dtype = {kDLFloat, 80, 2}};
    usm_dtype dtype;
    CHECK_EQ(usm_dltensor_check(&odd, 0, &dtype, &error), USM_BUFFER);
    CHECK(strstr(error.text, "(code 2, bits 80, lanes 2)") != NULL);
}

static void padded_elements(void)
{
    const DLTensor packed = {.data = memory, .dtype = FLOAT4}, whole = {.data = memory, .dtype = FLOAT32};
    const uint64_t padded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    usm_error error;
    usm_dtype dtype;
    CHECK_EQ(usm_dltensor_check(&packed, padded, &dtype, &error), USM_BUFFER);
    CHECK(strstr(error.text, "float4_e2m1fn") != NULL);
    /* Other versions ignore it, as they do undefined bits. */
    CHECK_OK(usm_dltensor_check(&whole, padded, &dtype, &error));
    CHECK_OK(usm_dltensor_check(&packed, ~padded, &dtype, &error));
}

/* Each is taken, with these bytes. Without strides: row-major. */
static const struct taken {
    const char *what;
    DLDataType type;
    int ndim;
    int64_t shape[4], strides[4];
    bool has_strides;
    int64_t low, high;
} all_taken[] = {
    {"a scalar", FLOAT32, 0, {0}, {0}, false, 0, 4},
    {"a vector", FLOAT32, 1, {5}, {0}, false, 0, 20},
    {"a vector with its stride", FLOAT32, 1, {5}, {1}, true, 0, 20},
    {"every second", FLOAT32, 1, {5}, {2}, true, 0, 36},
    {"from the end", FLOAT32, 1, {5}, {-1}, true, -16, 4},
    {"repeated", FLOAT32, 1, {5}, {0}, true, 0, 4},
    {"row-major", FLOAT32, 3, {2, 3, 4}, {0}, false, 0, 96},
    {"column-major", FLOAT32, 3, {2, 3, 4}, {1, 2, 6}, true, 0, 96},
    {"both directions", FLOAT32, 2, {3, 4}, {-8, 2}, true, -64, 28},
    {"nothing", FLOAT32, 1, {0}, {0}, false, 0, 0},
    {"nothing with a stride", FLOAT32, 1, {0}, {MOST}, true, 0, 0},
    {"nothing in the middle", FLOAT32, 3, {MOST, 0, MOST}, {LEAST, 7, MOST}, true, 0, 0},
    {"nothing, compact", FLOAT32, 4, {MOST, MOST, 0, MOST}, {0}, false, 0, 0},
    {"one element, any strides", FLOAT32, 2, {1, 1}, {MOST, LEAST}, true, 0, 4},
    {"a length of one", FLOAT32, 2, {3, 1}, {1, LEAST}, true, 0, 12},
    {"the largest number of elements", INT8, 2, {MOST, 1}, {0, 0}, true, 0, 1},
    {"packed", FLOAT4, 2, {3, 3}, {0}, false, 0, 5},
    {"packed with strides", FLOAT4, 2, {3, 4}, {4, 1}, true, 0, 6},
    {"packed, odd strides that do not matter", FLOAT6, 2, {1, 5}, {7, 1}, true, 0, 4},
    {"packed nothing", FLOAT6, 2, {0, 5}, {9, 9}, true, 0, 0},
    {"a packed scalar", FLOAT6, 0, {0}, {0}, false, 0, 1},
};

static void what_is_taken(void)
{
    for (size_t i = 0; i < sizeof all_taken / sizeof all_taken[0]; i++) {
        const struct taken *this = &all_taken[i];
        int64_t shape[4] = {-7, -7, -7, -7}, strides[4] = {-7, -7, -7, -7}, compact[4], low = -7, high = -7;
        const DLTensor tensor = {.data = memory + 2048,
                                 .dtype = this->type,
                                 .ndim = this->ndim,
                                 .shape = (int64_t *)this->shape,
                                 .strides = this->has_strides ? (int64_t *)this->strides : NULL};
        usm_error error;
        usm_dtype dtype;
        usm_status status = take(&tensor, 0, &dtype, shape, strides, &low, &high, &error);
        if (status != USM_OK || low != this->low || high != this->high) {
            CHECK_FAIL("%s: %d, [%lld, %lld)", this->what, (int)status, (long long)low, (long long)high);
        }
        usm_layout_compact(this->ndim, this->shape, 'C', compact);
        for (int k = 0; k < 4; k++) {
            CHECK_EQ(shape[k], k < this->ndim ? this->shape[k] : -7);
            CHECK_EQ(strides[k], k >= this->ndim ? -7 : this->has_strides ? this->strides[k] : compact[k]);
        }
    }
}

static const struct refused {
    const char *what;
    DLDataType type;
    int ndim;
    int64_t shape[4], strides[4];
    bool has_strides;
} all_refused[] = {
    {"a negative length", FLOAT32, 1, {-1}, {1}, true},
    {"a negative length beside 0", FLOAT32, 2, {0, -1}, {1, 1}, true},
    {"the most negative length", FLOAT32, 2, {LEAST, LEAST}, {0}, false},
    {"too many bytes", FLOAT32, 1, {MOST / 4 + 1}, {0}, false},
    {"too many bytes, repeated", FLOAT32, 1, {MOST / 4 + 1}, {0}, true},
    {"too many elements", INT8, 2, {MOST, 2}, {0, 0}, true},
    {"a product that comes round to a small number",
     INT8,
     2,
     {INT64_C(1) << 32, INT64_C(1) << 32},
     {0},
     false},
    {"a stride that reaches too far", FLOAT32, 1, {3}, {MOST / 2 + 1}, true},
    {"bytes that reach too far", FLOAT32, 1, {2}, {MOST / 4 + 1}, true},
    {"the last element's end", FLOAT32, 1, {2}, {MOST / 4}, true},
    {"the most negative stride", INT8, 1, {2}, {LEAST}, true},
    {"backwards too far", FLOAT32, 1, {3}, {LEAST / 2}, true},
    {"strides that add up", FLOAT32, 2, {2, 2}, {MOST / 2, MOST / 2 + 2}, true},
    {"before the first address", INT8, 1, {2}, {-(INT64_C(1) << 62)}, true},
    {"packed and every second", FLOAT4, 1, {4}, {2}, true},
    {"packed and from the end", FLOAT4, 1, {4}, {-1}, true},
    {"packed and repeated", FLOAT6, 2, {4, 4}, {0, 1}, true},
    {"packed and column-major", FLOAT4, 2, {4, 2}, {1, 4}, true},
};

static void what_is_refused(void)
{
    for (size_t i = 0; i < sizeof all_refused / sizeof all_refused[0]; i++) {
        const struct refused *this = &all_refused[i];
        int64_t shape[4], strides[4], low, high;
        const DLTensor tensor = {.data = memory + 2048,
                                 .dtype = this->type,
                                 .ndim = this->ndim,
                                 .shape = (int64_t *)this->shape,
                                 .strides = this->has_strides ? (int64_t *)this->strides : NULL};
        usm_error error = {.text = ""};
        usm_dtype dtype;
        usm_status status = take(&tensor, 0, &dtype, shape, strides, &low, &high, &error);
        if (status != USM_BUFFER || error.status != USM_BUFFER || error.text[0] == '\0') {
            CHECK_FAIL("%s: %d", this->what, (int)status);
        }
    }
}

/* What CuPy makes of negative strides in bytes, which it divides as unsigned numbers. */
static void strides_modulo_the_address_space(void)
{
    static const DLDataType types[] = {
        {kDLInt, 8, 1}, {kDLInt, 16, 1}, FLOAT32, {kDLInt, 64, 1}, {kDLComplex, 128, 1}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int64_t size = types[i].bits / 8, shape[3], strides[3], low, high;
        const int64_t told[] = {(int64_t)((0 - (uint64_t)(6 * size)) / (uint64_t)size), 3,
                                (int64_t)((0 - (uint64_t)size) / (uint64_t)size)};
        const DLTensor tensor = {.data = memory + 2048,
                                 .dtype = types[i],
                                 .ndim = 3,
                                 .shape = (int64_t[]){4, 2, 3},
                                 .strides = (int64_t *)told};
        usm_error error;
        usm_dtype dtype;
        bool wraps;
        CHECK_OK(usm_dltensor_check(&tensor, 0, &dtype, &error));
        CHECK_OK(usm_dltensor_layout(&tensor, dtype, shape, strides, &low, &high, &wraps, &error));
        CHECK_EQ(wraps, size > 1); /* of one byte, the number is right as it stands */
        CHECK(strides[0] == -6 && strides[1] == 3 && strides[2] == -1);
        CHECK_EQ(low, -(6 * 3 + 2) * size);
        CHECK_EQ(high, (3 + 1) * size);
    }
}

static void dimensions(void)
{
    int64_t ones[USM_MAX_NDIM], shape[USM_MAX_NDIM], strides[USM_MAX_NDIM], low, high;
    for (int i = 0; i < USM_MAX_NDIM; i++) {
        ones[i] = 1 + (i == 7);
    }
    static const int wrong[] = {-1, INT32_MIN, USM_MAX_NDIM + 1, INT32_MAX};
    DLTensor tensor = {.data = memory, .dtype = FLOAT32, .ndim = USM_MAX_NDIM, .shape = ones};
    usm_error error;
    usm_dtype dtype;
    CHECK_OK(take(&tensor, 0, &dtype, shape, strides, &low, &high, &error));
    CHECK_EQ(high, 8);
    for (int i = 0; i < 4; i++) {
        tensor.ndim = wrong[i];
        CHECK_EQ(usm_dltensor_check(&tensor, 0, &dtype, &error), USM_BUFFER);
        CHECK(strstr(error.text, "dimensions; 0 to 64 are allowed") != NULL);
    }
    tensor.ndim = 1;
    tensor.shape = NULL;
    CHECK_EQ(usm_dltensor_check(&tensor, 0, &dtype, &error), USM_BUFFER);
    CHECK(strstr(error.text, "its shape is NULL") != NULL);
    tensor.ndim = 0;
    CHECK_OK(take(&tensor, 0, &dtype, shape, strides, &low, &high, &error));
    CHECK_EQ(high, 4);
}

/* Where the elements are: no pointer, an offset, the ends of the address space. */
static void addresses(void)
{
    static const struct {
        uintptr_t data;
        uint64_t offset;
        int64_t length, stride;
        bool taken;
    } cases[] = {
        {0, 0, 0, 1, true},
        {0, 16, 0, 1, true},
        {0, INT64_MAX, 0, 1, true},
        {0, (uint64_t)INT64_MAX + 1, 0, 1, false},
        {0, 0, 5, 1, false},
        {0, 64, 5, 1, false},
        {64, 64, 5, 1, true},
        {64, INT64_MAX, 5, 1, true},
        {64, UINT64_MAX - 63, 1, 2, false},
        {UINTPTR_MAX / 2 + 1, INT64_MAX - 20, 5, 1, true},
        {UINTPTR_MAX / 2 + 1, INT64_MAX - 19, 5, 1, false},
        {UINTPTR_MAX / 2 + 2, INT64_MAX, 0, 1, false},
        {16, 0, 5, -1, true},
        {15, 0, 5, -1, false},
        {8, 8, 5, -1, true},
        {UINTPTR_MAX - 32, 1, 8, 1, false},
        {UINTPTR_MAX - 32, 0, 4, 2, true},
        {UINTPTR_MAX - 32, 0, 8, 1, true},
        {UINTPTR_MAX - 32, 0, 9, 1, false},
        {UINTPTR_MAX / 2, 0, 9, 1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t length = cases[i].length, stride = cases[i].stride, shape, strides, low, high;
        const DLTensor tensor = {.data = (void *)cases[i].data,
                                 .dtype = FLOAT32,
                                 .ndim = 1,
                                 .shape = &length,
                                 .strides = &stride,
                                 .byte_offset = cases[i].offset};
        usm_error error;
        usm_dtype dtype;
        usm_status status = take(&tensor, 0, &dtype, &shape, &strides, &low, &high, &error);
        if (status != (cases[i].taken ? USM_OK : USM_BUFFER)) {
            CHECK_FAIL("case %zu: %d", i, (int)status);
        }
        if (status == USM_OK) {
            CHECK_EQ((uintptr_t)usm_dltensor_first(&tensor), cases[i].data + cases[i].offset);
        }
    }
}

/*
 * Random fields, many of them from the edges of their types: nothing but the two answers comes back, and what
 * is taken lies where each element of it is looked for.
 */
static int64_t random_number(uint64_t *seed)
{
    static const int64_t edges[] = {MOST,      LEAST,     MOST / 2, LEAST / 2, INT64_C(1) << 32,
                                    INT32_MAX, INT32_MIN, 65536};
    switch (random_below(seed, 8)) {
        case 0:
            return (int64_t)((uint64_t)edges[random_below(seed, 8)] +
                             random_below(seed, 2)); /* also round the end */
        case 1:
            return (int64_t)random_next(seed);
        default:
            return (int64_t)random_below(seed, 8) - 2;
    }
}

static void random_tensors(void)
{
    uint64_t seed = 0x5eed;
    long taken = 0, count = scaled(300000);
    for (long i = 0; i < count; i++) {
        CHECK_STEP(i, seed);
        int64_t shape[8], strides[8], got_shape[8], got_strides[8], low, high;
        for (int k = 0; k < 8; k++) {
            shape[k] = random_number(&seed);
            strides[k] = random_number(&seed);
        }
        const usm_dtype_info *info = &usm_dtype_table[random_below(&seed, USM_DTYPES)];
        DLTensor tensor = {.data = random_below(&seed, 8) == 0 ? NULL : memory,
                           .ndim = (int32_t)random_below(&seed, 6),
                           .dtype = {info->code, info->bits, 1},
                           .shape = shape,
                           .strides = random_below(&seed, 2) == 0 ? NULL : strides};
        if (random_below(&seed, 4) == 0) {
            tensor.byte_offset = (uint64_t)random_number(&seed);
        }
        usm_error error;
        usm_dtype dtype;
        usm_status status =
            take(&tensor, random_next(&seed) & 1, &dtype, got_shape, got_strides, &low, &high, &error);
        CHECK(status == USM_OK || status == USM_BUFFER);
        if (status != USM_OK) {
            continue;
        }
        taken++;
        bool empty = false;
        uint64_t first = (uintptr_t)tensor.data + tensor.byte_offset;
        __int128 least = 0, most = 0;
        for (int k = 0; k < tensor.ndim; k++) {
            CHECK(got_shape[k] == shape[k] && shape[k] >= 0);
            empty = empty || shape[k] == 0;
        }
        for (int k = 0; k < tensor.ndim && !empty; k++) {
            __int128 reach = ((__int128)shape[k] - 1) * got_strides[k] * info->itemsize;
            *(reach < 0 ? &least : &most) += reach;
        }
        CHECK(low <= 0 && low <= high && (__int128)first + low >= 0 && (__int128)first + high <= UINTPTR_MAX);
        if (empty) {
            CHECK(low == 0 && high == 0);
        } else if (usm_dtype_is_packed(dtype)) {
            CHECK(tensor.data != NULL && low == 0);
            CHECK_EQ(high, ((most + 1) * info->bits + 7) / 8);
        } else {
            CHECK(tensor.data != NULL && low == least && high == most + info->itemsize);
        }
    }
    CHECK(taken > count / 100);
}

static void exports(void)
{
    static const int64_t shape[] = {2, 3}, strides[] = {1, 2};
    const DLDevice device = {kDLCPU, 7};
    usm_alloc *alloc = new_alloc(64);
    const usm_view view = {alloc, (char *)alloc->pointer + 8, USM_BFLOAT16, 2, shape, strides};
    DLManagedTensorVersioned *versioned = usm_export_versioned(&view, device, 5, NULL);
    DLManagedTensor *legacy = usm_export_legacy(&view, device, NULL);
    CHECK(versioned != NULL && legacy != NULL);
    CHECK_EQ(usm_live_count(USM_LIVE_EXPORT), 2);
    CHECK_EQ(versioned->version.major, 1);
    CHECK_EQ(versioned->version.minor, 3);
    CHECK_EQ(versioned->flags, 5);
    const DLTensor *tensors[] = {&versioned->dl_tensor, &legacy->dl_tensor};
    usm_alloc_release(alloc); /* the exports hold it, in every respect */
    for (int i = 0; i < 2; i++) {
        const DLTensor *tensor = tensors[i];
        CHECK(tensor->data == view.data && tensor->byte_offset == 0);
        CHECK(tensor->device.device_type == kDLCPU && tensor->device.device_id == 7);
        CHECK(tensor->dtype.code == kDLBfloat && tensor->dtype.bits == 16 && tensor->dtype.lanes == 1);
        CHECK(tensor->ndim == 2 && tensor->shape != shape && tensor->strides != strides);
        CHECK(memcmp(tensor->shape, shape, sizeof shape) == 0);
        CHECK(memcmp(tensor->strides, strides, sizeof strides) == 0);
        memset(tensor->data, 1, 12);
    }
    versioned->deleter(versioned);
    CHECK_EQ(usm_live_count(USM_LIVE_ALLOC), 1);
    legacy->deleter(legacy);
    CHECK_EQ(usm_live_count(USM_LIVE_EXPORT), 0);
}

/* A tensor without dimensions, and one with all that there may be. */
static void dimensions_of_exports(void)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    for (int i = 0; i < USM_MAX_NDIM; i++) {
        shape[i] = 1;
        strides[i] = 1;
    }
    usm_alloc *alloc = new_alloc(16);
    for (int ndim = 0; ndim <= USM_MAX_NDIM; ndim += USM_MAX_NDIM) {
        const usm_view view = {alloc, alloc->pointer, USM_COMPLEX128, ndim, shape, strides};
        DLManagedTensorVersioned *tensor = usm_export_versioned(&view, (DLDevice){kDLCPU, 0}, 0, NULL);
        CHECK_EQ(tensor->dl_tensor.ndim, ndim);
        CHECK(ndim == 0 ||
              (tensor->dl_tensor.shape[ndim - 1] == 1 && tensor->dl_tensor.strides[ndim - 1] == 1));
        tensor->deleter(tensor);
    }
    usm_alloc_release(alloc);
}

static void names_of_devices(void)
{
    char text[32];
    CHECK(strcmp(usm_dldevice_text(kDLCUDA, text, sizeof text), "kDLCUDA (2)") == 0);
    CHECK(strcmp(usm_dldevice_text(kDLOneAPI, text, sizeof text), "kDLOneAPI (14)") == 0);
    CHECK(strcmp(usm_dldevice_text(0, text, sizeof text), "unknown (0)") == 0);
    CHECK(strcmp(usm_dldevice_text(-5, text, sizeof text), "unknown (-5)") == 0);
    CHECK(strcmp(usm_dldevice_text(kDLCUDAManaged, text, 8), "kDLCUDA") == 0);
}

/* Array API standard 2025.12, __dlpack__, "Device-specific values of stream". */
static void numbers_of_streams(void)
{
    const usm_stream_numbers *cuda = usm_dlpack_type_of(kDLCUDA)->numbers;
    const usm_stream_numbers *rocm = usm_dlpack_type_of(kDLROCM)->numbers;
    void *const handle = (void *)(uintptr_t)0x7f0000000100;
    CHECK(usm_stream_of_number(cuda, 0) == NULL);
    CHECK(usm_stream_of_number(cuda, 1) == USM_STREAM_LEGACY);
    CHECK(usm_stream_of_number(cuda, 2) == USM_STREAM_PER_THREAD);
    CHECK(usm_stream_of_number(rocm, 0) == USM_STREAM_LEGACY);
    CHECK(usm_stream_of_number(rocm, 1) == NULL);
    CHECK(usm_stream_of_number(rocm, 2) == NULL);
    for (int i = 0; i < 2; i++) {
        const usm_stream_numbers *numbers = i == 0 ? cuda : rocm;
        void *const streams[] = {USM_STREAM_LEGACY, USM_STREAM_PER_THREAD, handle};
        for (int k = 0; k < 3; k++) {
            void *stream = streams[k];
            uint64_t number = usm_number_of_stream(numbers, &stream);
            CHECK(usm_stream_of_number(numbers, number) == stream);
            bool is_named = i == 0 || k != 1; /* ROCm has no number for the stream of the thread */
            CHECK(stream == (is_named ? streams[k] : USM_STREAM_LEGACY));
        }
    }
    CHECK(usm_dlpack_type_of(kDLCUDAManaged)->numbers == cuda &&
          usm_dlpack_type_of(kDLROCMHost)->numbers == rocm);
    CHECK(usm_dlpack_type_of(kDLOneAPI)->numbers == NULL && usm_dlpack_type_of(INT32_MIN)->numbers == NULL);
}

int main(void)
{
    watchdog(600);
    host_place();
    RUN_SETTLED(types);
    RUN_SETTLED(padded_elements);
    RUN_SETTLED(what_is_taken);
    RUN_SETTLED(what_is_refused);
    RUN_SETTLED(strides_modulo_the_address_space);
    RUN_SETTLED(dimensions);
    RUN_SETTLED(addresses);
    RUN_SETTLED(random_tensors);
    RUN_SETTLED(exports);
    RUN_SETTLED(dimensions_of_exports);
    RUN_SETTLED(names_of_devices);
    RUN_SETTLED(numbers_of_streams);
    return 0;
}
