/* Compiled to kernels.spv by kernels.sh. */
typedef struct pair {
    int first;
    float second;
} pair;

int __spirv_SpecConstant(int, int) __attribute__((overloadable));
short __spirv_SpecConstant(int, short) __attribute__((overloadable));

kernel void add(global const int *a, global const int *b, global int *c, int more)
{
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i] + more;
}

kernel void constants(global int *out)
{
    out[0] = __spirv_SpecConstant(7, 11);
    out[1] = __spirv_SpecConstant(8, (short)12);
}

/* Sums of groups, through shared local memory. */
kernel void sums(global const int *a, global int *out, local int *scratch)
{
    size_t i = get_local_id(0);
    scratch[i] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {
        if (i < n)
            scratch[i] += scratch[i + n];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0)
        out[get_group_id(0)] = scratch[0];
}

kernel void by_value(pair p, double d, char c, global float *out)
{
    out[0] = p.first + p.second;
    out[1] = d;
    out[2] = c;
}

kernel __attribute__((reqd_work_group_size(4, 2, 1))) void grid(global uint *out)
{
    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    out[(z * get_global_size(1) + y) * get_global_size(0) + x] = 100 * z + 10 * y + x;
}

kernel void nothing(void)
{
}

/* Two launches that wait for each other: each reads a flag up to a number of times, and stores whether it was set. */
kernel void meet(global volatile int *arrived, global int *met, int which, int looks)
{
    atomic_inc(arrived);
    for (int i = 0; i < looks && !met[which]; i++)
        met[which] = *arrived >= 2;
}

/* Of benchmarks/level_zero.py. */
kernel void axpy(global const float *x, global float *y, float a, int n)
{
    size_t i = get_global_id(0);
    if (i < n)
        y[i] += a * x[i];
}
