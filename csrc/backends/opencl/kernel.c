/* Kernels: what they take, as the driver reports it (OpenCL API 3.0, 5.9). */
#include "opencl.h"

#include "core/base/heap.h"
#include "core/program/signature.h"
#include "core/program/spirv.h"

#include <stdlib.h>
#include <string.h>

/*
 * Fills in kind, type and size by the qualifiers and the name of the type: "float*" and its like, with
 * spaces anywhere.
 */
static void read_parameter(cl_kernel_arg_address_qualifier space, cl_kernel_arg_type_qualifier qualifier,
                           const char *type, usm_parameter *out)
{
    size_t length = strcspn(type, "*");
    bool pointer = type[length] == '*';
    while (length > 0 && type[length - 1] == ' ') {
        length--;
    }
    usm_parameter_read_type(type, length, out);
    if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) {
        out->kind = USM_PARAMETER_LOCAL;
    } else if (pointer) {
        out->kind = USM_PARAMETER_POINTER;
        out->read_only =
            space == CL_KERNEL_ARG_ADDRESS_CONSTANT || (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
        out->size = sizeof(void *);
    } else {
        out->kind = USM_PARAMETER_VALUE;
    }
}

/*
 * Texts of one parameter, until the core has copied them. Longer ones are cut by no driver: it returns an
 * error, and the parameter stays unknown.
 */
typedef struct parameter_texts {
    char name[128], type[128];
} parameter_texts;

/*
 * A parameter stays unknown where the driver does not describe it: clGetKernelArgInfo needs -cl-kernel-arg-
 * info at the build, which a binary may lack.
 */
static void ask_parameter(const usm_opencl_api *api, cl_kernel id, cl_uint i, parameter_texts *text,
                          usm_parameter *out)
{
    cl_kernel_arg_address_qualifier space = 0;
    cl_kernel_arg_type_qualifier qualifier = 0;
    *out = (usm_parameter){.kind = USM_PARAMETER_UNKNOWN, .dtype = USM_NO_DTYPE};
    if (api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_TYPE_NAME, sizeof text->type, text->type, NULL) !=
            CL_SUCCESS ||
        text->type[0] == 0 ||
        api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) !=
            CL_SUCCESS ||
        api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL) !=
            CL_SUCCESS) {
        return;
    }
    out->type = usm_parameter_shown_type(text->type);
    if (api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_NAME, sizeof text->name, text->name, NULL) ==
            CL_SUCCESS &&
        text->name[0] != 0) {
        out->name = text->name;
    }
    read_parameter(space, qualifier, text->type, out);
}

/* Fills in the core's description of the parameters; it has its own copy of the texts. */
static usm_status ask_parameters(usm_kernel *base, const usm_opencl_api *api, cl_kernel id, const char *name,
                                 usm_error *error)
{
    cl_uint n = 0;
    cl_int code = api->clGetKernelInfo(id, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, "clGetKernelInfo");
    }
    if (base->program->spirv != NULL) { /* of modules, drivers tell less than they say themselves */
        return usm_spirv_read_parameters(base, name, n, base->program->spirv, base->program->spirv_size,
                                         error);
    }
    usm_parameter *parameters = usm_calloc(n + 1, sizeof *parameters);
    parameter_texts *texts = usm_calloc(n + 1, sizeof *texts);
    usm_status status = USM_OK;
    if (parameters == NULL || texts == NULL) {
        status = usm_error_memory(error, n * sizeof *texts, "a kernel's parameters");
    } else {
        for (cl_uint i = 0; i < n; i++) {
            ask_parameter(api, id, i, &texts[i], &parameters[i]);
        }
        status = usm_kernel_set_parameters(base, name, parameters, n, error);
    }
    free(parameters);
    free(texts);
    return status;
}

usm_status usm_opencl_kernel_create(usm_kernel *base, const char *name, usm_error *error)
{
    const usm_opencl_api *api = usm_opencl_platform_of_program(base->program)->api;
    cl_device_id device = usm_opencl_device_of(base->program->place->device)->id;
    cl_int code = CL_SUCCESS;
    cl_kernel id = api->clCreateKernel(base->program->native, name, &code);
    if (id == NULL) {
        return code == CL_INVALID_KERNEL_NAME
                   ? usm_error_driver(error, USM_INDEX, "opencl", code, usm_opencl_name(code),
                                      "the program has no kernel %s", name)
                   : usm_opencl_failed(error, code, "clCreateKernel");
    }
    usm_opencl_kernel *native = NULL;
    usm_status status = ask_parameters(base, api, id, name, error);
    if (status == USM_OK) {
        native = usm_calloc(1, sizeof *native + base->n_parameters * sizeof *native->set);
        if (native == NULL) {
            status = usm_error_memory(error, sizeof *native, "a kernel");
        }
    }
    if (status != USM_OK) {
        api->clReleaseKernel(id);
        return status;
    }
    native->id = id;
    api->clGetKernelWorkGroupInfo(id, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size_t), &base->max_local,
                                  NULL);
    api->clGetKernelWorkGroupInfo(id, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof(size_t),
                                  &base->preferred_multiple, NULL);
    api->clGetKernelWorkGroupInfo(id, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof base->required_local,
                                  base->required_local, NULL);
    pthread_mutex_init(&native->lock, NULL);
    base->native = native;
    return USM_OK;
}

/* The driver keeps a kernel that is still enqueued (clReleaseKernel). */
void usm_opencl_kernel_destroy(usm_kernel *base)
{
    usm_opencl_kernel *native = base->native;
    usm_opencl_platform_of_program(base->program)->api->clReleaseKernel(native->id);
    pthread_mutex_destroy(&native->lock);
    free(native);
}
