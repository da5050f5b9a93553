"""Fibers: each work-item of a group has a stack of its own, and they run in turn on one thread.

At a barrier, a work-item switches to the next one that has not ended. When it runs again, all others have
reached the barrier. A protected page below each stack makes an overflow a segmentation fault, so that a
work-item cannot write to the stack of another one. All frames that host.py finds have room together.
"""

from __future__ import annotations

from .entry import Kernel
from .included import own_text
from .portable_loops import fill, head

TEXT = own_text("portable_fibers.c")


def runner(kernel: Kernel, run: str = "") -> str:
    """The function of that name, which runs a box of groups."""
    name = kernel.name
    how = "noinline, cold" if run else "flatten"  # cold: for sizes that do not occur
    members = given = kept = ""
    for i, p in enumerate(kernel.parameters):
        members += f"    __typeof__(((struct usm_arg_{name}_{i} *)0)->{p.name}) v{i};\n"
        given += f", usm_f->v{i}"
        kept += f", usm_v{i}"
    start = head(kernel, name=run, how=how)
    return fill("fibers", name=name, how=how, members=members, given=given, kept=kept, head=start)
