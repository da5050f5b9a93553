"""ReductionKernel: elements along axes, mapped and combined."""

from __future__ import annotations

from .. import _core
from .._arrays.objects import shown
from ..errors import AxisError
from . import call, layout
from .fold import Fold, Operands, combined_size, start
from .program import Programs
from .script import Recorder, Scripts
from .source import Source, function_name

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._core import Event, Queue, USMArray

# The order in which elements are combined depends on their number alone. They are cut into blocks. In each
# block, 32 lanes combine every 32nd element, and then the lanes are combined in halves. A second pass does
# the same with the results of the blocks.
LANES = 32
_LEAST_BLOCK = 1024
_MOST_BLOCKS = 4096
_TILE = 32  # columns that one work-item of a processor combines side by side
_GROUP = 256  # work-items of a work-group
_MOST_OPERANDS = 9  # so that the layouts fit into the 1,024 bytes of arguments that every device takes


def block_length(n: int) -> int:
    """The number of elements in each block of n elements but the last."""
    share = -(-n // _MOST_BLOCKS)
    return max(_LEAST_BLOCK, -(-share // LANES) * LANES)


class Reduction:
    """What a ReductionKernel does."""

    def __init__(
        self,
        inputs: str,
        outputs: str,
        map: str | Callable[..., Any],
        reduce: str | Callable[..., Any],
        post: str | Callable[..., Any],
        identity: str | float | None,
        name: str,
        *,
        reduce_type: str | _core.DType | None,
        preamble: str,
        options: str,
    ) -> None:
        self._fold = Fold(
            inputs, outputs, map, ("reduce", reduce), post, identity, name, reduce_type, preamble, options
        )
        self._programs = Programs(name, options)
        self._sizes: dict[Any, int] = {}
        self._scripts = Scripts(name)

    @property
    def name(self) -> str:
        return self._fold.name

    def describe(self) -> str:
        return self._fold.describe()

    def run(
        self,
        args: tuple[Any, ...],
        axis: int | Sequence[int] | None,
        keepdims: bool,
        out: USMArray | tuple[USMArray | None, ...] | None,
        where: USMArray | None,
        depends: Event | Iterable[Event],
        queue: Queue | None,
    ) -> Any:
        fold = self._fold
        key = None
        if where is None and queue is None:
            options = (bool(keepdims), False)
            found, key = self._scripts.replay(len(fold.inputs), args, out, axis, options, depends)
            if found is not None:
                return found[0] if len(found) == 1 else tuple(found)
        operands = Operands(fold, args, out, where, queue)
        ndim = len(operands.shape)
        reduced = normalize_axes(axis, ndim, fold.name)
        kept = [d for d in range(ndim) if d not in reduced]
        shape = tuple(
            1 if d in reduced else length
            for d, length in enumerate(operands.shape)
            if keepdims or d not in reduced
        )
        n = layout.size(operands.shape[d] for d in reduced)
        if n == 0 and fold.identity is None:
            raise ValueError(f"{fold.name}: no element is reduced, and the kernel has no identity")
        results = operands.results(fold, shape)
        if layout.size(shape) > 0:
            depends = operands.copy_overlapped(fold, depends)
            views = [_without(x, reduced) for x in results] if keepdims else results
            launch = _Launch(self, operands, kept, reduced, views)
            recorder = launch.run(depends)
            if key is not None and recorder is not None and not operands.copied:
                script = operands.script(results)
                if keepdims:
                    inner = tuple(0 if d in reduced else slice(None) for d in range(ndim))
                    views = [_without(x, reduced) for x in results]
                    script.result_views = [inner if x.flags.forc else (0,) * ndim for x in views]
                self._scripts.keep(key, recorder.write(script))
        return results[0] if len(results) == 1 else tuple(results)


def count(ndim: int) -> str:
    return f"{ndim} dimension{'' if ndim == 1 else 's'}"


def normalize_axes(axis: Any, ndim: int, name: str) -> list[int]:
    """The axes in rising order. AxisError where one is out of range, ValueError where one occurs twice."""
    if axis is None:
        return list(range(ndim))
    found = []
    for one in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"{name}: axis is {shown(axis, 60)}; an int, a tuple of ints or None is allowed")
        try:
            d = range(ndim)[one]
        except IndexError:
            raise AxisError(f"{name}: axis is {shown(axis, 60)}; the arrays have {count(ndim)}") from None
        if d in found:
            raise ValueError(f"{name}: axis is {shown(axis, 60)}, which names an axis twice")
        found.append(d)
    return sorted(found)


def _without(x: USMArray, axes: Sequence[int]) -> USMArray:
    """A view without these axes, which have the length 1."""
    return x[tuple(0 if d in axes else slice(None) for d in range(x.ndim))]


class _Launch:
    """The launches of one call with at least one result."""

    def __init__(
        self,
        kernel: Reduction,
        operands: Operands,
        kept: list[int],
        reduced: list[int],
        results: list[USMArray],
    ) -> None:
        self.programs, self.sizes, self.fold = kernel._programs, kernel._sizes, kernel._fold
        self.operands, self.queue = operands, operands.queue
        self.kept, self.reduced = kept, reduced
        self.shape = tuple(operands.shape[d] for d in kept)
        self.rows = layout.size(self.shape)
        self.n = layout.size(operands.shape[d] for d in reduced)
        self.results = results
        self.types = tuple(operands.types)
        self.names = tuple(dtype.name for dtype in operands.declared)

    def run(self, depends: Any) -> Recorder | None:
        """Launch everything. Returns None if the launches took copies of the arguments."""
        operands = self.operands
        walked = operands.walked()
        strides = [layout.broadcast_strides(operands.shape, x.shape, x.strides) for x in walked]
        lengths = [operands.shape[d] for d in self.reduced]
        line = layout.merge(lengths, [[of[d] for d in self.reduced] for of in strides], keep_order=True)
        axes = layout.merge(
            self.shape, [*(x.strides for x in self.results), *([of[d] for d in self.kept] for of in strides)]
        )
        steps = line[0][1] if line else (1,) * len(walked)
        targets = self.results
        compact = False
        if len(line) > 1 or len(axes) > layout.MOST_AXES or len(walked) + len(targets) > _MOST_OPERANDS:
            compact = True
            depends = call.order_after(self.queue, depends, self.fold.name)
            operands.replace([self._copy(x) for x in walked])
            steps = (1,) * len(walked)
            targets = [x if x.flags.c_contiguous else x.copy() for x in targets]
            of_inputs = (self.n,) * len(walked)
            axes = [(self.rows, ((1,) * len(targets)) + of_inputs)] if self.rows > 1 else []
        starts = [start(x) for x in targets]
        self.recorder = Recorder(self.queue, operands.values(), starts)
        if self.n == 0:
            self._launch("empty", False, axes, steps, starts, 1, 0, depends)
        else:
            self._reduce(axes, steps, starts, depends)
        for target, source in zip(self.results, targets, strict=True):
            if target is not source:
                _core.copyto(target, source)
        return None if compact else self.recorder

    def _copy(self, x: USMArray) -> USMArray:
        """A contiguous copy whose last axis is the reduced one."""
        whole = _core.broadcast_to(x, self.operands.shape)
        return _core.permute_dims(whole, (*self.kept, *self.reduced)).copy()

    def _reduce(
        self,
        axes: list[layout.Axis],
        steps: Sequence[int],
        targets: list[USMArray],
        depends: Any,
    ) -> None:
        block = block_length(self.n)
        blocks = -(-self.n // block)
        contiguous = all(step == 1 for step in steps)
        if blocks == 1:
            self._launch("whole", contiguous, axes, steps, targets, 1, self.n, depends)
            return
        size = combined_size(self.fold, self.operands, self.programs, self.sizes)
        scratch = self.recorder.scratch(self.rows * blocks * size)
        self._launch("part", contiguous, axes, steps, [scratch], blocks, block, depends)
        # The results of the blocks lie in one row for each result.
        self._launch("join", True, axes, steps, [*targets, scratch], 1, blocks, ())

    def _write_functions(self, source: Source) -> None:
        operands = self.operands
        made = (operands.declared, operands.variables, operands.combined, self.queue.device)
        self.fold.write(source, self.types, *made)

    def _launch(
        self,
        stage: str,
        contiguous: bool,
        axes: list[layout.Axis],
        steps: Sequence[int],
        targets: list[USMArray],
        blocks: int,
        length: int,
        depends: Any,
    ) -> None:
        """One pass. length: of each block, or the number of blocks whose results are joined."""
        processor = self.queue.device.device_type == "cpu"
        n_results = len(self.results)
        inner = axes[0][1][n_results:] if axes else ()
        columns = (
            stage in ("whole", "part")
            and bool(axes)
            and not contiguous
            and all(abs(step) == 1 or step == 0 for step in inner)
        )
        form = "row"
        if (
            columns
            and processor
            and self.queue.backend == "host"
            and length >= 2
            and all(step >= 0 for step in inner)
        ):
            form = "tile"
        elif not processor and not columns and length > LANES:
            form = "group"
        key = (stage, form, contiguous, self.types, self.names, self.operands.where is not None)
        kernel = self.programs.find(key, self.queue, lambda: self._write(stage, form, contiguous, len(steps)))
        space: Any
        if form == "tile":
            lines = axes[0][0]
            space = _core.Range(-(-lines // _TILE), self.rows // lines, blocks)
        elif form == "group":
            groups = -(-self.rows * blocks // (_GROUP // LANES))
            space = _core.NdRange(groups * _GROUP, _GROUP)
        else:
            space = _core.Range(self.rows, blocks)
        self.recorder.launch(kernel, space, [*targets, self._pack(axes, steps, blocks, length)], depends)

    def _pack(self, axes: list[layout.Axis], steps: Sequence[int], blocks: int, length: int) -> bytes:
        import struct

        numbers = struct.pack("=4q", self.n, self.rows, blocks, length)
        strides = struct.pack(f"={len(steps)}q", *steps)
        return numbers + strides + layout.pack(axes, len(self.results) + len(steps))

    def _write(self, stage: str, form: str, contiguous: bool, walked: int) -> Source:
        """The program of one pass.

        stage: whole (one block, which gives the results), part (blocks, whose results are kept), join (the
        results of blocks), or empty (nothing to reduce).
        """
        fold, operands = self.fold, self.operands
        source = Source()
        self._write_functions(source)
        n_results = len(self.results)
        source.add(
            f"typedef struct {{ long n, rows, blocks, length, steps[{walked}], ndim, "
            f"shape[{layout.MOST_AXES}], strides[{n_results + walked}][{layout.MOST_AXES}]; }} usm_layout;"
        )
        declared, lines = fold.parameters(self.types, operands.declared)
        if operands.where is not None:
            declared.append("global const uchar *usm_where")
        if stage != "part":
            declared += fold.results(operands.declared)
        if stage in ("part", "join"):
            declared.append("global uchar *usm_scratch")
        declared.append("const usm_layout usm_l")
        needed = list(range(n_results if stage in ("empty", "join") else n_results + walked))
        source.add(f"kernel void {function_name(fold.name, fold.words)}({', '.join(declared)})", "{")
        source.add("const long usm_n = usm_l.n;", *lines)
        if form == "tile":
            source.add(
                f"const long usm_first = (long)get_global_id(0) * {_TILE};",
                "const long usm_b = (long)get_global_id(2), usm_left = usm_l.shape[0] - usm_first;",
                "long usm_rest = (long)get_global_id(1);",
                f"const int usm_w = (int)(usm_left < {_TILE} ? usm_left : {_TILE});",
                "const long usm_o = usm_rest * usm_l.shape[0] + usm_first;",
            )
        elif form == "group":
            source.add(
                f"local usm_r usm_s[{_GROUP}];",
                "const int usm_id = (int)get_local_id(0);",
                f"const int usm_lane = usm_id % {LANES};",
                f"const long usm_q = (long)get_group_id(0) * {_GROUP // LANES} + usm_id / {LANES};",
                "const long usm_o = usm_q / usm_l.blocks, usm_b = usm_q % usm_l.blocks;",
                "long usm_rest = usm_o;",
            )
        else:
            source.add(
                "const long usm_o = (long)get_global_id(0), usm_b = (long)get_global_id(1);",
                "long usm_rest = usm_o;",
            )
        first = "usm_first" if form == "tile" else "0"
        source.add("".join(f"long usm_o{k} = {first} * usm_l.strides[{k}][0]; " for k in needed))
        source.add(
            f"for (int usm_d = {1 if form == 'tile' else 0}; usm_d < (int)usm_l.ndim; usm_d++) {{",
            "const long usm_q = usm_d + 1 < (int)usm_l.ndim ? usm_rest / usm_l.shape[usm_d] : 0;",
            "const long usm_c = usm_rest - usm_q * usm_l.shape[usm_d];",
            *[f"usm_o{k} += usm_c * usm_l.strides[{k}][usm_d];" for k in needed],
            "usm_rest = usm_q;",
            "}",
        )
        if stage == "empty":
            source.add(self._post("usm_identity()", ""), "}")
            return source
        if stage == "join":
            source.add("const long usm_start = 0, usm_len = usm_l.length;")
            load = "((global const usm_r *)usm_scratch)[usm_o * usm_len + (USM_R)]"
        else:
            source.add(
                "const long usm_start = usm_b * usm_l.length;",
                "const long usm_len = usm_n - usm_start < usm_l.length ? usm_n - usm_start : usm_l.length;",
            )
            column = " + usm_j" if form == "tile" else ""
            places = [
                f"usm_o{n_results + k} + {f'usm_j * usm_l.strides[{n_results + k}][0] + ' if column else ''}"
                f"(usm_start + (USM_R)){'' if contiguous else f' * usm_l.steps[{k}]'}"
                for k in range(walked)
            ]
            mask = places[-1] if operands.where is not None else ""
            load = fold.call_map(self.types, operands.declared, places, "usm_start + (USM_R)", mask)
        source.add(f"#define USM_LOAD(USM_R) ({load})")
        source.add(f"const int usm_c = (int)(usm_len < {LANES} ? usm_len : {LANES});")
        result = "usm_acc[0]"
        if form == "group":
            result = "usm_s[usm_id]"
            source.add(
                "const bool usm_active = usm_q < usm_l.rows * usm_l.blocks && usm_lane < usm_c;",
                "if (usm_active) {",
                "usm_r usm_acc = USM_LOAD((long)usm_lane);",
                f"for (long usm_k = usm_lane + {LANES}; usm_k < usm_len; usm_k += {LANES})",
                "usm_acc = usm_combine(usm_acc, USM_LOAD(usm_k));",
                "usm_s[usm_id] = usm_acc;",
                "}",
                f"for (int usm_h = {LANES // 2}; usm_h > 0; usm_h /= 2) {{",
                "barrier(CLK_LOCAL_MEM_FENCE);",
                "if (usm_active && usm_lane < usm_h && usm_lane + usm_h < usm_c)",
                "usm_s[usm_id] = usm_combine(usm_s[usm_id], usm_s[usm_id + usm_h]);",
                "}",
                "if (usm_active && usm_lane == 0) {",
            )
        elif form == "tile":
            each = "for (int usm_j = 0; usm_j < usm_w; usm_j++)"
            result = "usm_acc[0][usm_j]"
            source.add(
                f"usm_r usm_acc[{LANES}][{_TILE}];",
                f"for (int usm_t = 0; usm_t < usm_c; usm_t++) {each}",
                "usm_acc[usm_t][usm_j] = USM_LOAD((long)usm_t);",
                f"for (long usm_k = {LANES}; usm_k < usm_len; usm_k++) {{",
                f"const int usm_t = (int)(usm_k % {LANES});",
                f"{each} usm_acc[usm_t][usm_j] = usm_combine(usm_acc[usm_t][usm_j], USM_LOAD(usm_k));",
                "}",
                f"for (int usm_h = {LANES // 2}; usm_h > 0; usm_h /= 2)",
                f"for (int usm_t = 0; usm_t < usm_h && usm_t + usm_h < usm_c; usm_t++) {each}",
                "usm_acc[usm_t][usm_j] = usm_combine(usm_acc[usm_t][usm_j], usm_acc[usm_t + usm_h][usm_j]);",
                f"{each} {{",
            )
        else:
            source.add(
                f"usm_r usm_acc[{LANES}];",
                "for (int usm_t = 0; usm_t < usm_c; usm_t++)",
                "usm_acc[usm_t] = USM_LOAD((long)usm_t);",
                f"long usm_k = {LANES};",
                f"for (; usm_k + {LANES} <= usm_len; usm_k += {LANES})",
                f"for (int usm_t = 0; usm_t < {LANES}; usm_t++)",
                "usm_acc[usm_t] = usm_combine(usm_acc[usm_t], USM_LOAD(usm_k + usm_t));",
                "for (int usm_t = 0; usm_k + usm_t < usm_len; usm_t++)",
                "usm_acc[usm_t] = usm_combine(usm_acc[usm_t], USM_LOAD(usm_k + usm_t));",
                f"for (int usm_h = {LANES // 2}; usm_h > 0; usm_h /= 2)",
                "for (int usm_t = 0; usm_t < usm_h && usm_t + usm_h < usm_c; usm_t++)",
                "usm_acc[usm_t] = usm_combine(usm_acc[usm_t], usm_acc[usm_t + usm_h]);",
                "{",
            )
        if stage == "part":
            at = "usm_o + usm_j" if form == "tile" else "usm_o"
            source.add(f"((global usm_r *)usm_scratch)[({at}) * usm_l.blocks + usm_b] = {result};")
        else:
            source.add(self._post(result, "usm_j" if form == "tile" else ""))
        source.add("}", "#undef USM_LOAD", "}")
        return source

    def _post(self, value: str, column: str) -> str:
        places = [
            f"usm_o{k}{f' + {column} * usm_l.strides[{k}][0]' if column else ''}"
            for k in range(len(self.results))
        ]
        return self.fold.call_post(value, "0", places, self.types)
