"""The layers of csrc/README.md, read from the sources; names and state, read from the compiled objects."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import extension
import pytest
from together import together

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.not_sanitized("it reads sources and runs other programs")
CSRC = ROOT / "csrc"
SOURCES = sorted(path for kind in ("*.c", "*.h", "*.inc") for path in CSRC.rglob(kind))
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)

LINES = 650  # a file of more is two nouns

# Headers of the core that each backend may see: the seam, and helpers that are no part of any other layer.
SEEN_BY_BACKENDS = {
    "host": {
        "backend.h": "the seam",
        "deferral.h": "runs a task on a thread that waits",
        "heap.h": "allocation that tests can make fail",
        "launch.h": "kernels, their index space and arguments",
        "runtime_history.h": "kernels that were short before",
        "thread.h": "threads on some of the processors",
        "worker.h": "threads, and what runs tasks on them",
        "event.h": "queues, events and commands",
    },
    "opencl": {
        "backend.h": "the seam",
        "link.h": "links as a driver sees them",
        "heap.h": "allocation that tests can make fail",
        "launch.h": "kernels of users, their index space and arguments",
        "library.h": "opens the loader and the drivers",
        "readable.h": "handles that come from Python as numbers",
        "registry.h": "the devices that it found at its start",
        "runtime_history.h": "kernels that were short before",
        "signature.h": "names of types, as drivers tell them",
        "spirv.h": "what kernels of a module take",
        "event.h": "queues, events and commands",
        "thread.h": "threads of the driver, which may have pinned them",
        "unretrieved.h": "reports what the driver does not take back",
    },
    "cuda": {
        "backend.h": "the seam",
        "watch.h": "the watching thread: runs what the driver may not be called for",
        "link.h": "links as a driver sees them",
        "freelist.h": "memory that waits for its next use",
        "heap.h": "allocation that tests can make fail",
        "launch.h": "kernels of users, their index space and arguments",
        "library.h": "opens the driver and the compiler",
        "registry.h": "the devices that it found at its start",
        "signature.h": "the words of parameters",
        "event.h": "queues, events and commands",
        "unretrieved.h": "reports what the driver does not take back",
    },
    "level_zero": {
        "backend.h": "the seam",
        "watch.h": "the watching thread: stops before the driver closes its contexts",
        "link.h": "links as a driver sees them",
        "freelist.h": "memory that waits for its next use",
        "heap.h": "allocation that tests can make fail",
        "launch.h": "kernels of users, their index space and arguments",
        "library.h": "opens the loader",
        "spirv.h": "what kernels of a module take, and its specialization constants",
        "readable.h": "handles that come from Python as numbers",
        "registry.h": "the devices that it found at its start",
        "event.h": "queues, events and commands",
        "unretrieved.h": "reports what the driver does not take back",
    },
    "minimal": {
        "backend.h": "the seam",
        "event.h": "tasks, which its events are",
        "launch.h": "launches of built-in kernels",
    },
    "fault": {
        "backend.h": "the seam",
        "fault.h": "which call is to fail",
        "heap.h": "that allocation is one of them",
        "program.h": "programs and kernels, which it passes on",
        "event.h": "queues, events and commands",
    },
}
# The loops of csrc/cpu see types of elements, threads and plain structs: no queue, no device, no driver.
SEEN_BY_CPU = {
    "blas.h": "the library for products of matrices",
    "argument.h": "the index space and the arguments of a launch",
    "command.h": "plans of strided copies, and sequences",
    "dtype.h": "types of elements",
    "half.h": "conversions of half precision, which its casts share with single numbers",
    "heap.h": "allocation that tests can make fail",
    "layout.h": "how many axes there are",
    "library.h": "opens libmvec",
    "sync.h": "clocks and condition variables",
    "thread.h": "how threads are started",
}
# The only folders that may include csrc/cpu.
SEES_CPU = {
    "host": "all of its commands run there",
    "opencl": "devices that are the host's processors run copies and built-in kernels there",
    "cuda": "fills of memory that the driver does not know",
    "minimal": "a device in the memory of this process has no loops of its own",
    "fault": "forks of the host's threads",
}
# Backends that include another one.
BETWEEN_BACKENDS = {("fault", "host"): "fault stands in for the host backend, and calls it"}
# Headers that are neither C's nor POSIX's nor Linux's nor ours, and where they may be.
FOREIGN = {
    "Python.h": {"py"},
    "structmember.h": {"py"},
    "frameobject.h": {"py"},
    "usmpy.h": {"py"},
    "dlpack/dlpack.h": {"core", "host", "opencl", "level_zero", "cuda", "minimal"},
    "cuda.h": {"cuda"},
    "nvrtc.h": {"cuda"},
    "CL/cl.h": {"opencl"},
    "CL/cl_ext.h": {"opencl"},
    "level_zero/ze_api.h": {"level_zero"},
    "linux/futex.h": {"core"},
    "sys/syscall.h": {"core"},
    "execinfo.h": {"core"},
    "emmintrin.h": {"cpu"},
    "immintrin.h": {"cpu"},
}
C_AND_POSIX = re.compile(
    r"(dlfcn|errno|fcntl|glob|limits|link|locale|math|poll|pthread|sched|semaphore|signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib"
    r"|string|sys/eventfd|sys/mman|sys/random|sys/resource|sys/stat|sys/types|sys/uio|sys/utsname|tgmath|time|unistd)\.h"
)


# Headers that the build writes, and where they may be.
WRITTEN = {
    "docstrings.h": {"py"},  # from csrc/py/stubs
    "operations.h": {"core", "cpu", "kernels"},  # from csrc/kernels/operations.py
}

# The folders of the core from the bottom up: each includes only those before it. start.c, which
# lies beside them, puts them together.
CORE = [
    "base",
    "layout",
    "device",
    "memory",
    "program",
    "tasks",
    "streams",
    "builtin",
    "trace",
    "copy",
    "ops",
    "exchange",
    "share",
]


def core_level(path):
    """The place of a file of the core in CORE."""
    parts = path.relative_to(CSRC / "core").parts
    return CORE.index(parts[0]) if len(parts) > 1 else len(CORE)


def layer(path):
    """core, cpu, py, kernels, or the name of a backend."""
    parts = path.relative_to(CSRC).parts
    return parts[1] if parts[0] == "backends" else parts[0]


def includes(path):
    """(quote, what is written, the file that it means or None): of its own folder, or by its path in csrc."""
    for quote, written in INCLUDE.findall(path.read_text()):
        near = (path.parent / written).resolve()
        yield quote, written, None if quote == "<" else near if near.is_file() else CSRC / written


def wrong_includes(path):
    """Violations of the rules in one file, as sentences."""
    own, name = layer(path), path.relative_to(CSRC)
    for quote, written, target in includes(path):
        if quote == "<":
            if not C_AND_POSIX.fullmatch(written) and own not in FOREIGN.get(written, ()):
                yield f"{name}: <{written}> is none of its layer"
            continue
        if own in WRITTEN.get(written, ()):
            continue
        if not target.is_file():
            yield f"{name}: {written} is no file"
            continue
        other = layer(target)
        if own == other == "core" and core_level(target) > core_level(path):
            yield f"{name}: {written} lies above it"
            continue
        if target.parent == CSRC / "kernels" / "abi" and own != "py":  # arguments of kernels, which C fills
            continue
        if other in (own, "kernels") and (other == own or own not in ("core", "py")):
            continue
        if own == "py" and other == "core":
            continue
        if other == "core" and target.name in SEEN_BY_BACKENDS.get(own, ()):
            continue
        if own == "cpu" and other == "core" and target.name in SEEN_BY_CPU:
            continue
        if other == "cpu" and own in SEES_CPU:
            continue
        if (own, other) in BETWEEN_BACKENDS:
            continue
        yield f"{name}: {own} may not include {written}"


@together("path", SOURCES)
def test_includes_point_one_way(path):
    assert not list(wrong_includes(path))


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("core/x.c", "#include <Python.h>"),
        ("core/x.c", "#include <cuda.h>"),
        ("core/x.c", '#include "py/args.h"'),
        ("core/x.c", '#include "backends/host/host.h"'),
        ("core/x.c", '#include "nothing.h"'),
        ("core/base/x.c", '#include "core/layout/dtype.h"'),
        ("core/device/x.c", '#include "core/tasks/event.h"'),
        ("core/tasks/x.c", '#include "core/trace/trace.h"'),
        ("core/exchange/x.c", '#include "core/start.h"'),
        ("py/x.c", '#include "backends/host/host.h"'),
        ("py/x.c", "#include <CL/cl.h>"),
        ("py/x.c", '#include "kernels/src/sequence.cl"'),
        ("py/x.c", '#include "kernels/abi/mask.h"'),
        ("core/x.c", '#include "kernels/src/range.h"'),
        ("backends/host/x.c", "#include <Python.h>"),
        ("backends/host/x.c", '#include "core/streams/lend.h"'),
        ("core/memory/x.c", '#include "core/tasks/event.h"'),
        ("backends/host/x.c", '#include "backends/fault/fault.c"'),
        ("backends/host/x.c", '#include "py/args.h"'),
        ("backends/fault/x.c", '#include "core/copy/copy.h"'),
        ("backends/level_zero/x.c", '#include "cpu/cpu.h"'),
        ("core/copy/x.c", '#include "cpu/cpu.h"'),
        ("py/x.c", '#include "cpu/cpu.h"'),
        ("cpu/x.c", '#include "core/device/backend.h"'),
        ("cpu/x.c", '#include "core/tasks/queue.h"'),
        ("cpu/x.c", '#include "backends/host/host.h"'),
    ],
)
def test_each_wrong_include_is_found(tmp_path, monkeypatch, place, line):
    csrc = tmp_path / "csrc"
    for path in SOURCES:
        if path.suffix == ".h" or path.name == "fault.c":
            copy = csrc / path.relative_to(CSRC)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.touch()
    (csrc / "kernels" / "src" / "sequence.cl").touch()
    monkeypatch.setitem(globals(), "CSRC", csrc)
    (csrc / place).write_text(line + "\n")
    assert len(list(wrong_includes(csrc / place))) == 1


# Files of the core that include each other in a circle, since both together are one subject: why.
ONE_SUBJECT = {
    (
        "builtin/builtin",
        "builtin/builtin_source",
    ): "a kernel that is found is built from its source, once a place",
    ("copy/copy", "copy/route"): "a copy takes a route, whose pieces are copies",
    ("memory/alloc", "memory/reclaim"): "a block that goes back may be used again before it has",
    (
        "program/program",
        "program/signature",
        "program/spirv",
    ): "a program has parameters, which are read in its form",
    ("trace/record", "trace/trace"): "a trace is a list of records, which name others of it",
}


def circles(root, sources):
    """
    The circles among the files below `root`, each the sorted names of its files. A header and its source are
    one file, and a source without a header belongs to the header that it includes first.
    """
    headers = {path.with_suffix("") for path in sources if path.suffix == ".h"}
    reached: dict[Path, set[Path]] = {}
    for path in sources:
        targets = [target.with_suffix("") for quote, _, target in includes(path) if target in sources]
        own = path.with_suffix("")
        if own not in headers and targets:
            own = targets[0]
        reached.setdefault(own, set()).update(targets)
    for middle in reached:  # Warshall's closure
        for targets in reached.values():
            if middle in targets:
                targets |= reached[middle]
    found = {
        tuple(sorted(other for other in targets if own in reached.get(other, ())))
        for own, targets in reached.items()
        if own in targets
    }
    return {
        tuple(path.relative_to(root).as_posix() for path in circle) for circle in found if len(circle) > 1
    }


def test_no_files_of_the_core_include_each_other_in_a_circle():
    core = CSRC / "core"
    assert circles(core, {path for path in SOURCES if core in path.parents}) == set(ONE_SUBJECT)


def test_each_circle_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "CSRC", tmp_path)
    for name, included in {
        "a.h": "",
        "a.c": '#include "a.h"\n#include "b.h"',
        "b.h": "",
        "b.c": '#include "b.h"\n#include "c.h"',
        "b_more.c": '#include "b.h"\n#include "d.h"',
        "c.h": '#include "d.h"',
        "d.h": "",
        "d.c": '#include "b.h"',
        "e.c": '#include "a.h"',
    }.items():
        (tmp_path / name).write_text(included + "\n")
    sources = set(tmp_path.iterdir())
    assert circles(tmp_path, sources) == {("b", "c", "d")}
    (tmp_path / "d.c").write_text("")
    assert circles(tmp_path, sources) == set()


# A backend's name as a string, outside its folder: what it means there.
NAMES = {
    "core/device/registry.c": {"host", "opencl", "cuda", "level_zero"},  # the list of backends
    "core/device/device.c": {"host"},  # a kind of memory
    "py/objects/trace.c": {"host"},  # a kind of task
    "py/programs/build.c": {"opencl", "cuda"},  # languages
    "backends/fault/fault.c": {"host"},  # which it stands in for
}
NAME = re.compile(r'"(host|opencl|cuda|level_zero)"')
TABLE = re.compile(r"\bbackend\s*(?:->|\)->)\s*\w+")


def named_backends(path):
    """The names of other backends that are strings in the file, not in its comments."""
    code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return set(NAME.findall(code)) - {layer(path)}


def test_no_backend_is_known_by_its_name_outside_its_folder():
    found = {str(path.relative_to(CSRC)): named_backends(path) for path in SOURCES}
    assert {name: names for name, names in found.items() if names} == NAMES


def test_only_the_core_reads_the_table_of_a_backend():
    """csrc/py passes a usm_backend on, and asks functions of the core about it."""
    files = [path for path in SOURCES if layer(path) == "py"]
    assert len(files) > 50
    assert not {
        str(path.relative_to(CSRC)): TABLE.findall(path.read_text())
        for path in files
        if TABLE.search(path.read_text())
    }


@pytest.mark.parametrize(
    "line",
    [
        "queue->backend->memory_query(x)",
        "if (backend->native == NULL) {",
        "report->backend->name",
        "(*backend)->name",
    ],
)
def test_each_look_at_a_table_is_found(line):
    assert TABLE.search(line)


def test_each_name_of_a_backend_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "CSRC", tmp_path)
    for place, line, names in (
        ("core/x.c", 'strcmp(name, "opencl")', {"opencl"}),
        ("backends/cuda/x.c", 'usm_error_driver(error, USM_DRIVER, "cuda", "host")', {"host"}),
        ("py/x.c", '"a queue of opencl"', set()),
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(line)
        assert named_backends(tmp_path / place) == names


def test_each_entry_for_backends_is_used():
    seen = {**SEEN_BY_BACKENDS, "cpu": SEEN_BY_CPU}
    used = {own: set() for own in seen}
    sees_cpu = set()
    for path in SOURCES:
        if layer(path) in used:
            targets = [target for _, _, target in includes(path) if target]
            used[layer(path)] |= {target.name for target in targets if layer(target) == "core"}
            sees_cpu |= {layer(path) for target in targets if layer(target) == "cpu"}
    assert used == {own: set(headers) for own, headers in seen.items()}
    assert sees_cpu - {"cpu"} == set(SEES_CPU)


def test_the_host_that_tests_see_has_every_function_of_the_host():
    """The faults' table stands in for it: what that leaves out, no test runs."""

    def members(file):
        return set(re.findall(r"^    \.(\w+) =", (CSRC / "backends" / file).read_text(), re.MULTILINE))

    host = members("host/library.c")
    assert len(host) > 15
    assert host - members("fault/fault.c") == set()


def test_the_readme_of_the_sources_names_every_file():
    named: dict[str, set[str]] = {}
    layer = folders = ""
    for line in (CSRC / "README.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\w+)/", line):
            layer = heading[1]
        elif header := re.match(r"\| (.+?) \| what it holds \|", line):
            folders = " ".join(f"{layer}/{name}" for name in re.findall(r"`(\w+)/`", header[1])) or layer
        elif line.startswith("| `") and layer in ("core", "py", "cpu"):
            for first, *others in (cell.split() for cell in re.findall(r"`([^`]+)`", line.split("|")[1])):
                names = {first} | {first.rpartition(".")[0] + suffix for suffix in others}
                named.setdefault(folders, set()).update(names)
    # The first table of the core names folders.
    named = {folders: names for folders, names in named.items() if folders}
    assert len(named) >= 15
    for folders, names in named.items():
        files = {path.name for folder in folders.split() for path in (CSRC / folder).iterdir()}
        assert names == {name for name in files if re.search(r"\.(c|h|inc|py)$", name)}, folders
    text = (CSRC / "README.md").read_text(encoding="utf-8")
    for stem in [*STEMS, *(stem for own in OWN_STEMS.values() for stem in own)]:
        assert f"`{stem}." in text or f"`{stem}/`" in text or stem == "cuda_backend", stem


# The stems of files that mean the same thing in every backend.
STEMS = {
    "library": "the table, the libraries behind it, and its symbols",
    "device": "start, descriptions of devices, partitions",
    "context": "contexts of the driver",
    "memory": "allocation, and whose memory a pointer is",
    "queue": "queues, and the way of a submission",
    "event": "how tasks end",
    "command": "what each command is for the driver",
    "program": "programs, and what is in them",
    "kernel": "kernels, and what they take",
    "launch": "launches of kernels",
    "native": "objects of the driver that other libraries use too",
    "profiling": "times of tasks, on the host's clock",
    "share": "memory of devices for several processes",
    "status": "codes of the driver in words",
    "symbols": "functions of the driver",
}
# Files that one driver alone needs, by the driver's own words.
OWN_STEMS = {
    "host": {"host", "pointer"},
    "opencl": {"opencl", "native_kernel", "queue_cache", "wait"},
    "cuda": {
        "cuda_backend",
        "capture",
        "cublas",
        "nvrtc",
        "ptx",
        "share_order",
        "staging",
        "stream",
        "timeline",
    },
    "level_zero": {"level_zero", "command_list", "event_pool"},
    "minimal": {"minimal"},
    "fault": {"fault"},
}
# Entries that are not in the file that their first word names.
ELSEWHERE = {"start": "device"}


def test_files_of_backends_have_the_common_stems():
    """A file name means the same thing in every backend."""
    for backend, own in OWN_STEMS.items():
        stems = {path.stem for path in (CSRC / "backends" / backend).iterdir()}
        assert stems - set(STEMS) == own, backend
    for backend in ("opencl", "cuda", "level_zero"):
        lacking = set(STEMS) - {path.stem for path in (CSRC / "backends" / backend).iterdir()}
        assert lacking <= {"share"}, backend  # OpenCL has no calls for it


@pytest.mark.parametrize("own", ["host", "opencl", "cuda", "level_zero"])
def test_entries_are_in_the_file_of_their_first_word(own):
    folder = CSRC / "backends" / own
    text = (folder / "library.c").read_text()
    table = re.findall(rf"^    \.(\w+) = usm_{own}_\1,", text, re.M)
    if f"USM_DRIVER_ROWS(usm_{own})" in text:
        seam = (CSRC / "core" / "device" / "backend.h").read_text()
        table += re.findall(r"EACH\(backend, (\w+)\)", seam)
    assert len(table) > (10 if own == "host" else 20)
    for entry in table:
        stem = ELSEWHERE.get(entry, entry.split("_")[0])
        defined = rf"^\w[\w *]*\busm_{own}_{entry}\([^;{{]*\)\n{{"
        assert re.search(defined, (folder / f"{stem}.c").read_text(), re.M), f"{entry} is not in {stem}.c"


def test_each_entry_of_the_table_has_its_contract():
    text = (CSRC / "core" / "device" / "backend.h").read_text()
    groups = [
        re.search(rf"typedef struct {name} {{\n(.*?)\n}} {name};", text, re.S)[1]
        for name in ("usm_native_entries", "usm_share_entries", "usm_backend")
    ]
    entry = re.compile(r"/\*((?:(?!\*/).)*)\*/\n    [\w *]+\(\*(\w+)\)\(", re.S)
    native, share, table = (entry.findall(group) for group in groups)
    assert (len(native), len(share), len(table)) == (7, 6, 25)
    for comment, name in table:
        assert all(f"{word}: " in comment for word in ("Thread", "Locks", "Blocks")), name
    assert all("Blocks: " in comment for comment, _ in share)
    entries = native + share + table
    required = {name for comment, name in entries if not re.search(r"NULL(: | exactly)", comment)}
    assert required == {
        "start", "memory_allocate", "memory_free", "handle", "inspect",
        "create", "open", "close",
    }  # fmt: skip


def test_every_folder_of_the_core_has_a_level():
    assert {path.name for path in (CSRC / "core").iterdir() if path.is_dir()} == set(CORE)


def test_every_folder_of_a_backend_has_a_row():
    assert {path.name for path in (CSRC / "backends").iterdir() if path.is_dir()} == set(SEEN_BY_BACKENDS)


def test_files_stay_short():
    lengths = {str(path.relative_to(CSRC)): len(path.read_text().splitlines()) for path in SOURCES}
    assert not {name: length for name, length in lengths.items() if length > LINES}


# Headers that are included several times in one file, once for each type: macros tell them which.
REPEATED = {
    "cpu/extreme_type.h",
    "cpu/matmul_type.h",
    "cpu/operate_type.h",
    "kernels/src/complex.h",
    "kernels/src/functions.h",
    "kernels/src/groups.h",
}


def test_headers_are_guarded_by_their_own_name():
    for path in SOURCES:
        name = str(path.relative_to(CSRC))
        if name in REPEATED:
            comment, code = path.read_text().split("*/", 1)
            assert re.search(r"included\b.*\bonce for each", " ".join(comment.replace("*", "").split())), name
            assert "_H\n" not in code, name
        elif path.suffix == ".h":
            own = "abi" if path.parent.name == "abi" else layer(path)
            prefix = {"core": "USM_CORE_", "py": "USMPY_"}.get(own, f"USM_{own.upper()}_")
            guard = prefix + re.sub(r"\W", "_", path.name.upper())
            text = path.read_text()
            assert f"#ifndef {guard}\n#define {guard}\n" in text, f"{path.relative_to(CSRC)}: {guard}"


# Below: what the compiler made of each file, in the build for tests.


@pytest.fixture(scope="module")
def objects():
    """{source: (name, scope, section) of each symbol}; scope is 'g' for global, 'l' for local."""
    objdump = shutil.which("objdump")
    assert objdump is not None, "binutils has objdump"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("USMPY_DEBUG", "USMPY_CFLAGS", "USMPY_LDFLAGS"):
            patch.delenv(name, raising=False)
        for name in ("USMPY_TESTING", "USMPY_WERROR"):
            patch.setenv(name, "1")
        build = extension.Extension(say=lambda line: None)
        build.build()

    def symbols(target):
        table = subprocess.run([objdump, "-tw", target], check=True, capture_output=True, text=True).stdout
        # address, flags (7 characters, the first is the scope), section, size, then the name
        rows = re.findall(r"^[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+\s+(?:\.hidden )?(\S+)$", table, re.M)
        return [(name, scope[0], section) for scope, section, name in rows if not name.startswith(".")]

    files = [path for path in SOURCES if path.suffix == ".c"]
    left_out = {layer(path) for path in files if path not in build.objects}
    assert not left_out, "python csrc/extension.py -v names the headers that are missing"
    return {path: symbols(build.objects[path]) for path in files}


def prefix_of(source):
    """The prefix of what this file shares with others."""
    own = layer(source)
    return {"core": ("usm_",), "py": ("usmpy_",)}.get(own, (f"usm_{own}_",))


# Names that break the rule, each with its reason.
OTHER_NAMES = {
    "PyInit__core": "the name that CPython calls",
    "usm_cuda": "the driver's functions: it stands before the name in each call",
    "usm_level_zero": "the loader's functions, likewise",
}


def test_external_symbols_have_the_prefix_of_their_layer(objects):
    wrong = [
        f"{source.relative_to(CSRC)}: {name}"
        for source, symbols in objects.items()
        for name, scope, section in symbols
        if scope == "g" and section not in ("*UND*", "*COM*")
        if not name.startswith(prefix_of(source)) and name not in OTHER_NAMES
    ]
    assert not wrong
    assert sum(scope == "g" for symbols in objects.values() for _, scope, _ in symbols) > 200


# Everything that can change while the program runs, by file, each with its reason.
STATE = {
    "core/base/blas.c": {
        "blas": "the library for products of matrices",
        "once": "it is found once",
    },
    "backends/cuda/capture.c": {
        "ended": "the timeline of captured tasks, which counts as completed",
    },
    "backends/cuda/context.c": {"retaining": "one primary context is made at a time"},
    "backends/cuda/device.c": {"all": "devices by the driver's ordinals, found once"},
    "backends/cuda/library.c": {
        "libraries": "the opened libraries, for the report",
        "usm_cuda": "functions of the driver, found once",
        "usm_cuda_guard": "the driver is in use, or was in the parent",
    },
    "backends/cuda/cublas.c": {
        "cublas": "functions of the library, found once",
        "opening": "it is opened once, and its handle on each device is made once",
        "library": "whether there is one",
        "path": "its file, for messages",
    },
    "backends/cuda/nvrtc.c": {
        "nvrtc": "functions of the compiler, found once",
        "opened": "they are",
        "opening": "it is opened once",
        "path": "of the compiler, found once",
    },
    "backends/cuda/share.c": {
        "mappings": "memory of several processes, as this one has it mapped",
        "mutex": "of these",
    },
    "backends/cuda/staging.c": {"lock": "of the next", "spare": "pinned memory that no copy uses"},
    "backends/fault/fault.c": {
        "faults": "which call is to fail, in builds for tests",
        "again": "memory was refused in this thread: the second try is too",
    },
    "backends/host/device.c": {
        "processors": "those that the process may use, found once",
    },
    "backends/opencl/queue_cache.c": {"lock": "of the lists of queues of the driver that are kept"},
    "backends/opencl/library.c": {
        "loader": "functions of the loader, found once",
        "intel": "functions of a driver that the loader does not list, found once",
        "usm_opencl_guard": "the driver is in use, or was in the parent",
        "libraries": "the opened libraries, for the report",
    },
    "backends/level_zero/command_list.c": {"wish": "what the environment asks for, read at the start"},
    "backends/level_zero/library.c": {
        "libraries": "the opened libraries, for the report",
        "usm_level_zero": "functions of the loader, found once",
        "usm_level_zero_guard": "the driver is in use, or was in the parent",
    },
    "core/base/detach.c": {
        "detach_hook": "releases the GIL",
        "attach_hook": "takes it again",
        "poll_hook": "runs signal handlers",
    },
    "core/base/library.c": {
        "folders": "where drivers of the Python environment are, set at import",
        "n_folders": "how many; atomic",
    },
    "core/memory/blocks.c": {"root": "the index of all blocks that drivers gave"},
    "core/share/handle.c": {"this_process": "the boot and the process that handles name, read once"},
    "core/share/share.c": {"all": "the index of all blocks of several processes"},
    "core/builtin/builtin.c": {
        "known": "the host's place, which is for ever",
        "builtin_store": "keeps programs between processes, set at import",
    },
    "core/device/registry.c": {
        "slots": "what each backend said when it was started",
        "own_start": "of each thread: the backend that it starts",
    },
    "core/device/rule.c": {"is_attached": "whether a thread has the GIL, in builds for tests"},
    "core/device/context.c": {
        "all_contexts": "found by their native handles",
        "closed_contexts": "those that were closed after the interpreter",
    },
    "core/tasks/deferral.c": {
        "ended": "of each thread: tasks that it has run, and that are still in their queue"
    },
    "core/tasks/watch.c": {
        "poll": "how a queue is polled, set at the start",
        "thread": "the watching thread: what wakes it, and the queues that it looks after",
        "pause_ns": "how long it sleeps between its looks",
    },
    "core/device/place.c": {"all_parts": "what the folders above keep in places, set at the start"},
    "core/base/reclaimer.c": {"list": "what the thread gives back to drivers, and what wakes it"},
    "core/base/deferred.c": {
        "usm_deferred_main": "the list that workers leave releases of the main interpreter on",
        "usm_deferred_lists": "how many lists are not empty",
        "usm_deferred_many": "there has been a sub-interpreter",
        "notifier": "called when the list of the main interpreter is not empty",
        "here_hook": "the list of the calling thread's interpreter, set by the first sub-interpreter",
        "fate_hook": "what a thread may do with objects of an interpreter, set with it",
        "closed": "marks the list of an interpreter that has ended",
    },
    "core/base/error.c": {
        "no_memory": "the failure that is reported when memory is exhausted; counted as all are",
        "usm_live_counts": "live objects, in builds for tests",
    },
    "core/tasks/event.c": {
        "current": "the task that this thread runs",
        "usm_event_next": "order of submission, over all queues",
    },
    "core/tasks/submit.c": {
        "usm_trace_on": "whether anything is recorded",
        "usm_task_observer": "the hook by which traces see tasks, set by the first trace",
    },
    "core/tasks/wait.c": {"walks": "number of a walk along links, so that each event is visited once"},
    "core/start.c": {"once": "the start happens once"},
    "core/tasks/queue.c": {
        "usm_all_queues": "drained at exit, failed in a forked child",
    },
    "core/memory/spare.c": {
        "spare": "spare records of this thread",
        "key": "frees them with it",
        "once": "the key is made once",
    },
    "core/trace/record.c": {
        "last_alloc": "number of an allocation in traces",
        "last_queue": "the same of a queue",
        "last_thread": "the same of a thread",
        "this_thread": "the number of this thread",
        "names": "each name that was recorded, once",
    },
    "core/trace/trace.c": {
        "log": "what the traces that record share",
        "n_recording": "traces that record",
    },
    "core/memory/track.c": {
        "usm_track_on": "whether allocations record the line that made them",
        "ring": "those that do and are alive",
        "n_tracked": "how many",
        "place_hook": "asks csrc/py for the line",
    },
    "core/base/thread.c": {"here": "of each thread: where it was before it was pinned"},
    "cpu/builtin.c": {"part": "of each thread: what it does of a kernel"},
    "cpu/builtin_wide.c": {"part": "the same"},
    "cpu/vector_math.c": {"known": "libmvec, found once"},
    "cpu/parallel.c": {"pool": "threads that help with large blocks, one pool a process"},
    "core/base/sync.c": {
        "usm_hazard_stripes": "striped locks of allocations",
        "leaves": "striped locks of everything small",
        "registry": "lock of the lists of the process",
        "registry_depth": "how often this thread holds it",
        "usm_spinlock_stripes": "striped spinlocks of pools and traces",
        "held": "how many of each kind this thread holds, in builds for tests",
        "once": "locks are made once",
    },
    "core/tasks/worker.c": {"here": "whose thread this is"},
    "core/memory/alloc.c": {"usm_alloc_inside": "of each thread: the order of the task that it runs"},
    "core/memory/reclaim.c": {"n_lent": "memory that waits for streams which may be gone; atomic"},
    "core/tasks/unretrieved.c": {
        "reported": "statuses of loans that were reported; atomic",
        "reporter": "how reports of failures get to Python; atomic",
    },
    "py/arrays/interfaces.c": {"refused": "the array whose buffer the thread asked for last"},
    "py/objects/host_task.c": {"callbacks": "the queue that callbacks of events run in; atomic, made once"},
    "py/wait.c": {
        "interrupted": "a wait was ended by a signal; atomic",
        "kept": "the exception of a signal handler that a consumer may have dropped; atomic",
        "kept_traceback": "its first traceback; the main thread's",
        "kept_thread": "the main thread",
    },
    "py/deferred.c": {
        "scheduled": "a visit of the main thread is under way",
        "closes": "what comes after the interpreter is registered",
        "of_main": "the main interpreter waits for tasks at its end",
        "holders": "what waits for a thread with the GIL, or may come to that",
        "holders_lock": "guards the list",
    },
    "py/interpreter.c": {
        "main_record": "the record of the main interpreter",
        "records": "all of them, of which none is freed",
        "last": "of each thread: the record that it found last",
    },
    "py/module.c": {
        "usmpy_main_state": "the state of the module that the main interpreter loaded last",
        "once": "what interpreters share is started once",
    },
    "py/exchange/sycl.c": {
        "sycl": "functions of the SYCL runtime",
        "have_sycl": "they were found",
        "have_dpctl": "the same",
    },
    "py/testing.c": {"memory": "Python's allocators, which fail the n-th call, in builds for tests"},
}
if sys.version_info < (3, 12):  # later ones need none of it
    STATE["py/thread.c"] = {
        "birth": "a lock: no fork while a thread state is made",
    }
# Read-only tables that CPython's interfaces take as not const.
TABLES = re.compile(
    r"\w+_(methods|getset|members|slots|spec|functions)$|(module_def|slots|fields\.\d+|description\.\d+|exit_def\.\d+)$"
)


def test_state_that_can_change_is_listed(objects):
    """A compiler numbers the variables of functions (name.0), each in its own way."""
    found = {}
    for source, symbols in objects.items():
        names = [
            re.sub(r"\.\d+$", "", name)
            for name, _, section in symbols
            if re.match(r"\.(data|bss|tdata|tbss)|\*COM\*", section)
            if not section.startswith(".data.rel.ro")
            if not (layer(source) == "py" and TABLES.match(name))
        ]
        if names:
            found[str(source.relative_to(CSRC))] = sorted(names)
    assert found == {name: sorted(state) for name, state in STATE.items()}
