"""Loops over a box of the index space, for kernels without barriers. They vectorise."""

from __future__ import annotations

from .entry import Kernel

PROMISE = """\
#ifdef __clang__
#define USM_PROMISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define USM_PROMISE _Pragma("GCC ivdep")
#endif
"""


def head(kernel: Kernel, next_name: str = "usm_next", name: str = "", how: str = "flatten") -> str:
    """The function's beginning: sizes, the arguments as usm_v0, usm_v1, ..., and local memory."""
    text = f"""\
__attribute__(({how}))
static int {name or "usm_run_" + kernel.name}(const void *const *usm_a, const size_t *usm_g,
    const size_t *usm_l, const size_t *usm_lo, const size_t *usm_hi)
{{
    const size_t usm_gn0 = usm_g[0], usm_gn1 = usm_g[1], usm_gn2 = usm_g[2];
    const size_t usm_ln0 = usm_l[0], usm_ln1 = usm_l[1], usm_ln2 = usm_l[2];
    char *usm_memory = (void *)0;
    (void)usm_a, (void)usm_ln0, (void)usm_ln1, (void)usm_ln2;
"""
    blocks = []
    for i, p in enumerate(kernel.parameters):
        argument = f"struct usm_arg_{kernel.name}_{i}"
        if p.local:
            blocks.append(
                (i, f"    __typeof__((({argument} *)0)->{p.name}) usm_v{i} = (void *){next_name};\n")
            )
        else:
            text += f"    __auto_type usm_v{i} = ((const {argument} *)usm_a[{i}])->{p.name};\n"
    if blocks:
        sizes = [f"(*(const size_t *)usm_a[{i}] + 127) / 128 * 128" for i, _ in blocks]
        text += f"    usm_memory = __builtin_malloc(127 + {' + '.join(sizes)});\n"
        text += "    if (!usm_memory) {\n        return 1;\n    }\n"
        text += f"    char *{next_name} = usm_memory + (-(size_t)usm_memory & 127);\n"
        text += "".join(
            block + f"    {next_name} += {size};\n" for (_, block), size in zip(blocks, sizes, strict=True)
        )
    return text


_ITEMS = """\
    for (size_t usm_k = usm_lo[2]; usm_k < usm_hi[2]; usm_k++)
    for (size_t usm_j = usm_lo[1]; usm_j < usm_hi[1]; usm_j++) {
        size_t usm_from = usm_lo[0], usm_to = usm_hi[0];
"""
_GROUPS = """\
    for (size_t usm_w2 = usm_lo[2]; usm_w2 < usm_hi[2]; usm_w2++)
    for (size_t usm_w1 = usm_lo[1]; usm_w1 < usm_hi[1]; usm_w1++)
    for (size_t usm_w0 = usm_lo[0]; usm_w0 < usm_hi[0]; usm_w0++)
    for (size_t usm_l2 = 0, usm_k = usm_w2 * usm_ln2; usm_l2 < usm_ln2 && usm_k < usm_gn2; usm_l2++, usm_k++)
    for (size_t usm_l1 = 0, usm_j = usm_w1 * usm_ln1; usm_l1 < usm_ln1 && usm_j < usm_gn1; usm_l1++, usm_j++)
    {
        size_t usm_from = usm_w0 * usm_ln0, usm_to = usm_from + usm_ln0;
        usm_to = usm_to < usm_gn0 ? usm_to : usm_gn0;
"""


def runner(kernel: Kernel) -> str:
    """The function that runs a box of the index space. The row that vectorises is along dimension 0.

    Ids beyond an int are rare: work-items up there are called one by one, and compiled for size, which halves
    the time of a build.
    """
    name = kernel.name
    in_group = "(size_t)({i} - usm_b), usm_l1, usm_l2, usm_w0, usm_w1, usm_w2"
    place = f"""\
(struct usm_item){{{{
                    (size_t){{i}}, usm_j, usm_k, {in_group if kernel.groups else "0, 0, 0, 0, 0, 0"},
                    usm_gn0, usm_gn1, usm_gn2, usm_ln0, usm_ln1, usm_ln2, (void *)0 }}}}"""
    values = "".join(f", usm_v{i}" for i in range(len(kernel.parameters)))
    taken = "".join(
        f", __typeof__(((struct usm_arg_{name}_{i} *)0)->{p.name}) usm_v{i}"
        for i, p in enumerate(kernel.parameters)
    )
    return f"""\
__attribute__((noinline, cold))
static void usm_far_{name}(struct usm_item usm_item{taken})
{{
    {name}(usm_item{values});
}}
{head(kernel)}{_GROUPS if kernel.groups else _ITEMS}\
        if (usm_to <= 0x7fffffff) {{
            int usm_b = (int)usm_from, usm_e = (int)usm_to;
            if (usm_b < 0) {{
                __builtin_unreachable();
            }}
            {"USM_PROMISE" if kernel.promise else ""}
            for (int usm_i = usm_b; usm_i < usm_e; usm_i++) {{
                {name}({place.format(i="usm_i")}{values});
            }}
        }} else {{
            size_t usm_b = usm_from;
            for (size_t usm_i = usm_b; usm_i < usm_to; usm_i++) {{
                usm_far_{name}({place.format(i="usm_i")}{values});
            }}
        }}
    }}
    __builtin_free(usm_memory);
    return 0;
}}
"""
