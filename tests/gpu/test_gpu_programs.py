"""Programs in every language on the GPU, with the host's bits where the language is one for both."""

from __future__ import annotations

import ast
import pathlib

import numpy as np
import pytest
from kernel_sources import PORTABLE

import usmpy
from usmpy.kernel_api import get_global_id

ROOT = pathlib.Path(__file__).parents[2]

SAXPY = """
kernel void saxpy(global const float *x, global float *y, float a, int n)
{
    size_t i = get_global_id(0);
    if (i < n)
        y[i] += a * x[i];
}
"""
CUDA = """
extern "C" __global__ void saxpy(const float *x, float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
template <typename T> __device__ T twice(T x) { return x + x; }
extern "C" __global__ void doubled(double *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = twice(x[i]);
}
extern "C" __global__ void reversed_(int *x)
{
    extern __shared__ int t[];
    t[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
}
"""
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_id(.param .u64 x, .param .u32 n)
{
    .reg .u32 %i, %n, %size, %group, %old;
    .reg .u64 %x, %at;
    .reg .pred %out;
    mov.u32 %i, %tid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %group, %ctaid.x;
    mad.lo.u32 %i, %group, %size, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %out, %i, %n;
    @%out bra end;
    ld.param.u64 %x, [x];
    mul.wide.u32 %at, %i, 4;
    add.u64 %x, %x, %at;
    ld.global.u32 %old, [%x];
    add.u32 %old, %old, %i;
    st.global.u32 [%x], %old;
end:
    ret;
}
"""


@pytest.mark.parametrize(("language", "source"), [("portable", SAXPY), ("cuda", CUDA)])
def test_saxpy(device, language, source):
    program = usmpy.Program(source, device=device, language=language)
    n = 100_003
    x = usmpy.arange(n, dtype="float32", device=device)
    y = usmpy.ones(n, dtype="float32", device=device)
    first = program.saxpy[usmpy.Range(n)](x, y, 2.0, n)
    program.saxpy[usmpy.Range(n), [first]](x, y, 0.5, n).wait()
    np.testing.assert_array_equal(y.asnumpy(), 1 + np.float32(2.5) * np.arange(n, dtype="float32"))


def test_ptx(device):
    program = usmpy.Program(PTX, device=device, language="ptx")
    assert program.kernel_names == ["add_id"]
    x = usmpy.full(1000, 5, dtype="int32", device=device)
    program.add_id[usmpy.Range(1000)](x, 1000).wait()
    assert x.tolist() == [5 + i for i in range(1000)]


@pytest.mark.parametrize(
    ("language", "source"), [("portable", SAXPY), ("cuda", CUDA)], ids=["portable", "cuda"]
)
def test_a_binary_makes_the_same_program(device, language, source):
    binary = usmpy.Program(source, device=device, language=language).binary
    program = usmpy.Program(binary, device=device, language="native")
    x = usmpy.arange(1000, dtype="float32", device=device)
    y = usmpy.zeros(1000, dtype="float32", device=device)
    kernel = program["saxpy"]
    if language == "cuda":
        kernel = kernel.with_parameters(["const float32*", "float32*", "float32", "int32"])
    kernel[usmpy.Range(1000)](x, y, 3.0, 1000).wait()
    assert y.tolist() == [3.0 * i for i in range(1000)]


def test_cubin_of_another_compiler(core, device):
    arch = f"sm_{core.Device(0).arch}"
    compiled = core.Program(CUDA, "c++", core.ProgramOptions(std="c++17", arch=arch)).compile("cubin")
    program = usmpy.Program(bytes(compiled.code), device=device, language="native")
    x = usmpy.ones(100, dtype="float64", device=device)
    program["doubled"].with_parameters(["float64*", "int32"])[usmpy.Range(100)](x, 100).wait()
    assert x.tolist() == [2.0] * 100


def test_shared_memory_of_a_block(device):
    program = usmpy.Program(CUDA, device=device, language="cuda")
    x = usmpy.arange(512, dtype="int32", device=device)
    kernel = program["reversed_"]
    kernel[usmpy.NdRange(512, 128)](x, usmpy.LocalMemory(512)).wait()
    expected = np.arange(512).reshape(4, 128)[:, ::-1].ravel()
    assert x.tolist() == expected.tolist()


def test_a_failed_build_has_the_log(device):
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program("kernel void f(global int *x) { x[0] = nonsense; }", device=device)
    assert "nonsense" in str(caught.value)
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(
            'extern "C" __global__ void f(int *x) { x[0] = nonsense; }', device=device, language="cuda"
        )
    assert "nonsense" in str(caught.value)
    with pytest.raises(usmpy.BuildError):
        usmpy.Program(PTX.replace("setp", "sotp"), device=device, language="ptx")
    with pytest.raises(usmpy.BuildError):
        usmpy.Program(b"\x7fELF nothing", device=device, language="native")


def devices():
    return [device for backend in ("host", "cuda", "opencl") for device in usmpy.get_devices(backend)]


def test_the_portable_kernels_of_the_tests_have_the_hosts_bits(device):
    """The portable programs of the other tests, built for the GPU, the host and each OpenCL device."""
    host = usmpy.Device("host")
    results = []
    for place in (host, device):
        program = usmpy.Program(PORTABLE, device=place)
        x = usmpy.arange(256, dtype="float32", device=place)
        y = usmpy.empty(256, dtype="float32", device=place)
        program.scale[usmpy.Range(256)](x, y, 0.1)
        z = usmpy.arange(256, dtype="int32", device=place)
        program.reverse[usmpy.NdRange(256, 64)](z, usmpy.LocalMemory(256))
        ids = usmpy.empty((4, 3, 5), dtype="int32", device=place)
        program.ids[usmpy.Range(5, 3, 4)](ids)
        spun = usmpy.ones(64, dtype="uint32", device=place)
        program.spin[usmpy.Range(64)](spun, 1000)
        results.append([a.asnumpy() for a in (y, z, ids, spun)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def tour_source() -> tuple[str, int]:
    """BLUR and RADIUS of the tour, which itself needs more packages."""
    tree = ast.parse((ROOT / "docs" / "examples" / "tour.py").read_text(encoding="utf-8"))
    values = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id in ("BLUR", "RADIUS")
    }
    return values["BLUR"], values["RADIUS"]


def test_the_blur_of_the_tour_has_the_same_bits_on_every_device(device):
    source, radius = tour_source()
    offsets = np.arange(-radius, radius + 1, dtype=np.float32)
    bell = np.exp(-0.5 * (offsets / (radius / 3)) ** 2).astype(np.float32)
    weights = (bell / bell.sum()).astype(np.float32)
    pixels = np.random.default_rng(2).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    results = {}
    for place in devices():
        program = usmpy.Program(source, device=place)
        photo = usmpy.asarray(pixels, device=place, copy=True)
        along_x, blurred, change = (usmpy.empty_like(photo) for _ in range(3))
        on_device = usmpy.asarray(weights, device=place, copy=True)
        program.blur[usmpy.Range(400, 300)](photo, along_x, on_device, radius, 0)
        program.blur[usmpy.Range(400, 300)](along_x, blurred, on_device, radius, 1)
        program.difference[usmpy.Range(pixels.size)](photo, blurred, change)
        results[place.filter_string] = blurred.asnumpy(), change.asnumpy()
    host = results.pop("host:cpu:0")
    assert device.filter_string in results
    for name, found in results.items():
        for ours, theirs in zip(host, found, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def saxpy_in_python(x, y, a):
    i = get_global_id(0)
    y[i] += a * x[i]


def test_kernels_in_python(device):
    x = usmpy.arange(1000, dtype="float32", device=device)
    y = usmpy.ones(1000, dtype="float32", device=device)
    usmpy.kernel(saxpy_in_python)[usmpy.Range(1000)](x, y, 2.0).wait()
    assert y.tolist() == [1 + 2.0 * i for i in range(1000)]


def test_launches_on_arrays_of_other_libraries(cupy, torch, device):
    program = usmpy.Program(SAXPY, device=device)
    x = usmpy.from_dlpack(cupy.arange(1000, dtype="float32"))
    theirs = torch.ones(1000, device="cuda")
    y = usmpy.from_dlpack(theirs)
    program.saxpy[usmpy.Range(1000)](x, y, 2.0, 1000).wait()
    assert theirs.tolist() == [1 + 2.0 * i for i in range(1000)]


def test_launches_of_all_sizes(device):
    program = usmpy.Program(
        "kernel void one(global int *x, int n) { int i = get_global_id(0); if (i < n) x[i] += 1; }",
        device=device,
    )
    for n in (1, 31, 32, 33, 255, 257, 1025, 65_537, 3_000_001):
        x = usmpy.zeros(n + 64, dtype="int32", device=device)
        program.one[usmpy.Range(n)](x, n).wait()
        found = x.asnumpy()
        assert found[:n].min() == found[:n].max() == 1, n
        assert not found[n:].any(), n


def test_many_launches_in_flight(device):
    program = usmpy.Program(SAXPY, device=device)
    q = usmpy.Queue(device)
    x = usmpy.ones(1000, dtype="float32", queue=q)
    y = usmpy.zeros(1000, dtype="float32", queue=q)
    events = [program.saxpy[usmpy.Range(1000)](x, y, 1.0, 1000) for _ in range(20_000)]
    events[-1].wait()
    assert all(event.done for event in events[::997])
    assert y.tolist() == [20_000.0] * 1000
