"""The table of kernels that a shared object for the host exports (csrc/cpu/kernel.h)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .included import own_parts

VERSION = 1

_PARTS = own_parts("entry.h")
# The declarations of kernel.h, which a test compares. They need no system header.
DECLARATIONS = _PARTS["declarations"]


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
    text = DECLARATIONS.replace("uint32_t", "__UINT32_TYPE__").replace("size_t", "__SIZE_TYPE__")
    text += _PARTS["types"]
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
