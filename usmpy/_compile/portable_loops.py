"""Loops over a box of the index space, for kernels without barriers. They vectorise."""

from __future__ import annotations

from string import Template

from .entry import Kernel
from .included import own_parts

PARTS = own_parts("portable_runners.c")


def fill(part: str, **fields: str) -> str:
    return Template(PARTS[part]).substitute(fields)


def head(kernel: Kernel, next_name: str = "usm_next", name: str = "", how: str = "flatten") -> str:
    """The function's beginning: sizes, the arguments as usm_v0, usm_v1, ..., and local memory."""
    text = fill("head", how=how, name=name or "usm_run_" + kernel.name)
    blocks, sizes = "", []
    for i, p in enumerate(kernel.parameters):
        argument = f"struct usm_arg_{kernel.name}_{i}"
        if p.local:
            size = f"(*(const size_t *)usm_a[{i}] + 127) / 128 * 128"
            blocks += f"    __typeof__((({argument} *)0)->{p.name}) usm_v{i} = (void *){next_name};\n"
            blocks += f"    {next_name} += {size};\n"
            sizes.append(size)
        else:
            text += f"    __auto_type usm_v{i} = ((const {argument} *)usm_a[{i}])->{p.name};\n"
    if blocks:
        text += fill("local memory", next=next_name, sizes=" + ".join(sizes)) + blocks
    return text


def runner(kernel: Kernel) -> str:
    """The function that runs a box of the index space. The row that vectorises is along dimension 0.

    Ids beyond an int are rare: work-items up there are called one by one, and compiled for size, which halves
    the time of a build.
    """
    name, numbered = kernel.name, list(enumerate(kernel.parameters))
    return fill(
        "loops",
        name=name,
        taken="".join(
            f", __typeof__(((struct usm_arg_{name}_{i} *)0)->{p.name}) usm_v{i}" for i, p in numbered
        ),
        values="".join(f", usm_v{i}" for i, _ in numbered),
        head=head(kernel),
        range=PARTS["groups" if kernel.groups else "items"],
        promise="USM_PROMISE" if kernel.promise else "",
        in_group="(size_t)(usm_i - usm_b), usm_l1, usm_l2, usm_w0, usm_w1, usm_w2"
        if kernel.groups
        else "0, 0, 0, 0, 0, 0",
    )
