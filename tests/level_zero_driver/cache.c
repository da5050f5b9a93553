/* Built modules on disk, by what they were built from: OpenCL's compilers take long. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file of this key; false: there is no folder. */
static bool path_of(uint64_t key, char *path, size_t size)
{
    const char *folder = sim_settings()->cache;
    if (folder == NULL || *folder == '\0')
        return false;
    mkdir(folder, 0700);
    return (size_t)snprintf(path, size, "%s/%016llx.bin", folder, (unsigned long long)key) < size;
}

cl_program sim_cache_load(const sim_opencl *cl, uint64_t key)
{
    char path[1024];
    if (!path_of(key, path, sizeof(path)))
        return NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    cl_program program = NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    unsigned char *bytes = length > 0 ? malloc((size_t)length) : NULL;
    if (bytes != NULL && fread(bytes, 1, (size_t)length, file) == (size_t)length) {
        const unsigned char *binary = bytes;
        size_t size = (size_t)length;
        cl_int status, code;
        program = cl->clCreateProgramWithBinary(cl->context, 1, &cl->device, &size, &binary, &status, &code);
        if (code != CL_SUCCESS)
            program = NULL;
    }
    free(bytes);
    fclose(file);
    return program;
}

void sim_cache_store(const sim_opencl *cl, cl_program program, uint64_t key)
{
    char path[1024], half[1064];
    size_t size = 0;
    if (!path_of(key, path, sizeof(path)))
        return;
    if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS)
        return;
    unsigned char *bytes = malloc(size + 1);
    if (bytes == NULL)
        return;
    snprintf(half, sizeof(half), "%s.%d.%p", path, (int)getpid(), (void *)program);
    FILE *file = fopen(half, "wb");
    bool whole =
        file != NULL &&
        cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL) == CL_SUCCESS &&
        fwrite(bytes, 1, size, file) == size;
    if (file != NULL)
        whole = fclose(file) == 0 && whole;
    if (file != NULL && !(whole && rename(half, path) == 0))
        remove(half);
    free(bytes);
}
