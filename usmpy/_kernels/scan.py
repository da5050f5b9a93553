"""ScanKernel: running results along an axis."""

from __future__ import annotations

from .. import _core
from .._arrays.objects import shown
from . import call, layout
from .fold import Fold, Operands, combined_size, start
from .program import Programs
from .reduction import count, normalize_axes
from .script import Recorder, Scripts
from .source import Source, function_name

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._core import Event, Queue, USMArray

# Elements that one work-item scans in their order. Three phases: the total of each block, the scan of the
# totals (in the same way), and the scan of each block from the total before it.
BLOCK = 256
_MOST_OPERANDS = 9  # so that the layouts fit into the 1,024 bytes of arguments that every device takes


class Scan:
    """What a ScanKernel does."""

    def __init__(
        self,
        inputs: str,
        outputs: str,
        map: str | Callable[..., Any],
        scan: str | Callable[..., Any],
        post: str | Callable[..., Any] | None,
        identity: str | float | None,
        name: str,
        *,
        scan_type: str | _core.DType | None,
        preamble: str,
        options: str,
    ) -> None:
        self._fold = Fold(
            inputs, outputs, map, ("scan", scan), post, identity, name, scan_type, preamble, options
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
        axis: int | None,
        exclusive: bool,
        include_initial: bool,
        out: USMArray | tuple[USMArray | None, ...] | None,
        where: USMArray | None,
        depends: Event | Iterable[Event],
        queue: Queue | None,
    ) -> Any:
        fold = self._fold
        key = None
        if where is None and queue is None:
            options = (bool(exclusive), bool(include_initial))
            found, key = self._scripts.replay(len(fold.inputs), args, out, axis, options, depends)
            if found is not None:
                return found[0] if len(found) == 1 else tuple(found)
        operands = Operands(fold, args, out, where, queue)
        ndim = len(operands.shape)
        if ndim == 0 or (axis is None and ndim > 1):
            raise ValueError(
                f"{fold.name}: the arrays have {count(ndim)}; "
                + ("at least one is needed" if ndim == 0 else "pass the axis to scan along")
            )
        if isinstance(axis, (tuple, list)):
            raise TypeError(f"{fold.name}: axis is {shown(axis, 60)}; an int or None is allowed")
        along = normalize_axes(axis, ndim, fold.name)[0]
        if (exclusive or include_initial) and fold.identity is None:
            what = "exclusive" if exclusive else "include_initial"
            raise ValueError(f"{fold.name} has no identity; {what}=True needs one")
        if exclusive and include_initial:
            raise ValueError(f"{fold.name}: exclusive and include_initial are both true; one is allowed")
        n = operands.shape[along]
        shape = (*operands.shape[:along], n + include_initial, *operands.shape[along + 1 :])
        results = operands.results(fold, shape)
        if layout.size(shape) > 0:
            depends = operands.copy_overlapped(fold, depends)
            launch = _Launch(self, operands, along, results, exclusive or include_initial, include_initial)
            recorder = launch.run(depends)
            if key is not None and recorder is not None and not operands.copied:
                self._scripts.keep(key, recorder.write(operands.script(results)))
        return results[0] if len(results) == 1 else tuple(results)


class _Launch:
    """The launches of one call that gives elements."""

    def __init__(
        self,
        kernel: Scan,
        operands: Operands,
        along: int,
        results: list[USMArray],
        exclusive: bool,
        initial: bool,
    ) -> None:
        self.programs, self.sizes, self.fold = kernel._programs, kernel._sizes, kernel._fold
        self.operands, self.queue = operands, operands.queue
        self.along, self.results = along, results
        self.exclusive, self.initial = exclusive, initial
        self.n = operands.shape[along]
        self.kept = [d for d in range(len(operands.shape)) if d != along]
        self.rows = layout.size(operands.shape[d] for d in self.kept)
        self.types = tuple(operands.types)
        self.names = tuple(dtype.name for dtype in operands.declared)
        self.layout = b""
        self.walked = 0

    def run(self, depends: Any) -> Recorder | None:
        """Launch everything. Returns None if the launches took copies of the arguments."""
        operands = self.operands
        walked, targets = operands.walked(), self.results
        axes, steps = self._arrange(walked, targets)
        if len(axes) > layout.MOST_AXES or len(walked) + len(targets) > _MOST_OPERANDS:
            depends = call.order_after(self.queue, depends, self.fold.name)
            order = (*self.kept, self.along)
            walked = [
                _core.permute_dims(_core.broadcast_to(x, operands.shape), order)
                .copy()
                .reshape(self.rows, self.n)
                for x in walked
            ]
            operands.replace(walked)
            targets = [_core.permute_dims(x, order).copy() for x in targets]
            axes = [(self.rows, (self.n + self.initial,) * len(targets) + (self.n,) * len(walked))]
            steps = [1] * (len(targets) + len(walked))
        self.walked = len(walked)
        blocks = -(-self.n // BLOCK)
        self.layout = self._pack(axes, steps)
        starts = [start(x) for x in targets]
        self.recorder = Recorder(self.queue, operands.values(), starts)
        if blocks <= 1:
            self._launch("only", max(blocks, 1), starts, depends)
        else:
            totals = self._scratch(blocks)
            self._launch("totals", blocks, [totals], depends)
            self._scan_totals(totals, blocks)
            self._launch("finish", blocks, [*starts, totals], ())
        if targets is not self.results:
            order = (*self.kept, self.along)
            for x, target in zip(self.results, targets, strict=True):
                _core.copyto(_core.permute_dims(x, order), target)
            return None
        return self.recorder

    def _arrange(
        self, walked: Sequence[USMArray], targets: Sequence[USMArray]
    ) -> tuple[list[layout.Axis], list[int]]:
        """The axes beside the scanned one, and the strides along it, of results and inputs."""
        shape = self.operands.shape
        strides = [x.strides for x in targets]
        strides += [layout.broadcast_strides(shape, x.shape, x.strides) for x in walked]
        kept = [[of[d] for d in self.kept] for of in strides]
        return layout.merge([shape[d] for d in self.kept], kept), [of[self.along] for of in strides]

    def _scratch(self, blocks: int) -> USMArray:
        size = combined_size(self.fold, self.operands, self.programs, self.sizes)
        return self.recorder.scratch(self.rows * blocks * size)

    def _scan_totals(self, totals: USMArray, n: int) -> None:
        """Scan n totals of each row in place."""
        blocks = -(-n // BLOCK)
        above = None
        if blocks > 1:
            above = self._scratch(blocks)
            self._launch("inner totals", blocks, [totals, above], (), n)
            self._scan_totals(above, blocks)
        self._launch("inner finish", blocks, [totals, above], (), n)

    def _launch(self, stage: str, blocks: int, arrays: Sequence[Any], depends: Any, n: int = 0) -> None:
        key = (stage, self.exclusive, self.initial, self.types, self.names, self.operands.where is not None)
        kernel = self.programs.find(key, self.queue, lambda: self._write(stage))
        rest = [*arrays, self.layout, n or self.n, blocks]
        self.recorder.launch(kernel, _core.Range(self.rows * blocks), rest, depends)

    def _pack(self, axes: list[layout.Axis], steps: Sequence[int]) -> bytes:
        import struct

        return struct.pack(f"={2 + len(steps)}q", self.n, self.rows, *steps) + layout.pack(axes, len(steps))

    def _write(self, stage: str) -> Source:
        """The program of one phase.

        stage: only (one block), totals and finish (of the elements), inner totals and inner finish (of the
        totals).
        """
        fold, operands = self.fold, self.operands
        source = Source()
        made = (operands.declared, operands.variables, operands.combined, operands.queue.device)
        fold.write(source, self.types, *made)
        count = len(self.results) + self.walked
        source.add(
            f"typedef struct {{ long n, rows, steps[{count}], ndim, shape[{layout.MOST_AXES}], "
            f"strides[{count}][{layout.MOST_AXES}]; }} usm_layout;"
        )
        declared, lines = fold.parameters(self.types, operands.declared)
        if operands.where is not None:
            declared.append("global const uchar *usm_where")
        inner = stage.startswith("inner")
        if stage in ("only", "finish"):
            declared += fold.results(operands.declared)
        if inner:
            declared.append("global uchar *usm_bytes")
        if stage != "only":
            declared.append("global uchar *usm_carry")
        declared += ["const usm_layout usm_l", "const long usm_count", "const long usm_blocks"]
        source.add(f"kernel void {function_name(fold.name, fold.words)}({', '.join(declared)})", "{")
        source.add(
            "const long usm_n = usm_l.n;",
            *lines,
            "const long usm_q = (long)get_global_id(0);",
            "const long usm_o = usm_q % usm_l.rows, usm_b = usm_q / usm_l.rows;",
            f"const long usm_start = usm_b * {BLOCK};",
            f"const long usm_end = usm_count - usm_start < {BLOCK} ? usm_count : usm_start + {BLOCK};",
        )
        if stage != "only":
            source.add("global usm_r *usm_totals = (global usm_r *)usm_carry + usm_o * usm_blocks;")
        if inner:
            source.add("global usm_r *usm_x = (global usm_r *)usm_bytes + usm_o * usm_count;")
            value, store = "usm_x[usm_k]", "usm_x[usm_k] = usm_a;"
        else:
            source.add("long usm_rest = usm_o;", "".join(f"long usm_o{k} = 0; " for k in range(count)))
            source.add(
                "for (int usm_d = 0; usm_d < (int)usm_l.ndim; usm_d++) {",
                "const long usm_t = usm_d + 1 < (int)usm_l.ndim ? usm_rest / usm_l.shape[usm_d] : 0;",
                "const long usm_c = usm_rest - usm_t * usm_l.shape[usm_d];",
                *[f"usm_o{k} += usm_c * usm_l.strides[{k}][usm_d];" for k in range(count)],
                "usm_rest = usm_t;",
                "}",
            )
            first = len(self.results)
            places = [f"usm_o{k} + usm_k * usm_l.steps[{k}]" for k in range(first, count)]
            mask = places[-1] if operands.where is not None else ""
            value = fold.call_map(self.types, operands.declared, places, "usm_k", mask)
            store = self._post("usm_a", "usm_k")
        finishes = stage in ("only", "finish", "inner finish")
        exclusive = self.exclusive and not inner
        if (
            exclusive
        ):  # an element's own block writes the result behind it, also where that lies in the next one
            last = "usm_count" if self.initial else "usm_count - 1"
            store = f"if (usm_k < {last}) {{ {self._post('usm_a', '(usm_k + 1)')} }}"
        source.add("usm_r usm_a;", "long usm_k = usm_start;")
        if exclusive and finishes:
            source.add(f"if (usm_b == 0) {{ {self._post('usm_identity()', '0')} }}")
            source.add("if (usm_count == 0) return;")
        source.add("if (usm_b == 0) {" if finishes else "{", f"usm_a = {value};")
        source.add(store if finishes else "", "usm_k++;", "}")
        if finishes and stage != "only":
            source.add("else usm_a = usm_totals[usm_b - 1];")
        # Intel's OpenCL compiler reorders the additions of a loop that it vectorises.
        source.add("#pragma clang loop vectorize(disable)")
        source.add("for (; usm_k < usm_end; usm_k++) {", f"usm_a = usm_combine(usm_a, {value});")
        source.add(store if finishes else "", "}")
        if not finishes:
            source.add("usm_totals[usm_b] = usm_a;")
        source.add("}")
        return source

    def _post(self, value: str, position: str) -> str:
        places = [f"usm_o{k} + {position} * usm_l.steps[{k}]" for k in range(len(self.results))]
        return self.fold.call_post(value, position, places, self.types)
