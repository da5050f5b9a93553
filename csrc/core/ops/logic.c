#include "logic.h"

#include "elementwise.h"
#include "few.h"

#include "core/builtin/builtin.h"

usm_status usm_logic_submit(usm_queue *queue, unsigned table, const usm_view *views, int n, bool fresh,
                            usm_error *error)
{
    const usm_elementwise kernel = {.module = "logic", .function = "usm_logic", .op = (int64_t)table};
    const usm_view operands[] = {views[0], views[1], views[n - 1]};
    return fresh && usm_few_logic(queue, table, operands)
               ? USM_OK
               : usm_elementwise_submit(queue, &kernel, operands, 3, fresh, error);
}

usm_status usm_classify_submit(usm_queue *queue, unsigned what, const usm_view *views, int n, bool fresh,
                               usm_error *error)
{
    static const struct {
        const char *function, *options;
        int64_t infinity; /* its bits */
    } kernels[USM_COMPUTED_DTYPES] = {
        [USM_FLOAT16] = {"usm_classify_2", "-D USM_ONLY=2", 0x7c00},
        [USM_BFLOAT16] = {"usm_classify_2", "-D USM_ONLY=2", 0x7f80},
        [USM_FLOAT32] = {"usm_classify_4", "-D USM_ONLY=4", 0x7f800000},
        [USM_COMPLEX64] = {"usm_classify_4_4", "-D USM_ONLY=44", 0x7f800000},
        [USM_FLOAT64] = {"usm_classify_8", "-D USM_ONLY=8", 0x7ff0000000000000},
        [USM_COMPLEX128] = {"usm_classify_8_8", "-D USM_ONLY=88", 0x7ff0000000000000},
    };
    usm_dtype dtype = views[1].dtype;
    if (kernels[dtype].function == NULL) {
        return usm_fill_submit(queue, views, &(unsigned char){what == USM_IS_FINITE}, NULL, error);
    }
    const usm_elementwise kernel = {.module = "classify",
                                    .function = kernels[dtype].function,
                                    .options = kernels[dtype].options,
                                    .op = what,
                                    .extra = kernels[dtype].infinity};
    return usm_elementwise_submit(queue, &kernel, views, n, fresh, error);
}

usm_status usm_where_submit(usm_queue *queue, unsigned what, const usm_view *views, int n, bool fresh,
                            usm_error *error)
{
    static const char *const functions[] = USM_BY_SIZE("usm_where_");
    static const char *const options[] = USM_BY_SIZE("-D USM_ONLY=");
    int power = __builtin_ctz((unsigned)usm_view_itemsize(views));
    (void)what;
    const usm_elementwise kernel = {
        .module = "where", .function = functions[power], .options = options[power]};
    return usm_elementwise_submit(queue, &kernel, views, n, fresh, error);
}
