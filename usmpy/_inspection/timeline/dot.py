"""The graph of tasks for graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tasks import details, lanes

if TYPE_CHECKING:
    from ..trace import Trace

STYLES = {"explicit": "color=black", "data": 'color="#1f6fb4"', "order": "color=gray50, style=dashed"}
FILLS = {"error": "#f4b6b0", "pending": "#eeeeee"}
KINDS = {"kernel": "#cfe3f7", "host": "#d9f0d3", "export": "#fdf0c4", "import": "#d3ece6"}


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def to_dot(trace: Trace) -> str:
    tasks = trace.tasks
    lines = [
        "digraph usmpy {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=10];',
        '  edge [fontname="sans-serif", fontsize=9];',
    ]
    for lane, label in lanes(tasks).items():
        lines.append(f"  subgraph cluster_{lane} {{")
        lines.append(f"    label={_quote(label)}; color=gray70; fontname=sans;")
        previous = None
        for task in tasks:
            if task.queue != lane:
                continue
            fill = FILLS.get(task.state) or KINDS.get(task.what, "#f5f5f5")
            text = "\n".join(
                [f"{task.id}: {task.name}", *(f"{word}: {value}" for word, value in details(task))]
            )
            lines.append(f'    t{task.id} [label={_quote(text)}, fillcolor="{fill}"];')
            # The order of a queue, unless a dependency implies it.
            if (
                previous is not None
                and task.in_order
                and not any(other == previous for other, _ in task.depends)
            ):
                lines.append(f"    t{previous} -> t{task.id} [color=gray80, style=dotted, arrowhead=open];")
            previous = task.id
        lines.append("  }")
    lines += [
        f"  t{other} -> t{task.id} [label={why}, {STYLES[why]}];"
        for task in tasks
        for other, why in task.depends
    ]
    if trace.dropped:
        lines.append(f"  dropped [shape=plaintext, label={_quote(f'{trace.dropped} more were dropped')}];")
    return "\n".join([*lines, "}", ""])
