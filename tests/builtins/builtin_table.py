"""Makes the calls of builtin_calls.py on a device: whether each builds, the type of its result, and values.

Many calls are in one program, each in a line of its own. If it is refused, the messages name the lines of
the calls that are wrong, and the others are built again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from builtin_calls import LITERALS, REALS, TYPES, Call

import usmpy

N = 16  # work-items, each with other values
CHUNK = 120  # calls of one program
NAMES = {17: "char", 1: "uchar", 18: "short", 2: "ushort", 20: "int", 4: "uint", 24: "long", 8: "ulong"}
NAMES |= {33: "bool", 50: "half", 52: "float", 56: "double", 0: "void"}
DTYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8"}
DTYPES |= {"ulong": "u8", "bool": "?", "half": "f2", "float": "f4", "double": "f8"}
HEAD = """\
#define ONE(k, call) { __auto_type r = call; put(out + 8 * (N * k + i), (const uchar *)&r, sizeof(r)); \\
    r = -1; int t = (int)sizeof(r) + (r < 0 ? 16 : 0); r = 0.5f; types[k] = t + (r != 0 ? 32 : 0); }
#define CELL(k) put(out + 8 * (N * (CALLS + k) + i), (const uchar *)&c, sizeof(c));
static void put(global uchar *to, const uchar *from, int size)
{
    for (int j = 0; j < size; j++) to[j] = from[j];
}
"""
# A message of a compiler, at a line of the source; not of a header, nor of our text in front.
_AT = r"^(?!<usmpy>|opencl-c|.*/opencl-c)"
ERROR = re.compile(
    rf"{_AT}[^\s:(]*[:(](\d+)[:)].*\berror\b|^error: [^\s:]*:(\d+):|at line (\d+) of <source>", re.M
)


class Result(NamedTuple):
    type: str  # of the result; "refused"
    values: bytes = b""  # eight bytes a work-item
    cells: bytes = b""  # what the pointer that was passed points to


REFUSED = Result("refused")


def values_of(type: str) -> np.ndarray:
    if type == "bool":
        return np.arange(N) % 2 == 1
    if type in REALS:
        texts = "0 -0 1 -1.5 0.5 3 nan inf -inf 2.5 100.25 -0.25 10000 -7 0.75 60000"
        return np.array(texts.split(), DTYPES[type])
    least, most = np.iinfo(DTYPES[type]).min, np.iinfo(DTYPES[type]).max
    half = most // 2
    chosen = [0, 1, -1, least, most, 3, 7, 100, -100, 2, 5, least + 1, most - 1, half, 31, -3]
    return np.array([x if x >= least else half + x for x in chosen], DTYPES[type])


def argument(type: str, place: int) -> np.ndarray:
    """The values of the argument at a place, by work-item."""
    i = np.arange(N)
    return values_of(type)[(i * (1, 3, 7)[place] + 5 * place) % N]


INPUTS = [(type, place) for type in TYPES for place in range(3)]


def inputs() -> list[np.ndarray]:
    """All values of integers, then all values of reals; zeros at the places of the others."""
    arrays = [(type in REALS, argument(type, place)) for type, place in INPUTS]
    nothing = np.zeros(N)
    return [
        np.concatenate(
            [array if is_real == real else nothing for is_real, array in arrays],
            dtype=dtype,
            casting="unsafe",
        )
        for real, dtype in ((False, "i8"), (True, "f8"))
    ]


def line(k: int, call: Call) -> str:
    """The statement that makes the call: one line, since messages name lines."""
    declared, passed, cell = "", [], ""
    for place, text in enumerate(call.arguments):
        passed.append(text if text in LITERALS else f"a{place}")
        space, _, type = text.rstrip("*").partition(" ")
        if type:
            places = {"global": f"cells + N * {k} + i", "local": "part + get_local_id(0)"}
            at, plain = places.get(space, f"&b{place}"), type.removeprefix("atomic_")
            # Some drivers refuse plain assignments to atomic types.
            declared += f"ulong b{place} = 5; {space} {plain} *c{place} = ({space} {plain} *)({at}); "
            declared += f"*c{place} = 5; {space} {type} *a{place} = ({space} {type} *)c{place}; "
            cell = cell or f"{plain} c = *c{place}; CELL({k})"
        elif text in TYPES:
            at = N * INPUTS.index((text, place))
            declared += f"{text} a{place} = ({text}){'D' if text in REALS else 'L'}[{at} + i]; "
    made = f"{call.function.name}({', '.join(passed)})"
    made = f"{made}; types[{k}] = 0;" if call.function.void else f"ONE({k}, {made})"
    return f"{{ {declared}{made} {cell} }}\n"


def source(lines: Sequence[str]) -> str:
    text = "".join(lines)
    part = "    local ulong part[N];\n" if "part + " in text else ""
    half = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" if re.search(r"\bhalf\b|[0-9]h\b", text) else ""
    head = f"{half}#define N {N}\n#define CALLS {len(lines)}\n{HEAD}kernel void table(global const long *L, "
    head += "global const double *D, global uchar *out, global int *types, global ulong *cells)\n{\n"
    return f"{head}    int i = get_global_id(0);\n{part}{text}}}\n"


class Table:
    """The calls on one device."""

    def __init__(self, device: usmpy.Device):
        self.device = device
        self.inputs = [usmpy.asarray(a, device=device) for a in inputs()]
        self.builds = 0
        self.unread: list[str] = []  # messages without a line

    def refused(
        self, text: str, options: str, first: int, number: int
    ) -> tuple[usmpy.Program | None, set[int]]:
        """The program; or which of its calls the message names."""
        self.builds += 1
        if self.device.backend == "host":
            options += " -O0"  # a fifth of the compiler's time
        try:
            return usmpy.Program(text, device=self.device, options=options), set()
        except usmpy.BuildError as error:
            message = str(error).removeprefix("the program does not build: ")
            found = {int(max(groups)) - first for groups in ERROR.findall(message)}
            self.unread += (
                [text.split("\n")[first - 1] + str(error)[:600]]
                if number == 1 and not found & set(range(number))
                else []
            )
            return None, {k for k in found if 0 <= k < number}

    def run(self, calls: Sequence[Call]) -> dict[Call, Result]:
        """Calls that a program can make together; which are refused is read from the messages."""
        left, done = list(calls), {}
        while left:
            lines = [line(k, call) for k, call in enumerate(left)]
            text = source(lines)
            first = text[: text.index(lines[0])].count("\n") + 1
            program, wrong = self.refused(text, left[0].function.options, first, len(left))
            if program is not None:
                return done | self.launch(program, left, "part + " in text)
            if not wrong and len(left) > 1:  # the message names no line
                middle = len(left) // 2
                return done | self.run(left[:middle]) | self.run(left[middle:])
            wrong = wrong or {0}
            done |= {left[k]: REFUSED for k in wrong}
            left = [call for k, call in enumerate(left) if k not in wrong]
        return done

    def launch(self, program: usmpy.Program, calls: list[Call], grouped: bool) -> dict[Call, Result]:
        queue = self.inputs[0].queue
        out = usmpy.zeros(2 * len(calls) * N * 8, dtype="uint8", queue=queue)
        types = usmpy.zeros(len(calls), dtype="int32", queue=queue)
        cells = usmpy.zeros(len(calls) * N, dtype="uint64", queue=queue)
        space = usmpy.NdRange(N, N) if grouped else usmpy.Range(N)
        queue.submit(program.table, (*self.inputs, out, types, cells), space).wait()
        rows = out.asnumpy().reshape(2, len(calls), N * 8)
        return {
            call: Result(NAMES.get(int(type), f"type {type}"), rows[0, k].tobytes(), rows[1, k].tobytes())
            for k, (call, type) in enumerate(zip(calls, types.tolist(), strict=True))
        }

    def results(self, calls: Iterable[Call]) -> dict[Call, Result]:
        """Of calls that this device has the types for."""
        groups: dict[tuple[str, bool], list[Call]] = {}
        for call in calls:
            text = str(call)
            has_half = re.search(r"half(?!_[a-z0-9]{3,}\()|convert_half", text) or "1.5h" in text
            if not has_half or self.device.has_fp16:
                groups.setdefault((call.function.options, "local " in text), []).append(call)
        done = {}
        for group in groups.values():
            for at in range(0, len(group), CHUNK):
                done |= self.run(group[at : at + CHUNK])
        return done
