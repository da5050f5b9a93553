// The table of kernels that a shared object for the host exports; entry.py puts the parts together, which begin
// with a line of their names. "types" is for what the compiler writes about a parameter: whether it is a pointer
// and to const, and usmpy's name of its type, or of what it points to.
// --- declarations
#define USMPY_KERNELS_VERSION 1
enum { USMPY_VALUE = 0, USMPY_POINTER = 1, USMPY_LOCAL = 2 };
struct usmpy_kernel_parameter {
    const char *name;
    const char *type;
    const char *dtype;
    uint32_t kind;
    uint32_t size;
    uint32_t read_only;
    uint32_t reserved;
};
#define USMPY_KERNEL_GROUPS 1u
struct usmpy_kernel_entry {
    const char *name;
    int (*run)(const void *const *arguments, const size_t *global, const size_t *local, const size_t *lo,
               const size_t *hi);
    const struct usmpy_kernel_parameter *parameters;
    uint32_t n_parameters;
    uint32_t flags;
    size_t required_local[3];
};
struct usmpy_kernels {
    uint32_t version;
    uint32_t n;
    const struct usmpy_kernel_entry *entries;
};
// --- types
#define USM_OF(type, name) type : name, type * : name, const type * : name, volatile type * : name, \
    const volatile type * : name,
#ifdef __FLT16_MAX__
#define USM_HALVES USM_OF(_Float16, "float16")
#else
#define USM_HALVES
#endif
#ifndef USM_COMPLEXES
#define USM_COMPLEXES
#endif
#define USM_DTYPE(x) _Generic((x), \
    USM_OF(_Bool, "bool") USM_OF(char, "int8") USM_OF(signed char, "int8") USM_OF(short, "int16") \
    USM_OF(int, "int32") USM_OF(long, "int64") USM_OF(long long, "int64") USM_OF(unsigned char, "uint8") \
    USM_OF(unsigned short, "uint16") USM_OF(unsigned int, "uint32") USM_OF(unsigned long, "uint64") \
    USM_OF(unsigned long long, "uint64") USM_OF(float, "float32") USM_OF(double, "float64") \
    USM_OF(float _Complex, "complex64") USM_OF(double _Complex, "complex128") \
    USM_HALVES USM_COMPLEXES default : (const char *)0)
#define USM_IS_POINTER(x) (__builtin_classify_type(x) == 5)
#define USM_TO_CONST(x) _Generic(1 ? (__typeof__(__builtin_choose_expr(USM_IS_POINTER(x), (x), \
    (char *)0)))0 : (void *)1, const void * : 1, const volatile void * : 1, default : 0)
