/* Strided commands as launches of device kernels: the kernel's walk done here, in C. */
#include "check.h"
#include "support.h"

#include "core/builtin/kernel_source.h"
#include "core/builtin/kernels.h"
#include "core/copy/copy.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 16, MOST = 11 };

static const usm_kernel_device devices[] = {{true, 2, 1}, {true, 64, 1}, {false, 8, 256}, {false, 8, 64}};

static void check_range(const usm_kernel_range *range, const usm_kernel_device *device)
{
    size_t group = 1;
    for (int i = 0; i < 3; i++) {
        CHECK(range->local[i] > 0 && range->global[i] > 0);
        CHECK_EQ(range->global[i] % range->local[i], 0);
        group *= range->local[i];
    }
    CHECK(group <= device->group);
}

/* What usm_strided_<size> does. */
static void run_launch(const usm_kernel_plan *plan, const usm_kernel_launch *launch)
{
    int64_t index[USM_KERNEL_AXES] = {0};
    for (int axis = 0; axis < USM_KERNEL_AXES;) {
        char *dst = launch->dst;
        const char *src = launch->src;
        for (int i = 0; i < USM_KERNEL_AXES; i++) {
            dst += index[i] * launch->axes.dst[i];
            src += index[i] * launch->axes.src[i];
        }
        int alignment = plan->size < 8 ? plan->size : 8;
        CHECK_EQ((uintptr_t)dst % (uintptr_t)alignment, 0);
        CHECK_EQ((uintptr_t)src % (uintptr_t)alignment, 0);
        memcpy(dst, src, (size_t)plan->size);
        for (axis = 0; axis < USM_KERNEL_AXES && ++index[axis] == launch->axes.shape[axis]; axis++) {
            index[axis] = 0;
        }
    }
}

/* Random layouts of every size, at every alignment, against elements moved one by one. */
static void moves_reach_every_element(void)
{
    static const usm_dtype of_size[] = {USM_UINT8, USM_FLOAT16, USM_FLOAT32, USM_INT64, USM_COMPLEX128};
    uint64_t seed = 21;
    char *src = aligned_alloc(64, BUFFER), *dst = aligned_alloc(64, BUFFER), *wanted = malloc(BUFFER);
    long wide = 0, narrow = 0, many = 0;
    for (int i = 0; i < BUFFER; i++) {
        src[i] = (char)random_next(&seed);
    }
    for (long round = 0; round < scaled(3000); round++) {
        CHECK_STEP(round, seed);
        usm_dtype dtype = of_size[random_below(&seed, 5)];
        int size = usm_dtype_table[dtype].itemsize;
        int ndim = (int)random_below(&seed, random_below(&seed, 4) == 0 ? MOST : 4);
        int64_t shape[MOST], to[MOST], from[MOST], reach_to = 1, reach_from = 1, low_from = 0, n = 1;
        bool turned = random_below(&seed, 3) == 0; /* transposed: no axes merge */
        for (int i = ndim - 1; i >= 0; i--) {
            shape[i] = ndim > 3 ? 2 : 1 + (int64_t)random_below(&seed, 6);
            to[i] = reach_to;
            reach_to *= shape[i] + (ndim <= 3 && random_below(&seed, 4) == 0);
            n *= shape[i];
        }
        for (int k = 0; k < ndim; k++) {
            int i = turned ? k : ndim - 1 - k;
            from[i] = random_below(&seed, 9) == 0 ? 0 : reach_from;
            reach_from *= from[i] == 0 ? 1 : shape[i] + (ndim <= 3 && random_below(&seed, 4) == 0);
            if (random_below(&seed, 5) == 0) {
                from[i] = -from[i];
                low_from += from[i] * (shape[i] - 1);
            }
        }
        size_t shift_to = random_below(&seed, 17), shift_from = random_below(&seed, 17);
        if (random_below(&seed, 2) == 0) {
            shift_to &= ~(size_t)7;
            shift_from &= ~(size_t)7;
        }
        CHECK((reach_to > reach_from ? reach_to : reach_from) * size + 17 < BUFFER);
        const usm_view to_view = {NULL, dst + shift_to, dtype, ndim, shape, to};
        const usm_view from_view = {NULL, src + shift_from - low_from * size, dtype, ndim, shape, from};
        memset(dst, 0x55, BUFFER);
        memset(wanted, 0x55, BUFFER);
        for (int64_t k = 0; k < n; k++) {
            int64_t rest = k, at = 0, back = 0;
            for (int i = ndim - 1; i >= 0; i--) {
                at += rest % shape[i] * to[i];
                back += rest % shape[i] * from[i];
                rest /= shape[i];
            }
            memcpy(wanted + shift_to + at * size, from_view.data + back * size, (size_t)size);
        }
        usm_plan copy;
        usm_kernel_plan plan;
        usm_copy_plan(&copy, &to_view, &from_view);
        usm_kernel_plan_strided(&plan, &copy.strided);
        wide += plan.size > size;
        narrow += plan.size < size;
        many += plan.launches > 1;
        const usm_kernel_device *device = &devices[random_below(&seed, 4)];
        for (int64_t i = 0; i < plan.launches; i++) {
            usm_kernel_launch launch;
            usm_kernel_range range;
            usm_kernel_plan_launch(&plan, i, &launch);
            usm_kernel_range_over(launch.n, launch.transposes, device, &range);
            check_range(&range, device);
            run_launch(&plan, &launch);
        }
        CHECK_SAME(dst, wanted, BUFFER);
    }
    CHECK(wide > 0 && narrow > 0 && many > 0);
    free(src);
    free(dst);
    free(wanted);
}

static void casts_say_whether_memory_is_aligned(void)
{
    static char memory[256] __attribute__((aligned(64)));
    const int64_t shape = 4, one = 1;
    const struct {
        usm_dtype dst, src;
        int dst_shift, src_shift;
        bool unaligned;
    } cases[] = {
        {USM_INT32, USM_INT8, 4, 1, false},       {USM_INT32, USM_INT8, 2, 0, true},
        {USM_BOOL, USM_FLOAT64, 1, 8, false},     {USM_BOOL, USM_FLOAT64, 1, 4, true},
        {USM_COMPLEX64, USM_INT16, 4, 2, false},  {USM_COMPLEX128, USM_INT16, 8, 2, false},
        {USM_COMPLEX128, USM_INT16, 4, 2, true},  {USM_FLOAT16, USM_COMPLEX64, 2, 4, false},
        {USM_FLOAT16, USM_COMPLEX64, 1, 4, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const usm_view to = {NULL, memory + cases[i].dst_shift, cases[i].dst, 1, &shape, &one};
        const usm_view from = {NULL, memory + cases[i].src_shift, cases[i].src, 1, &shape, &one};
        usm_plan copy;
        usm_kernel_plan plan;
        usm_copy_plan(&copy, &to, &from);
        usm_kernel_plan_strided(&plan, &copy.strided);
        CHECK_EQ(plan.size, 0);
        CHECK_EQ(plan.unaligned, cases[i].unaligned);
    }
}

static void rows_of_bytes_go_by_eight(void)
{
    const int64_t shape[] = {3, 64}, to[] = {64, 1}, from[] = {128, 1};
    static char memory[1024] __attribute__((aligned(64)));
    const usm_view dst = {NULL, memory, USM_BOOL, 2, shape, to},
                   src = {NULL, memory + 512, USM_BOOL, 2, shape, from};
    usm_plan copy;
    usm_kernel_plan plan;
    usm_copy_plan(&copy, &dst, &src);
    usm_kernel_plan_strided(&plan, &copy.strided);
    CHECK_EQ(plan.size, 8);
    CHECK_EQ(plan.ndim, 2);
    CHECK_EQ(plan.axes[0].length, 8);
    CHECK_EQ(plan.axes[1].length, 3);
}

static void range_of(int64_t n, const usm_kernel_device *device, usm_kernel_range *range)
{
    const int64_t along[3] = {n, 1, 1};
    usm_kernel_range_over(along, false, device, range);
}

static void ranges_suit_the_device(void)
{
    usm_kernel_range range;
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        for (int64_t n = 1; n > 0; n = n < INT64_MAX / 5 ? n * 5 : -1) {
            range_of(n, &devices[d], &range);
            check_range(&range, &devices[d]);
            CHECK(devices[d].serial ? range.global[0] <= 4 * devices[d].units : range.global[0] >= (size_t)n);
        }
    }
    /* Small work is not spread over a processor, large work is. */
    range_of(100, &devices[1], &range);
    CHECK_EQ(range.global[0], 1);
    range_of(1 << 24, &devices[1], &range);
    CHECK_EQ(range.global[0], 256);
}

static void sources_are_found_by_name(void)
{
    for (int form = 0; form < USM_KERNEL_FORMS; form++) {
        for (size_t i = 0; i < usm_kernel_sources[form].n; i++) {
            const usm_kernel_source *source = &usm_kernel_sources[form].first[i];
            CHECK(usm_kernel_source_find((usm_kernel_form)form, source->name) == source);
            CHECK_EQ(source->data[source->size], 0);
            CHECK(form == USM_KERNEL_SPIRV ? (uintptr_t)source->data % 4 == 0
                                           : strlen(source->data) == source->size);
        }
    }
    CHECK(usm_kernel_source_find(USM_KERNEL_OPENCL, "strided") != NULL);
    CHECK(usm_kernel_source_find(USM_KERNEL_OPENCL, "stride") == NULL);
    CHECK(usm_kernel_source_find(USM_KERNEL_OPENCL, "") == NULL);
}

int main(void)
{
    watchdog(600);
    RUN(moves_reach_every_element);
    RUN(casts_say_whether_memory_is_aligned);
    RUN(rows_of_bytes_go_by_eight);
    RUN(ranges_suit_the_device);
    RUN(sources_are_found_by_name);
    return 0;
}
