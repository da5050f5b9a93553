"""Large private arrays on the host: without barriers, between barriers, and on work-items' own stacks."""

import numpy as np
import pytest

import usmpy
from usmpy._compile.compiler import which

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")

SOURCE = """
static void meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }

__attribute__((noinline)) static int helped(int of)
{
    int t[N / 2 + 1];
    for (int k = 0; k <= N / 2; k++) t[k] = of + k % 7;
    MEET;
    int sum = 0;
    for (int k = 0; k <= N / 2; k += 501) sum += t[k];
    return sum;
}

kernel void f(global const int *x, global int *y)
{
    int t[N], i = get_global_id(0);
    for (int k = 0; k < N; k++) t[k] = x[i] + k % 5;
    MEET;
    int sum = HELPED;
    for (int k = 0; k < N; k += 501) sum += t[k];
    y[i] = sum;
}
"""
WAYS = {
    "plain": "-DMEET= -DHELPED=helped(x[i])",
    "phases": "-DMEET=barrier(CLK_LOCAL_MEM_FENCE) -DHELPED=0",
    "stacks": "-DMEET=meet() -DHELPED=helped(x[i])",
}
ITEMS = 16


@pytest.fixture(params=["gcc", "clang"])
def compiler(request, monkeypatch):
    if which(request.param) is None:
        pytest.skip(f"no {request.param}")
    monkeypatch.setenv("CC", request.param)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [10, 20_000, 600_000])
def test_work_items_keep_their_arrays(compiler, n, way):
    """Frames of 40 bytes to 2.4 MB: those of a chain of calls are in the stacks' size together."""
    queue = usmpy.Queue("host")
    kernel = usmpy.Program(SOURCE, device=queue, options=f"-DN={n} {WAYS[way]}")["f"]
    x, y = usmpy.arange(ITEMS, dtype="int32", queue=queue), usmpy.zeros(ITEMS, dtype="int32", queue=queue)
    kernel[usmpy.NdRange(ITEMS, ITEMS // 2)](x, y)
    steps = np.arange(0, n, 501)
    expected = np.arange(ITEMS) * steps.size + (steps % 5).sum()
    if "helped" in WAYS[way]:
        steps = np.arange(0, n // 2 + 1, 501)
        expected += np.arange(ITEMS) * steps.size + (steps % 7).sum()
    assert y.tolist() == expected.tolist()


@pytest.mark.parametrize("way", ["plain", "stacks"])
def test_more_than_a_thread_has_is_refused(compiler, way):
    with pytest.raises(usmpy.BuildError, match=r"has \d{7} bytes of private variables, .* at most 4194304"):
        usmpy.Program(SOURCE, device="host", options=f"-DN=1100000 {WAYS[way]}")
