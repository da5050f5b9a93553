/*
 * Calls of C functions whose parameters are known at run time alone, without a library for it. In the calling
 * conventions of x86-64 (System V ABI, 3.2.3) and AArch64 (AAPCS64, 6.8.2, on Linux), integers and pointers
 * fill their registers in order, floating-point numbers theirs, and what is left goes to the stack in order,
 * eight bytes each: so one call with all registers and enough stack serves every function.
 */
#include "host.h"

#include <string.h>

#if defined(__x86_64__)
#define REGISTERS 6
#elif defined(__aarch64__)
#define REGISTERS 8
#else
#define REGISTERS 0 /* unknown: refused */
#endif
#define FLOAT_REGISTERS 8
#define STACK 32

/* The function must live as long as the program: csrc/py keeps its owner. */
usm_status usm_host_pointer_keep(usm_host_program *program, const usm_pointer_source *source,
                                 usm_error *error)
{
    if (REGISTERS == 0) {
        return usm_error_set(error, USM_VALUE,
                             "kernels from pointers are called on x86-64 and AArch64 alone; use a program");
    }
    if (source->n_parameters > STACK) {
        return usm_error_set(error, USM_VALUE, "parameters has %zu entries; up to %d are allowed",
                             source->n_parameters, STACK);
    }
    program->function = source->function;
    return usm_kernel_set_parameters(&program->described, source->name, source->parameters,
                                     source->n_parameters, error);
}

/* Integers below 64 bits are extended by the caller: Clang's callees rely on it on x86-64. */
static int64_t integer_of(const usm_parameter *parameter, const void *value)
{
    int64_t wide = 0;
    if (parameter->kind == USM_PARAMETER_POINTER) {
        memcpy(&wide, value, sizeof(void *));
        return wide;
    }
    unsigned bits = usm_dtype_table[parameter->dtype].bits;
    memcpy(&wide, value, parameter->size); /* little-endian, as setup.py demands */
    if (usm_dtype_table[parameter->dtype].kind == USM_DTYPE_KIND_INT && bits < 64 &&
        (wide >> (bits - 1) & 1) != 0) {
        wide |= -((int64_t)1 << bits);
    }
    return wide;
}

/* The arguments of one call, by where the calling convention puts them. */
typedef struct frame {
    int64_t registers[8];
    double floats[FLOAT_REGISTERS];
    int64_t stack[STACK];
    unsigned n_registers, n_floats, n_stack;
} frame;

/* The next integer register, or the stack once they are used up. */
static void put_integer(frame *frame, int64_t value)
{
    *(frame->n_registers < REGISTERS ? &frame->registers[frame->n_registers++]
                                     : &frame->stack[frame->n_stack++]) = value;
}

/* float32 is the low half of its register. */
static void put_float(frame *frame, const void *value, size_t size)
{
    int64_t bits = 0;
    memcpy(&bits, value, size);
    if (frame->n_floats < FLOAT_REGISTERS) {
        memcpy(&frame->floats[frame->n_floats++], &bits, sizeof bits);
    } else {
        frame->stack[frame->n_stack++] = bits;
    }
}

#define INTEGERS(r) r[0], r[1], r[2], r[3], r[4], r[5]
#if REGISTERS == 8
#define ALL_INTEGERS(r) INTEGERS(r), r[6], r[7]
#define INTEGER_TYPES int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t
#else
#define ALL_INTEGERS(r) INTEGERS(r)
#define INTEGER_TYPES int64_t, int64_t, int64_t, int64_t, int64_t, int64_t
#endif
#define EIGHT(a) a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
#define EIGHT_OF(type) type, type, type, type, type, type, type, type
/* A full stack for the few functions that need one. */
#define STACK_OF(s) EIGHT(s), EIGHT((s + 8)), EIGHT((s + 16)), EIGHT((s + 24))
#define STACK_TYPES EIGHT_OF(int64_t), EIGHT_OF(int64_t), EIGHT_OF(int64_t), EIGHT_OF(int64_t)

typedef void (*in_registers)(INTEGER_TYPES, EIGHT_OF(double));
typedef void (*with_stack)(INTEGER_TYPES, EIGHT_OF(double), STACK_TYPES);

void usm_host_pointer_call(const void *program, size_t begin, size_t end, const void *const *values)
{
    const usm_host_program *native = program;
    frame frame;
    memset(&frame, 0, sizeof frame);
    put_integer(&frame, (int64_t)begin);
    put_integer(&frame, (int64_t)end);
    for (size_t i = 0; i < native->described.n_parameters; i++) {
        const usm_parameter *parameter = &native->described.parameters[i];
        if (parameter->kind == USM_PARAMETER_VALUE &&
            usm_dtype_table[parameter->dtype].kind == USM_DTYPE_KIND_FLOAT) {
            put_float(&frame, values[i], parameter->size);
        } else {
            put_integer(&frame, integer_of(parameter, values[i]));
        }
    }
    if (frame.n_stack == 0) {
        ((in_registers)native->function)(ALL_INTEGERS(frame.registers), EIGHT(frame.floats));
    } else {
        ((with_stack)native->function)(ALL_INTEGERS(frame.registers), EIGHT(frame.floats),
                                       STACK_OF(frame.stack));
    }
}
