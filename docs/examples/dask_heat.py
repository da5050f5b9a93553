"""Heat flows over a plate that is eight times as large as the memory of a worker.

    python docs/examples/dask_heat.py                                  8 GB, two workers of 1 GB each
    python docs/examples/dask_heat.py --memory-limit 8GB --device cuda a large one, on GPUs
    python docs/examples/dask_heat.py --memory-limit 16MB --rounds 2   a small one

The plate is on disk, in chunks of zarr. A round reads each chunk with a margin of its neighbours, computes as
many steps as the margin is wide, in arrays of usmpy, and writes the chunk to another store. No heat leaves
the plate: its sum stays. Matplotlib draws a picture of the end.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import tempfile
import warnings

import dask
import dask.array as da
import distributed
import numpy as np

import usmpy

# The limit counts arrays, by their sizes, and not the interpreter and its libraries.
ARRAYS_ALONE = {f"distributed.worker.memory.{what}": False for what in ("spill", "pause", "terminate")}


def flow(u: usmpy.USMArray, steps: int) -> usmpy.USMArray:
    """Steps of a chunk. Each step spoils one more row of its margin, whose neighbours are missing."""
    for _ in range(steps):
        inside = u[1:-1, 1:-1]
        change = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inside
        u = u.copy()
        u[1:-1, 1:-1] += 0.2 * change
    return u


def plate(n: int, chunk: int, device: str) -> da.Array:
    """Two hot disks."""
    with dask.config.set({"array.backend": "usmpy"}):
        x = da.arange(n, chunks=chunk, dtype="float32", device=device) / n
    y = x[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.PerformanceWarning)  # two axes have more chunks than one
        left = (x - 0.3) ** 2 + (y - 0.4) ** 2 < 0.02
        right = (x - 0.7) ** 2 + (y - 0.6) ** 2 < 0.03
        return (left | right).astype("float32")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memory-limit", default="1GB", help="of each worker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="host", help="where chunks are computed: a filter string")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=16, help="of a round")
    parser.add_argument("--output", default="dask_heat.png")
    options = parser.parse_args()
    limit = dask.utils.parse_bytes(options.memory_limit)
    chunk = math.isqrt(limit // 16 // 4)  # a chunk is a 16th of the limit: a task has some of them at a time
    n = -(-math.isqrt(8 * limit // 4) // chunk) * chunk

    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set({**ARRAYS_ALONE, "temporary-directory": folder}),
        distributed.LocalCluster(
            n_workers=options.workers, threads_per_worker=1, memory_limit=limit, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        stores = [str(pathlib.Path(folder) / f"{name}.zarr") for name in ("even", "odd")]
        plate(n, chunk, options.device).to_backend("numpy").to_zarr(stores[0])
        for _ in range(options.rounds):
            u = da.from_zarr(stores[0]).to_backend("usmpy", device=options.device)
            u = u.map_overlap(flow, steps=options.steps, depth=options.steps, boundary="reflect")
            assert isinstance(u._meta, usmpy.USMArray)
            u.to_backend("numpy").to_zarr(stores[1], overwrite=True)
            stores.reverse()
        u = da.from_zarr(stores[0]).to_backend("usmpy", device=options.device)
        heat = u.sum(dtype="float64") / u.size
        before = plate(n, chunk, options.device).sum(dtype="float64") / u.size
        picture = da.coarsen(np.mean, u, dict.fromkeys((0, 1), max(n // 400, 1)), trim_excess=True)
        heat, before, picture = client.gather(client.compute([heat, before, picture]))

    steps = options.rounds * options.steps
    print(f"{n} x {n} cells, {u.nbytes / limit:.1f} times the memory of a worker, {u.npartitions} chunks")
    print(f"mean heat {before.item():.6f} before, {heat.item():.6f} after {steps} steps")
    assert abs(heat.item() - before.item()) < 1e-5

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.imsave(options.output, picture.asnumpy(), cmap="inferno", origin="lower")


if __name__ == "__main__":
    main()
