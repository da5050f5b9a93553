"""The table of kernels that a shared object for the host exports (csrc/cpu/kernel.h)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

VERSION = 1

# The declarations of kernel.h, which a test compares. They need no system header.
DECLARATIONS = """\
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
"""

# Written by the compiler for each type: pointer or value, const, and usmpy's name of the element type.
_DTYPES = {
    "bool": ["_Bool"],
    "int8": ["char", "signed char"],
    "int16": ["short"],
    "int32": ["int"],
    "int64": ["long", "long long"],
    "uint8": ["unsigned char"],
    "uint16": ["unsigned short"],
    "uint32": ["unsigned int"],
    "uint64": ["unsigned long", "unsigned long long"],
    "float32": ["float"],
    "float64": ["double"],
    "complex64": ["float _Complex"],
    "complex128": ["double _Complex"],
}


def _generic() -> str:
    by_value = "".join(f'{c} : "{name}", ' for name, types in _DTYPES.items() for c in types)
    to = "".join(
        f'{qualifier}{c} * : "{name}", '
        for name, types in _DTYPES.items()
        for c in types
        for qualifier in ("", "const ", "volatile ", "const volatile ")
    )
    half_to = ", ".join(f'{q}_Float16 * : "float16"' for q in ("", "const ", "volatile ", "const volatile "))
    return (
        "#ifdef __FLT16_MAX__\n"
        f'#define USM_HALVES _Float16 : "float16", {half_to},\n'
        "#else\n#define USM_HALVES\n#endif\n"
        f"#define USM_DTYPE(x) _Generic((x), {by_value}{to}USM_HALVES default : (const char *)0)\n"
        "#define USM_IS_POINTER(x) (__builtin_classify_type(x) == 5)\n"
        "#define USM_TO_CONST(x) _Generic(1 ? (__typeof__(__builtin_choose_expr(USM_IS_POINTER(x), (x), "
        "(char *)0)))0 : (void *)1, const void * : 1, const volatile void * : 1, default : 0)\n"
    )


class Parameter(NamedTuple):
    name: str
    type: str
    declaration: str  # in C, as a member of a struct
    local: bool = False


class Kernel(NamedTuple):
    name: str
    parameters: list[Parameter]
    required: tuple[int, int, int] = (0, 0, 0)
    groups: bool = False  # runs whole work-groups
    barriers: bool = False
    promise: bool = False  # work-items have no memory of their own, so the loop may vectorise


def c_string(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
    return f'"{quoted}"'


def argument_types(kernel: str, parameters: list[Parameter]) -> str:
    """One struct for each parameter, which allows any declaration at any alignment."""
    return "".join(
        f"struct usm_arg_{kernel}_{i} {{ {p.declaration}; }} __attribute__((packed, may_alias));\n"
        for i, p in enumerate(parameters)
    )


def table(kernels: Iterable[tuple[Kernel, str]]) -> str:
    """The text after the program: the table of kernels, and for each the function that runs a box."""
    text = DECLARATIONS.replace("uint32_t", "__UINT32_TYPE__").replace("size_t", "__SIZE_TYPE__") + _generic()
    entries = ""
    n = 0
    for kernel, run in kernels:
        name, parameters = kernel.name, kernel.parameters
        text += argument_types(name, parameters) + run
        rows = ""
        for i, p in enumerate(parameters):
            member = f"((struct usm_arg_{name}_{i} *)0)->{p.name}"
            kind = "USMPY_LOCAL" if p.local else f"USM_IS_POINTER({member}) ? USMPY_POINTER : USMPY_VALUE"
            rows += (
                f"    {{ {c_string(p.name)}, {c_string(p.type)}, USM_DTYPE({member}), {kind}, "
                f"sizeof({member}), USM_TO_CONST({member}), 0 }},\n"
            )
        parameters_of = "(void *)0"
        if rows:
            parameters_of = f"usm_parameters_{name}"
            text += f"static const struct usmpy_kernel_parameter {parameters_of}[] = {{\n{rows}}};\n"
        flags = "USMPY_KERNEL_GROUPS" if kernel.groups else "0"
        entries += (
            f"    {{ {c_string(name)}, usm_run_{name}, {parameters_of}, {len(parameters)}, {flags}, "
            f"{{ {', '.join(map(str, kernel.required))} }} }},\n"
        )
        n += 1
    if entries:
        text += f"static const struct usmpy_kernel_entry usm_entries[] = {{\n{entries}}};\n"
    return (
        text + '__attribute__((visibility("default"))) const struct usmpy_kernels usmpy_kernels = '
        f"{{ USMPY_KERNELS_VERSION, {n}, {'usm_entries' if entries else '(void *)0'} }};\n"
    )
