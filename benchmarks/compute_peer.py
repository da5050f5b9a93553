"""Times of dpnp for compute.py, from an environment of its own: dpnp brings 250 MB of libraries.

    python compute_peer.py N

The Python is that of an environment where dpnp and Intel's runtime are installed. For each line "COUNT
STATEMENT" of its input the program runs the statement that many times on Intel's OpenCL device, waits for the
queue after each, and prints the seconds that they took, or nothing where dpnp has no such function. The
arrays are those of compute.py for N elements.
"""

from __future__ import annotations

import os
import sys
import timeit
from typing import Any

import numpy as np


def values(n: int) -> dict[str, np.ndarray]:
    """a, b: n float32; d: float64 of as many bytes; m, r: long and short rows; s, t: few elements."""
    rng = np.random.default_rng(0)
    a = rng.random(n, dtype="float32") + np.float32(0.5)
    side = max(16, int(n**0.5) // 4)
    few = rng.random(1000)
    return {
        "a": a,
        "b": a[::-1].copy(),
        "d": a[: n // 2].astype("float64"),
        "m": a.reshape(-1, 1024),
        "r": a.reshape(-1, 16),
        "p": a[: side * side].reshape(side, side),
        "o": a[: side * side].reshape(side, side).astype("float64"),
        "q": np.arange(side * side // 16, dtype="int32").reshape(side // 4, -1),
        "s": few,
        "t": few.reshape(20, 50),
    }


def names_of(library: Any) -> dict[str, Any]:
    """The functions under the standard's names."""
    names = {name: getattr(library, name) for name in dir(library) if not name.startswith("_")}
    names.setdefault("cumulative_sum", names.get("cumsum"))
    names.setdefault("pow", names.get("power"))
    return names


def main() -> None:
    os.environ["OCL_ICD_VENDORS"] = "none"  # no other platform: the first device is Intel's
    os.environ["OCL_ICD_FILENAMES"] = os.path.join(sys.prefix, "lib", "libintelocl.so")
    import dpnp

    queue = dpnp.asarray(0, device="opencl:cpu").sycl_queue
    names = names_of(dpnp) | {"queue": queue}
    names |= {name: dpnp.asarray(value, sycl_queue=queue) for name, value in values(int(sys.argv[1])).items()}
    print(dpnp.__version__, flush=True)
    for line in sys.stdin:
        count, _, statement = line.strip().partition(" ")
        function = statement.partition("(")[0]
        known = not function.isidentifier() or names.get(function) is not None
        seconds = (
            timeit.timeit(f"{statement}; queue.wait()", number=int(count), globals=names) if known else None
        )
        print("" if seconds is None else seconds, flush=True)


if __name__ == "__main__":
    main()
