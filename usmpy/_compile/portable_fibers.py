"""Fibers: each work-item of a group has a stack of its own, and they run in turn on one thread.

At a barrier, a work-item switches to the next one that has not ended. When it runs again, all others have
reached the barrier. A protected page below each stack makes an overflow a segmentation fault, so that a
work-item cannot write to the stack of another one. All frames that host.py finds have room together.
"""

from __future__ import annotations

from .entry import Kernel
from .included import own_text
from .portable_loops import head

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
    return f"""\
struct usm_frame_{name} {{
    size_t w0, w1, w2, gn0, gn1, gn2, ln0, ln1, ln2, n0, n1;
{members}}};
__attribute__(({how}))
static void usm_item_{name}(void *usm_frame, size_t usm_i, struct usm_fibers *usm_fibers)
{{
    const struct usm_frame_{name} *usm_f = usm_frame;
    size_t usm_l0 = usm_i % usm_f->n0, usm_l1 = usm_i / usm_f->n0 % usm_f->n1;
    size_t usm_l2 = usm_i / usm_f->n0 / usm_f->n1;
    {name}((struct usm_item){{
        usm_f->w0 * usm_f->ln0 + usm_l0, usm_f->w1 * usm_f->ln1 + usm_l1, usm_f->w2 * usm_f->ln2 + usm_l2,
        usm_l0, usm_l1, usm_l2, usm_f->w0, usm_f->w1, usm_f->w2, usm_f->gn0, usm_f->gn1, usm_f->gn2,
        usm_f->ln0, usm_f->ln1, usm_f->ln2, usm_fibers }}{given});
}}
{head(kernel, name=run, how=how)}\
    struct usm_fibers usm_fibers;
    if (usm_fibers_make(&usm_fibers, usm_ln0 * usm_ln1 * usm_ln2)) {{
        __builtin_free(usm_memory);
        return 1;
    }}
    for (size_t usm_w2 = usm_lo[2]; usm_w2 < usm_hi[2]; usm_w2++)
    for (size_t usm_w1 = usm_lo[1]; usm_w1 < usm_hi[1]; usm_w1++)
    for (size_t usm_w0 = usm_lo[0]; usm_w0 < usm_hi[0]; usm_w0++) {{
        size_t usm_n0 = usm_gn0 - usm_w0 * usm_ln0, usm_n1 = usm_gn1 - usm_w1 * usm_ln1;
        size_t usm_n2 = usm_gn2 - usm_w2 * usm_ln2;
        usm_n0 = usm_n0 < usm_ln0 ? usm_n0 : usm_ln0;
        usm_n1 = usm_n1 < usm_ln1 ? usm_n1 : usm_ln1;
        usm_n2 = usm_n2 < usm_ln2 ? usm_n2 : usm_ln2;
        struct usm_frame_{name} usm_frame = {{ usm_w0, usm_w1, usm_w2, usm_gn0, usm_gn1, usm_gn2,
            usm_ln0, usm_ln1, usm_ln2, usm_n0, usm_n1{kept} }};
        usm_fibers.run = usm_item_{name};
        usm_fibers.frame = &usm_frame;
        usm_group(&usm_fibers, usm_n0 * usm_n1 * usm_n2);
    }}
    usm_fibers_free(&usm_fibers);
    __builtin_free(usm_memory);
    return 0;
}}
"""
