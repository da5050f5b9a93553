"""The timeline as a picture: a lane for each queue, tasks as bars, arrows for dependencies, a legend."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .tasks import Task, bytes_text, details, lanes, time_text

if TYPE_CHECKING:
    from ..trace import Trace

# Pixels.
WIDTH = 960
MARGIN = 12
GUTTER = 150  # the column with the names of the lanes
AXIS = 26  # height of the row of times
BAR = 18
ROW = 24  # a bar, and the room above it for arrows within the row
CAPTION = 15  # below a row, where bars are too narrow for their names
GAP = 10  # between lanes
MARK = 12  # width of the mark of an array that is exported or imported
NARROWEST = 1.5  # a bar
SHORTEST = 8  # an arrow with a head
NEAR = 12  # bars that are closer than this share a caption
LETTER = 6.2  # about the width of one

MOST = 2000  # bars: browsers become slow with many more
MOST_ROWS = 8  # of one lane, for tasks that overlap

STYLE = """
.usmpy-trace { font: 11px sans-serif; max-width: 100%; height: auto; }
.usmpy-trace .paper { fill: #fff; }
.usmpy-trace text { fill: #222; }
.usmpy-trace .soft { fill: #5c6470; }
.usmpy-trace .grid { stroke: #d9dde3; }
.usmpy-trace .lane { fill: #f3f5f8; }
.usmpy-trace text.in { fill: #16202b; }
.usmpy-trace .caption { paint-order: stroke; stroke: #f3f5f8; stroke-width: 3px; }
.usmpy-trace .bracket { fill: none; stroke: #8b94a1; }
.usmpy-trace .kernel { fill: #7db3e8; }
.usmpy-trace .host { fill: #94cf8a; }
.usmpy-trace .copy, .usmpy-trace .strided { fill: #f2b36b; }
.usmpy-trace .fill, .usmpy-trace .sequence, .usmpy-trace .prefetch { fill: #e6d06a; }
.usmpy-trace .barrier, .usmpy-trace .marker { fill: #a9a9b5; }
.usmpy-trace .export { fill: #b48ad6; }
.usmpy-trace .import { fill: #5fb3a1; }
.usmpy-trace .noticed { fill-opacity: 0.55; }
.usmpy-trace .error { fill: #f39a90; stroke: #c0180c; stroke-width: 1.5; }
.usmpy-trace .pending { fill-opacity: 0.35; stroke: #777; stroke-dasharray: 3 2; }
.usmpy-trace .arrow { fill: none; stroke-opacity: 0.75; }
.usmpy-trace .explicit { stroke: #111; }
.usmpy-trace .data { stroke: #1f5fae; }
.usmpy-trace .order { stroke: #8a8f98; stroke-dasharray: 3 2; }
.usmpy-trace .explicit-head { fill: #111; }
.usmpy-trace .data-head { fill: #1f5fae; }
.usmpy-trace .order-head { fill: #8a8f98; }
@media (prefers-color-scheme: dark) {
.usmpy-trace .paper { fill: #131416; }
.usmpy-trace text { fill: #d8dadd; }
.usmpy-trace .soft { fill: #9aa3ae; }
.usmpy-trace .grid { stroke: #34383e; }
.usmpy-trace .lane { fill: #1e2125; }
.usmpy-trace .caption { stroke: #1e2125; }
.usmpy-trace .noticed { fill-opacity: 0.7; }
.usmpy-trace .explicit { stroke: #f0f0f0; }
.usmpy-trace .data { stroke: #6fb0ff; }
.usmpy-trace .explicit-head { fill: #f0f0f0; }
.usmpy-trace .data-head { fill: #6fb0ff; }
}
"""
# The legend's names of kinds of tasks: one entry for each colour.
WORDS = {
    "host": "host task",
    "strided": "strided copy",
    "export": "export of an array",
    "import": "import of an array",
}
COLOURS: tuple[tuple[str, ...], ...] = (
    ("kernel",),
    ("host",),
    ("copy", "strided"),
    ("fill", "sequence", "prefetch"),
    ("barrier", "marker"),
    ("export",),
    ("import",),
)
STATES = {"error": "failed", "pending": "not complete yet"}
ARROWS = {
    "explicit": "named in depends",
    "data": "reads what the other task wrote",
    "order": "writes what the other task used",
}
NOTICED = "paler: the end is the time at which usmpy noticed completion"


def _ticks(span: float) -> Iterator[float]:
    """Round times, about eight of them."""
    step = 1.0
    while span / step > 8:
        step *= 2 if str(step)[0] in "15" else 2.5
    n = 0
    while n * step <= span:
        yield n * step
        n += 1


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{html.escape(words)}</text>'


class _Picture:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        every = trace.tasks
        self.tasks = every[:MOST]
        self.left_out = len(every) - len(self.tasks)
        self.begin = min((task.submit_ns for task in self.tasks), default=trace.span_ns[0])
        ends = [task.end_ns or 0 for task in self.tasks] + [task.submit_ns for task in self.tasks]
        # Bars of pending tasks end at the right edge.
        self.end = max([*ends, trace.span_ns[1] if trace.pending else 0, self.begin + 1])
        self.boxes: dict[int, tuple[float, float, float]] = {}  # left, right, top
        self.named: set[int] = set()  # tasks whose bars have room for their names

    def x(self, ns: int) -> float:
        left = MARGIN + GUTTER
        return left + (ns - self.begin) / (self.end - self.begin) * (WIDTH - MARGIN - left)

    def bounds(self, task: Task) -> tuple[float, float]:
        left = self.x(task.start_ns if task.start_ns is not None else task.submit_ns)
        if task.passes:
            return left - MARK / 2, left + MARK / 2
        left = min(left, WIDTH - MARGIN - NARROWEST)
        return left, max(self.x(task.end_ns if task.end_ns is not None else self.end), left + NARROWEST)

    def rows(self, lane: int) -> list[list[Task]]:
        """The lane's tasks: one row in a queue in order, else rows of tasks that do not overlap in time."""
        rows: list[list[Task]] = []
        for task in self.tasks:
            if task.queue != lane:
                continue
            row = (
                0
                if task.in_order
                else next((i for i, others in enumerate(rows) if self.is_after(task, others[-1])), len(rows))
            )
            if row >= MOST_ROWS:
                row = min(range(len(rows)), key=lambda i: self.bounds(rows[i][-1])[1])
            if row == len(rows):
                rows.append([])
            rows[row].append(task)
        return rows

    def is_after(self, task: Task, other: Task) -> bool:
        """Whether both fit into one row. Times are compared, not pixels.

        A task is after those that it depends on, whenever their ends were noticed.
        """
        if task.passes:
            return self.bounds(other)[1] <= self.bounds(task)[0]
        start = task.start_ns if task.start_ns is not None else task.submit_ns
        if any(id == other.id for id, _ in task.depends):
            return True
        return other.end_ns is not None and other.end_ns <= start

    def label(self, task: Task) -> str:
        """As much text as fits into the bar."""
        left, right, _ = self.boxes[task.id]
        words = [task.name]
        if task.nbytes is not None:
            words.append(bytes_text(task.nbytes))
        if task.bandwidth is not None:
            words.append(f"{task.bandwidth / 1e9:.1f} GB/s")
        while words and len(", ".join(words)) * LETTER > right - left - 6:
            words.pop()
        return ", ".join(words)

    def captions(self, row: list[Task]) -> Iterator[tuple[float, float, float, str]]:
        """(left, right, centre of text, text) of neighbouring bars that are too narrow for their names."""
        groups: list[list[list[Task]]] = []  # a bar with a name of its own, or of another name, ends one
        joins = False
        for task in sorted(row, key=lambda task: self.boxes[task.id]):
            last = groups[-1][-1] if joins else None
            joins = not (task.passes or self.label(task))
            if joins and (last is None or (last[0].name, last[0].state) != (task.name, task.state)):
                groups.append([[task]])
            elif joins and last is not None:
                if self.boxes[task.id][0] - self.boxes[last[-1].id][1] < NEAR:
                    last.append(task)
                else:
                    groups[-1].append([task])
        free = float(MARGIN)
        for runs in groups:
            for i in reversed(range(1, len(runs))):
                left, room, _ = self.caption_of(runs[i - 1])
                if self.caption_of(runs[i])[0] < left + room:  # no room for two captions
                    runs[i - 1 : i + 1] = [runs[i - 1] + runs[i]]
            for run in runs:
                left, room, words = self.caption_of(run)
                if left >= free:
                    right = max(self.boxes[task.id][1] for task in run)
                    yield self.boxes[run[0].id][0], right, left + room / 2, words
                    free = left + room

    def caption_of(self, run: list[Task]) -> tuple[float, float, str]:
        """(left, width, words) of a run of neighbours, whose times are known or not."""
        words = run[0].name if len(run) == 1 else f"{len(run)} × {run[0].name}"
        times = [task.duration_ns for task in run if task.timed != "noticed" and task.duration_ns is not None]
        if len(times) == len(run) > 1:
            words += f", mean {time_text(sum(times) / len(times))}"
        middle = (self.boxes[run[0].id][0] + self.boxes[run[-1].id][1]) / 2
        room = (len(words) + 2) * LETTER
        return max(MARGIN + GUTTER, min(middle - room / 2, WIDTH - MARGIN / 2 - room)), room, words

    def bar(self, task: Task) -> str:
        left, right, top = self.boxes[task.id]
        rows = [f"{task.id}: {task.name}", *(f"{word}: {value}" for word, value in details(task))]
        title = f"<title>{html.escape(chr(10).join(rows))}</title>"
        if task.passes:
            shape = f"M{left + MARK / 2:.1f} {top + BAR / 2 - MARK / 2}l6 6l-6 6l-6 -6z"
            return f'<path class="{task.what} {task.state}" d="{shape}">{title}</path>'
        classes = f"{task.what} {task.state}" + " noticed" * (task.timed == "noticed")
        bar = f'<rect class="{classes}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        bar += f'height="{BAR}" rx="{2 if right - left > 5 else 0}">{title}</rect>'
        label = self.label(task)
        return bar + _text(left + 3, top + 13, label, ' class="in"') if label else bar

    def caption(self, left: float, right: float, middle: float, words: str, y: float) -> str:
        bracket = f'<path class="bracket" d="M{left:.1f} {y + 1:.1f}v2H{right:.1f}v-2"/>'
        return bracket + _text(middle, y + 13, words, ' class="soft caption" text-anchor="middle"')

    def arrow(self, source: Task, target: Task, why: str) -> str:
        left0, right0, top0 = self.boxes[source.id]
        left1, right1, top1 = self.boxes[target.id]
        x1 = (left1 + right1) / 2 if target.passes else left1 + min(4, (right1 - left1) / 2)
        x0 = (left0 + right0) / 2 if source.passes else right0 - min(4, (right0 - left0) / 2)
        # A late-noticed end may be after the start of the dependent task.
        x0 = max(left0, min(x0, x1))
        if top0 == top1:
            y0 = y1 = top0
            bend = -5.0
            curve = f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 + bend:.1f}"
        else:
            down = top1 > top0
            y0, y1 = (top0 + BAR, top1) if down else (top0, top1 + BAR)
            bend = (y1 - y0) / 2
            curve = f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f}"
        head = abs(x1 - x0) + abs(y1 - y0) >= SHORTEST
        path = f'<path class="arrow {why}" d="M{x0:.1f} {y0:.1f}{curve} {x1:.1f} {y1:.1f}"'
        return path + (f' marker-end="url(#usmpy-{why})"/>' if head else "/>")

    def arrows(self) -> Iterator[tuple[str, str]]:
        """(why, drawing); none within a queue in order, whose lane shows the order already."""
        for task in self.tasks:
            for other, why in task.depends:
                source = self.tasks[other]
                if not (task.in_order and source.queue == task.queue):
                    yield why, self.arrow(source, task, why)

    def legend(self, whys: set[str], top: float) -> tuple[float, list[str]]:
        """The entries of kinds that are in the picture: (bottom, drawings)."""
        kinds = {task.what for task in self.tasks}
        items = []
        for group in COLOURS:
            there = [what for what in group if what in kinds]
            if there:
                words = " or ".join(WORDS.get(what, what) for what in there)
                items.append((f'<rect class="{there[0]}" width="16" height="10" rx="2"/>', words))
        for state, words in STATES.items():
            if any(task.state == state for task in self.tasks):
                items.append((f'<rect class="key {state}" width="16" height="10" rx="2"/>', words))
        for why, words in ARROWS.items():
            if why in whys:
                line = f'<path class="arrow {why} key" d="M0 5h16" marker-end="url(#usmpy-{why})"/>'
                items.append((line, f"dependency: {words}"))
        if any(task.timed == "noticed" and not task.passes for task in self.tasks):
            items.append(('<rect class="kernel noticed" width="16" height="10" rx="2"/>', NOTICED))
        out, x, y = [], float(MARGIN), top
        for drawing, words in items:
            wide = 22 + len(words) * LETTER
            if x > MARGIN and x + wide > WIDTH - MARGIN:
                x, y = float(MARGIN), y + 18
            out.append(f'<g transform="translate({x:.1f} {y:.1f})">{drawing}{_text(22, 9, words)}</g>')
            x += wide + 16
        return y + 18 * bool(items), out

    def draw(self) -> str:
        names, areas, captions = [], [], []
        top = float(MARGIN + AXIS)
        for lane, label in lanes(self.tasks).items():
            rows, y = self.rows(lane), top
            for row in rows:
                for task in row:
                    left, right = self.bounds(task)
                    self.boxes[task.id] = left, right, y + ROW - BAR
                y += ROW
                found = [self.caption(*caption, y) for caption in self.captions(row)]
                captions += found
                y += CAPTION * bool(found)
            device, _, queue = label.partition(", ")
            names.append(_text(MARGIN, top + 13, device) + _text(MARGIN, top + 26, queue, ' class="soft"'))
            bottom = max(y + ROW - BAR, top + 32.0)
            areas.append(
                f'<rect class="lane" x="0" y="{top:.0f}" width="{WIDTH}" height="{bottom - top:.0f}"/>'
            )
            top = bottom + GAP
        arrows = list(self.arrows())
        lanes_end = top - GAP
        top, legend = self.legend({why for why, _ in arrows}, top + 2)
        missing = [
            f"{n} {what}"
            for n, what in ((self.left_out, "more are not drawn"), (self.trace.dropped, "more were dropped"))
            if n
        ]
        if missing or not self.tasks:
            words = "; ".join(missing) or "nothing was submitted"
            legend.append(_text(WIDTH - MARGIN, top + 10, words, ' text-anchor="end"'))
            top += 18
        height = top + MARGIN / 2
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="usmpy-trace" width="{WIDTH}" '
            f'height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="timeline of {len(self.tasks)} tasks">',
            f"<style>{STYLE}</style>",
            "<defs>",
            *(
                f'<marker id="usmpy-{why}" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
                f'markerHeight="6" orient="auto"><path class="{why}-head" d="M0 0L6 3L0 6z"/></marker>'
                for why in ARROWS
            ),
            "</defs>",
            f'<rect class="paper" width="{WIDTH}" height="{height:.0f}"/>',
            *areas,
        ]
        out.append(_text(MARGIN, MARGIN + 8, "time since the first", ' class="soft"'))
        out.append(_text(MARGIN, MARGIN + 20, "submission", ' class="soft"'))
        for tick in _ticks(self.end - self.begin):
            x = self.x(int(self.begin + tick))
            out.append(f'<line class="grid" x1="{x:.1f}" y1="{MARGIN}" x2="{x:.1f}" y2="{lanes_end:.0f}"/>')
            words = time_text(tick) if tick else "0"
            inside = x + 3 + len(words) * LETTER < WIDTH
            out.append(
                _text(x + (3 if inside else -3), MARGIN + 8, words, "" if inside else ' text-anchor="end"')
            )
        out += names
        out += [self.bar(task) for task in self.tasks]
        out += [drawing for _, drawing in arrows]
        out += captions
        return "\n".join([*out, *legend, "</svg>"])


def to_svg(trace: Trace) -> str:
    return _Picture(trace).draw()
