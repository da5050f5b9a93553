"""The timeline as a picture: one lane a queue, tasks as bars, arrows for dependencies."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .tasks import Task, bytes_text, details, lanes, time_text

if TYPE_CHECKING:
    from .._trace import Trace

WIDTH = 960
MARGIN = 12
BAR = 18
ROW = 24
LABEL = 18  # height of a lane's name
MOST = 2000  # bars: browsers become slow with many more
MOST_ROWS = 8  # of one lane, for tasks that overlap
NARROWEST = 1.5  # a bar, in pixels
LETTER = 6.2  # width of one, about

STYLE = """
.usmpy-trace { font: 11px sans-serif; background: #fff; }
.usmpy-trace text { fill: #222; }
.usmpy-trace .grid { stroke: #ddd; }
.usmpy-trace .lane { fill: #f6f7f9; }
.usmpy-trace rect.kernel { fill: #7db3e8; }
.usmpy-trace rect.host { fill: #94cf8a; }
.usmpy-trace rect.copy, .usmpy-trace rect.strided { fill: #f2b36b; }
.usmpy-trace rect.fill, .usmpy-trace rect.sequence, .usmpy-trace rect.prefetch { fill: #e6d06a; }
.usmpy-trace rect.barrier, .usmpy-trace rect.marker { fill: #a9a9b5; }
.usmpy-trace .export { fill: #b48ad6; }
.usmpy-trace .import { fill: #5fb3a1; }
.usmpy-trace .error { stroke: #c0180c; stroke-width: 2; }
.usmpy-trace .pending { opacity: 0.5; stroke: #666; stroke-dasharray: 3 2; }
.usmpy-trace .arrow { fill: none; stroke: #1f4f8f; }
.usmpy-trace .explicit { stroke: #111; }
.usmpy-trace .order { stroke: #999; stroke-dasharray: 3 2; }
"""


def _ticks(span: float) -> Iterator[float]:
    """Round times, about eight of them."""
    step = 1.0
    while span / step > 8:
        step *= 2 if str(step)[0] in "15" else 2.5
    n = 0
    while n * step <= span:
        yield n * step
        n += 1


class _Picture:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        every = trace.tasks
        self.tasks = every[:MOST]
        self.left_out = len(every) - len(self.tasks)
        self.begin = min((task.submit_ns for task in self.tasks), default=trace.span_ns[0])
        ends = [task.end_ns or 0 for task in self.tasks] + [task.submit_ns for task in self.tasks]
        # What is pending goes to the right edge.
        self.end = max([*ends, trace.span_ns[1] if trace.pending else 0, self.begin + 1])
        self.boxes: dict[int, tuple[float, float, float]] = {}  # left, right, top

    def x(self, ns: int) -> float:
        return MARGIN + (ns - self.begin) / (self.end - self.begin) * (WIDTH - 2 * MARGIN)

    def bounds(self, task: Task) -> tuple[float, float]:
        start = task.start_ns if task.start_ns is not None else task.submit_ns
        left = self.x(start)
        return left, max(self.x(task.end_ns if task.end_ns is not None else self.end), left + NARROWEST)

    def place(self, lane: int, top: float) -> int:
        """Puts the lane's tasks into rows that do not overlap: the number of rows."""
        ends: list[float] = []
        for task in self.tasks:
            if task.queue != lane:
                continue
            left, right = self.bounds(task)
            row = next((i for i, end in enumerate(ends) if end <= left + 0.01), len(ends))
            if row >= MOST_ROWS:
                row = min(range(len(ends)), key=ends.__getitem__)
            ends[row : row + 1] = [right]
            self.boxes[task.id] = left, right, top + row * ROW
        return max(1, len(ends))

    def bar(self, task: Task) -> str:
        left, right, top = self.boxes[task.id]
        title = "\n".join([f"{task.id}: {task.name}", *(f"{word}: {value}" for word, value in details(task))])
        classes = f"{task.what} {task.state}"
        if task.passes:
            middle = top + BAR / 2
            shape = f'<path class="{classes}" d="M{left:.1f} {middle - 6}l6 6l-6 6l-6 -6z">'
            shape += f"<title>{html.escape(title)}</title></path>"
        else:
            shape = f'<rect class="{classes}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            shape += f'height="{BAR}" rx="2"><title>{html.escape(title)}</title></rect>'
        words = [task.name]
        if task.nbytes is not None and not task.passes:
            words.append(bytes_text(task.nbytes))
        if task.bandwidth is not None:
            words.append(f"{task.bandwidth / 1e9:.1f} GB/s")
        while words and len(", ".join(words)) * LETTER > right - left - 6:
            words.pop()
        if words and not task.passes:
            shape += f'<text x="{left + 3:.1f}" y="{top + 13:.1f}">{html.escape(", ".join(words))}</text>'
        return shape

    def arrows(self) -> Iterator[str]:
        for task in self.tasks:
            for other, why in task.depends:
                # Within a queue in order, a dependency for order's sake is what the lane shows anyway.
                same = self.tasks[other].queue == task.queue and task.in_order
                if why == "order" and same:
                    continue
                x0, y0 = self.boxes[other][1], self.boxes[other][2] + BAR / 2
                x1, y1 = self.boxes[task.id][0], self.boxes[task.id][2] + BAR / 2
                if task.passes:
                    x0 = min(x0, x1)
                bend = 12 if y0 != y1 else 0
                curve = (
                    f"M{x0:.1f} {y0:.1f}C{x0 + bend:.1f} {y0:.1f} {x1 - bend:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
                )
                yield f'<path class="arrow {why}" d="{curve}" marker-end="url(#usmpy-arrow)"/>'

    def draw(self) -> str:
        lines, bars = [], []
        top = float(MARGIN + LABEL)
        for lane, label in lanes(self.tasks).items():
            lines.append((top, label))
            rows = self.place(lane, top + LABEL)
            bars.append((top + LABEL - 4, rows * ROW + 4))
            top += LABEL + rows * ROW + 8
        height = top + MARGIN
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="usmpy-trace" width="{WIDTH}" '
            f'height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="timeline of {len(self.tasks)} tasks">',
            f"<style>{STYLE}</style>",
            '<defs><marker id="usmpy-arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
            'markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#1f4f8f"/></marker></defs>',
        ]
        out += [
            f'<rect class="lane" x="0" y="{y:.0f}" width="{WIDTH}" height="{rows:.0f}"/>' for y, rows in bars
        ]
        for tick in _ticks(self.end - self.begin):
            x = self.x(int(self.begin + tick))
            out.append(
                f'<line class="grid" x1="{x:.1f}" y1="{MARGIN + 4}" x2="{x:.1f}" y2="{height - 4:.0f}"/>'
            )
            out.append(f'<text x="{x + 2:.1f}" y="{MARGIN + 4}">{time_text(tick)}</text>')
        out += [f'<text x="{MARGIN}" y="{y + 13:.0f}">{html.escape(label)}</text>' for y, label in lines]
        out += [self.bar(task) for task in self.tasks]
        out += self.arrows()
        missing = [
            f"{n} {what}"
            for n, what in ((self.left_out, "more are not drawn"), (self.trace.dropped, "more were dropped"))
            if n
        ]
        if missing or not self.tasks:
            text = "; ".join(missing) or "nothing was submitted"
            out.append(f'<text x="{WIDTH - MARGIN}" y="{height - 3:.0f}" text-anchor="end">{text}</text>')
        return "\n".join([*out, "</svg>"])


def to_svg(trace: Trace) -> str:
    return _Picture(trace).draw()
