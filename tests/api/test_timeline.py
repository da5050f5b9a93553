"""Traces as Chrome's format, SVG and graphviz: strict readers take each, a browser the first two."""

import gc
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import usmpy
from usmpy._inspection.timeline import svg
from usmpy._inspection.timeline.tasks import Task, read

NS = "{http://www.w3.org/2000/svg}"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(NAMES)} is installed")


def broken():
    raise ValueError('a name with <, & and "')


@pytest.fixture
def trace():
    first, second = usmpy.Queue("host", profiling=True), usmpy.Queue("host", in_order=False)
    x = usmpy.empty(1 << 20, dtype="uint8", device=first)
    y = usmpy.empty(1 << 20, dtype="uint8", device=second)
    with usmpy.trace() as t:
        filled = first.fill(x, 1)
        copied = second.memcpy(y, x, depends=[filled])
        failed = second.host_task(broken, depends=[copied])
        for event in (copied, failed):
            event.exception()
        memoryview(y).release()
        with pytest.raises(ValueError, match="a name"):
            failed.wait()
    return t


# What each phase must have and may have ("Trace Event Format", the table of phases).
ALWAYS = {"ph": str, "pid": int, "tid": int, "name": str}
PHASES = {
    "M": ({"args": dict}, {}),
    "X": ({"ts": float, "dur": (int, float), "cat": str}, {"args": dict, "cname": str}),
    "i": ({"ts": float, "s": str, "cat": str}, {"args": dict}),
    "s": ({"ts": float, "id": str, "cat": str}, {}),
    "f": ({"ts": float, "id": str, "cat": str, "bp": str}, {}),
}


def check_chrome(document):
    """Raises AssertionError for what the format does not allow."""
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    slices, starts, ends, names = {}, {}, {}, set()
    for event in document["traceEvents"]:
        must, may = PHASES[event["ph"]]
        must = ALWAYS | must
        assert set(must) <= set(event) <= set(must) | set(may), event
        for key, value in event.items():
            assert isinstance(value, (must | may)[key]), (key, event)
        track = event["pid"], event["tid"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert list(event["args"]) == ["name"]
            assert (track, event["name"]) not in names
            names.add((track, event["name"]))
        elif event["ph"] == "X":
            assert event["dur"] >= 0
            slices.setdefault(track, []).append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "i":
            assert event["s"] in "gpt"
        else:
            found = starts if event["ph"] == "s" else ends
            assert event["id"] not in found
            found[event["id"]] = track, event["ts"]
    tracks = {track for track, kind in names if kind == "thread_name"}
    assert set(slices) <= tracks
    assert set(starts) == set(ends)
    for id, (track, ts) in [*starts.items(), *ends.items()]:  # within a slice, which the arrow is drawn from
        assert any(a - 1e-3 <= ts <= b + 1e-3 for a, b in slices[track]), (id, ts, slices[track])
    for id, (_, ts) in starts.items():
        assert ts <= ends[id][1], id


def test_chrome_format(trace, tmp_path):
    trace.save(tmp_path / "x.json")
    document = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    check_chrome(document)
    slices = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in slices] == ["fill", "copy", "broken"]
    assert len({event["tid"] for event in slices}) == 2  # one track a queue
    copy = slices[1]["args"]
    assert copy["bytes"] == 1 << 20
    assert copy["GB/s"] > 0
    assert slices[2]["args"]["state"] == "error"
    flows = [event for event in document["traceEvents"] if event["ph"] == "s"]
    assert [(event["id"], event["name"]) for event in flows] == [("0-1", "explicit"), ("1-2", "explicit")]


def test_arrays_of_others_are_shown_where_they_came(tmp_path):
    source, text = np.arange(100, dtype="float32"), bytearray(50)
    queue = usmpy.Queue("host")
    with usmpy.trace() as t:
        x = usmpy.from_dlpack(source)
        usmpy.asarray(text, copy=False)
        y = usmpy.USMArray.from_pointer(source.ctypes.data, (25,), "float32", queue=queue, owner=source)
        z = usmpy.empty_like(x, device=queue)
        queue.memcpy(z, x).wait()
        memoryview(z).release()
    shown = [(task.what, task.name, task.nbytes, task.queue, task.state) for task in t.tasks]
    assert shown[:3] == [
        ("import", "DLPack", 400, 0, "complete"),
        ("import", "buffer", 50, 0, "complete"),
        ("import", "pointer", 4 * y.size, 0, "complete"),
    ]
    assert [what for what, *_ in shown[3:]] == ["copy", "export"]
    copy, export = t.tasks[3:]
    assert copy.depends == ((0, "data"),)
    assert export.depends == ((3, "data"),)
    assert all(task.bandwidth is None for task in t.tasks if task.passes)
    root = ElementTree.fromstring(t.to_svg())
    assert {"other libraries", "exports and imports"} <= set(texts(root))
    marks = [path.get("class") for path in root.iter(f"{NS}path") if path.find(f"{NS}title") is not None]
    assert marks == ["import complete"] * 3 + ["export complete"]
    document = t.to_chrome()
    check_chrome(document)
    marks = [event["name"] for event in document["traceEvents"] if event.get("cat") == "import"]
    assert marks == [name for name in ("DLPack", "buffer", "pointer") for _ in range(2)]  # lane and thread
    assert re.findall(r"^  t(\d+) -> t(\d+) \[label=(\w+)", t.to_dot(), re.M) == [
        ("0", "3", "data"),
        ("3", "4", "data"),
    ]


def test_the_strict_reader_is_strict(trace):
    document = trace.to_chrome()
    for change in (
        lambda events: events[-1].pop("ph"),
        lambda events: events[-1].update(extra=1),
        lambda events: events.append(next(event for event in events if event["ph"] == "s")),
        lambda events: events.remove(next(event for event in events if event["ph"] == "s")),
        lambda events: next(event for event in events if event["ph"] == "X").update(dur=-1.0),
        lambda events: next(event for event in events if event["ph"] == "f").update(ts=-1e9),
    ):
        broken = json.loads(json.dumps(document))
        change(broken["traceEvents"])
        with pytest.raises((AssertionError, KeyError)):
            check_chrome(broken)


def bars_of(root):
    """The rectangles and marks of tasks: those that tell more when they are pointed at."""
    return [bar for bar in root.iter(f"{NS}rect") if bar.find(f"{NS}title") is not None]


def arrows_of(root):
    """The class of each arrow of the picture, without those of the legend."""
    classes = [path.get("class") or "" for path in root.iter(f"{NS}path")]
    return [name for name in classes if name.startswith("arrow") and not name.endswith("key")]


def texts(root):
    return [text.text for text in root.iter(f"{NS}text")]


def test_svg(trace):
    root = ElementTree.fromstring(trace.to_svg())
    bars = bars_of(root)
    assert [bar.get("class") for bar in bars] == ["fill complete", "copy complete", "host error"]
    width, height = float(root.get("width")), float(root.get("height"))
    for bar in bars:
        left, top = float(bar.get("x")), float(bar.get("y"))
        assert left >= 0
        assert left + float(bar.get("width")) <= width
        assert 0 <= top <= height
        assert bar.find(f"{NS}title").text
    assert len([rect for rect in root.iter(f"{NS}rect") if rect.get("class") == "lane"]) == 3
    assert arrows_of(root) == ["arrow explicit", "arrow explicit", "arrow data"]
    words = texts(root)
    assert words.count("host:cpu:0") == 2
    assert any(re.fullmatch(r"queue \d+ \(in order\)", word) for word in words)
    assert {"other libraries", "exports"} <= set(words)
    assert trace._repr_svg_() == trace.to_svg()


def test_the_legend_lists_the_kinds_in_the_picture(trace):
    words = texts(ElementTree.fromstring(trace.to_svg()))
    legend = words[words.index("host task") :]
    assert legend == [
        "host task",
        "copy",
        "fill",
        "export of an array",
        "failed",
        "dependency: named in depends",
        "dependency: reads what the other task wrote",
    ]


class Drawn:
    """A trace of given tasks."""

    def __init__(self, tasks, pending=0):
        self.tasks, self.pending, self.dropped = tasks, pending, 0
        self.span_ns = 0, max((task.end_ns or task.submit_ns for task in tasks), default=1)


def task(id, start, end, **more):
    fields = {"what": "kernel", "name": "saxpy", "state": "complete", "device": "host:cpu:0", "queue": 1}
    fields |= {"in_order": True, "thread": 1, "submit_ns": 0, "timed": "device", "nbytes": None}
    fields |= {"work_items": 1, "depends": ((id - 1, "data"),) if id else ()}
    return Task(id=id, start_ns=start, end_ns=end, **{**fields, **more})


def rows_of(root):
    return len({bar.get("y") for bar in bars_of(root)})


SHORT = {
    "evenly": [(1000 * i, 1000 * i + 300) for i in range(60)],
    "without a gap": [(1000 * i, 1000 * (i + 1)) for i in range(60)],
    "in bursts": [(40_000 * (i // 20) + 100 * i, 40_000 * (i // 20) + 100 * i + 20) for i in range(60)],
    "one long one first": [(0, 100_000), *((100_000 + 10 * i, 100_001 + 10 * i) for i in range(59))],
    "at one moment": [(0, 100_000), *[(100_000, 100_000)] * 59],
}


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("times", SHORT.values(), ids=SHORT)
def test_sixty_short_kernels_can_be_read(times, in_order):
    tasks = [task(i, *time, in_order=in_order) for i, time in enumerate(times)]
    root = ElementTree.fromstring(svg.to_svg(Drawn(tasks)))
    assert len(bars_of(root)) == 60
    assert rows_of(root) == 1  # each depends on the one before
    # Every bar is named, by itself or with its neighbours, and no two names overlap.
    captions = [text for text in root.iter(f"{NS}text") if "caption" in (text.get("class") or "")]
    alone = [text for text in root.iter(f"{NS}text") if text.get("class") == "in"]
    counts = [re.match(r"(\d+) × saxpy", text.text) for text in captions]
    assert sum(int(found[1]) if found else 1 for found in counts) + len(alone) == 60
    ends = 0.0
    for caption in captions:
        half = len(caption.text) * svg.LETTER / 2
        assert float(caption.get("x")) - half >= ends
        ends = float(caption.get("x")) + half
    assert ends <= svg.WIDTH
    # The lane of a queue in order needs no arrow.
    assert arrows_of(root) == ([] if in_order else ["arrow data"] * 59)


def test_a_mean_is_of_measured_times_alone():
    times = SHORT["evenly"]
    measured = svg.to_svg(Drawn([task(i, *time) for i, time in enumerate(times)]))
    noticed = svg.to_svg(Drawn([task(i, *time, timed="noticed") for i, time in enumerate(times)]))
    assert "60 × saxpy, mean 300 ns" in measured
    assert "the time at which usmpy noticed completion" not in measured
    assert "mean" not in noticed
    assert "paler: the end is the time at which usmpy noticed completion" in noticed
    assert "duration: 300 ns, at most: the end is the time at which usmpy noticed completion" in noticed


def test_tasks_that_overlap_have_rows_of_their_own():
    independent = [task(i, 100 * i, 100 * i + 150, in_order=False, depends=()) for i in range(6)]
    assert rows_of(ElementTree.fromstring(svg.to_svg(Drawn(independent)))) == 2
    # Noticed in the wrong order: the second depends on the first, so it was not at work beside it.
    late = [task(0, 0, 500, in_order=False), task(1, 400, 400, in_order=False, timed="noticed")]
    assert rows_of(ElementTree.fromstring(svg.to_svg(Drawn(late)))) == 1


def test_no_arrow_leads_backwards_in_time():
    first = task(0, 0, 900, queue=1, timed="noticed")  # noticed after the beginning of what depended on it
    second = task(1, 300, 1000, queue=2)
    text = svg.to_svg(Drawn([first, second]))
    ((begin, end),) = re.findall(r'class="arrow data" d="M([\d.]+) .* ([\d.]+) [\d.]+"', text)
    assert float(begin) <= float(end)


def test_a_task_does_not_depend_on_itself():
    device = usmpy.Device("host")
    record = ("kernel", "complete", "saxpy", device, 1, 1, 10, 20, 30, 100, True, False)

    class Core:
        def read(self):
            yield (*record, [(0, True), (0, False)], [(7, 3)])
            yield (*record, [(1, False), (0, True)], [(7, 3)])

    assert [task.depends for task in read(Core())] == [(), ((0, "explicit"),)]


def test_svg_of_a_large_trace_names_the_omitted_tasks():
    queue = usmpy.Queue("host")
    x = usmpy.empty(10, dtype="uint8", device=queue)
    with usmpy.trace() as t:
        for _ in range(2500):
            queue.fill(x, 1)
    text = t.to_svg()
    ElementTree.fromstring(text)
    assert "500 more are not drawn" in text
    assert len(bars_of(ElementTree.fromstring(text))) == 2000


def test_empty_traces():
    with usmpy.trace() as t:
        pass
    assert "nothing was submitted" in t.to_svg()
    check_chrome(t.to_chrome())
    assert t.to_dot().startswith("digraph")


def test_dot_has_each_task_and_dependency(trace):
    text = trace.to_dot()
    assert re.findall(r"^    t(\d+) \[", text, re.M) == ["0", "1", "2", "3"]
    edges = re.findall(r"^  t(\d+) -> t(\d+) \[label=(\w+)", text, re.M)
    assert edges == [("0", "1", "explicit"), ("1", "2", "explicit"), ("1", "3", "data")]


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
@pytest.mark.not_sanitized("it runs a program of the system")
def test_graphviz_takes_it(trace, tmp_path):
    trace.save(tmp_path / "x.dot")
    done = subprocess.run(
        ["dot", "-Tsvg", tmp_path / "x.dot"], capture_output=True, encoding="utf-8", timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count('class="node"') == 4
    assert done.stdout.count('class="edge"') == 3


def test_save_refuses_other_endings(trace, tmp_path):
    with pytest.raises(ValueError, match=r"\.json, \.svg or \.dot"):
        trace.save(tmp_path / "x.png")
    with pytest.raises(FileNotFoundError):
        trace.save(tmp_path / "nowhere" / "x.svg")


def test_use_of_traces_that_is_wrong():
    t = usmpy.trace()
    assert repr(t) == "<Trace that has not begun>"
    with pytest.raises(RuntimeError, match="has not begun"):
        _ = t.tasks
    with t:
        pass
    with pytest.raises(RuntimeError, match="used before"), t:
        pass
    for limit, error in ((0, ValueError), (1 << 40, ValueError), ("many", TypeError)):
        with pytest.raises(error), usmpy.trace(limit):
            pass


PAGE = """<!doctype html><meta charset="utf-8"><title>trace</title>
<div id="here">%s</div><pre id="said">nothing</pre>
<script id="data" type="application/json">%s</script>
<script>
const document_ = JSON.parse(document.getElementById("data").textContent);
const bars = [...document.querySelectorAll("svg rect")].filter(b => b.querySelector("title"));
const arrows = [...document.querySelectorAll("svg path.arrow:not(.key)")];
const shapes = [...document.querySelectorAll("svg text")].map(t => t.getBBox());
document.getElementById("said").textContent = JSON.stringify({
  events: document_.traceEvents.length,
  slices: document_.traceEvents.filter(e => e.ph === "X").map(e => [e.name, e.tid]),
  bars: bars.map(b => { const r = b.getBoundingClientRect(); return [r.width, r.height]; }),
  colours: bars.map(b => getComputedStyle(b).fill),
  lengths: arrows.map(a => a.getTotalLength()),
  paper: getComputedStyle(document.querySelector("svg .paper")).fill,
  right: Math.max(...shapes.map(s => s.x + s.width)),
  bottom: Math.max(...shapes.map(s => s.y + s.height)),
  titles: bars.map(b => b.querySelector("title").textContent),
});
</script>
"""


@needs_browser
@pytest.mark.not_sanitized("it runs a program of the system")
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_browser_shows_the_picture_and_reads_the_file(trace, tmp_path, scheme):
    chrome = trace.to_chrome()
    page = tmp_path / "page.html"
    page.write_text(PAGE % (trace.to_svg(), json.dumps(chrome).replace("<", "\\u003c")), encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1100,800",
    ]
    options += [f"--blink-settings=preferredColorScheme={['dark', 'light'].index(scheme)}"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [BROWSER, *options, page.as_uri()], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    (said,) = re.findall(r'<pre id="said">(.*?)</pre>', done.stdout, re.S)
    said = json.loads(said.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert said["events"] == len(chrome["traceEvents"])
    assert [name for name, _ in said["slices"]] == ["fill", "copy", "broken"]
    assert len(said["bars"]) == 3
    assert all(width >= 1 and height == 18 for width, height in said["bars"])
    assert len(set(said["colours"])) == 3
    assert "rgb(0, 0, 0)" not in said["colours"]  # the style sheet was taken
    assert said["paper"] == {"light": "rgb(255, 255, 255)", "dark": "rgb(19, 20, 22)"}[scheme]
    root = ElementTree.fromstring(trace.to_svg())  # no text is cut off
    assert said["right"] <= float(root.get("width"))
    assert said["bottom"] <= float(root.get("height"))
    assert len(said["lengths"]) == 3
    assert said["titles"][1].startswith("1: copy\n")
    assert "bandwidth" in said["titles"][1]


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def test_bytes_of_each_kind_of_command(queue):
    x = usmpy.zeros(1024, dtype="float32", usm_type="shared", queue=queue)
    y = usmpy.zeros((64, 64), dtype="float32", queue=queue)
    with usmpy.trace() as t:
        queue.prefetch(x)
        usmpy.arange(1000, dtype="int32", queue=queue)
        y.T.copy()
        y[::2, ::2].copy()
        queue.wait()
    assert [(task.what, task.nbytes) for task in t.tasks] == [
        ("prefetch", 4096),
        ("sequence", 4000),
        ("strided", 4 * 64 * 64),
        ("strided", 4 * 32 * 32),
    ]


def test_a_trace_that_is_gone_leaves_the_ends_of_another(queue):
    with usmpy.trace() as first:
        queue.host_task(int).wait()
    with usmpy.trace() as second:
        queue.host_task(int).wait()
        queue.host_task(int).wait()
    assert [task.state for task in first.tasks] == ["complete"]
    del first
    gc.collect()
    assert [task.state for task in second.tasks] == ["complete"] * 2


def test_traces_that_overlap_have_the_tasks_of_their_own_time(queue):
    x = usmpy.zeros(100, queue=queue)
    first, second = usmpy.trace(), usmpy.trace()
    with first:
        queue.fill(x, 1).wait()
        second.__enter__()
        queue.fill(x, 2).wait()
    queue.fill(x, 3).wait()
    queue.fill(x, 4).wait()
    second.__exit__(None, None, None)
    assert [len(trace.tasks) for trace in (first, second)] == [2, 3]
    del first
    gc.collect()
    assert [task.state for task in second.tasks] == ["complete"] * 3
