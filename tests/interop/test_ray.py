"""Arrays in the object store, tasks and actors of Ray: tests/tools/with_processes.py makes an environment."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading

import numpy as np
import pytest
from asleep import once_asleep
from libraries import have

import usmpy

ray = have("ray", "python tests/tools/with_processes.py ray runs these tests in an environment of their own")

pytestmark = pytest.mark.only_on("host-accessible", "!sub-device")
TWICE = """
kernel void twice(global const int *x, global int *y) {
    size_t i = get_global_id(0);
    y[i] = 2 * x[i];
}"""
N = 1 << 20  # Ray keeps objects of less than 100 kB elsewhere


@pytest.fixture(scope="module", autouse=True)
def session():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def store():
    """The ranges of addresses at which this process has the object store."""
    with open("/proc/self/maps", encoding="ascii") as file:
        return [
            range(*(int(end, 16) for end in line.split()[0].split("-"))) for line in file if "/plasma" in line
        ]


def in_store(x):
    return any(x.data_ptr in part for part in store())


@pytest.fixture
def in_place(device):
    return device.device_type == "cpu" and device.has_usm_system


@pytest.mark.parametrize("dtype", ["int32", "float64", "bfloat16"])
def test_put_and_get(device, in_place, dtype):
    x = usmpy.empty((N // 8, 8), dtype=dtype, device=device)
    x.queue.memcpy(x, os.urandom(256) * (x.nbytes // 256))
    reference = ray.put(x)
    y, z = ray.get(reference), ray.get(reference)
    assert (y.dtype, y.shape, y.queue, y.usm_type) == (x.dtype, x.shape, device.queue, x.usm_type)
    assert y.tobytes() == x.tobytes()
    assert in_store(y) == in_place
    assert (y.data_ptr == z.data_ptr) == in_place
    assert y.flags.writable != in_place
    if in_place:
        assert y.data_ptr % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1
    del reference, z
    gc.collect()
    assert y.tobytes() == x.tobytes()  # the array keeps the object


def test_pending_work_is_in_the_store(device):
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    gate = threading.Event()
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 3)
    once_asleep(gate.set)
    assert (ray.get(ray.put(x)).asnumpy() == 3).all()


def test_small_and_strided_arrays(device):
    n = np.arange(60, dtype="int16").reshape(3, 4, 5)
    x = usmpy.asarray(n, device=device, copy=True)
    for key in np.s_[:], np.s_[::2], np.s_[..., ::-1], np.s_[1, 2, 3]:
        np.testing.assert_array_equal(ray.get(ray.put(x[key])).asnumpy(), n[key])


def test_tasks(device, in_place):
    @ray.remote
    def work(x):
        return x.device.filter_string, x.flags.writable, x * 2

    x = usmpy.arange(N, dtype="int32", device=device)
    name, writable, y = ray.get(work.remote(ray.put(x)))
    assert name == device.filter_string
    assert writable != in_place
    assert in_store(y) == in_place
    np.testing.assert_array_equal(y.asnumpy(), 2 * np.arange(N))


def test_actors_keep_arrays_on_their_device(device):
    @ray.remote
    class Counter:
        def __init__(self, device):
            self.x = usmpy.zeros(N, dtype="int32", device=device)

        def add(self, y):
            self.x += y
            return self.x.data_ptr, self.x.device.filter_string

        def get(self):
            return self.x

    counter = Counter.remote(device)
    one = ray.put(usmpy.ones(N, dtype="int32", device=device))
    seen = set(ray.get([counter.add.remote(one) for _ in range(3)]))
    assert len(seen) == 1
    assert seen.pop()[1] == device.filter_string
    assert (ray.get(counter.get.remote()).asnumpy() == 3).all()
    ray.kill(counter)


def test_kernels_go_to_workers(device):
    @ray.remote
    def launch(kernel, x):
        y = usmpy.empty_like(x)
        kernel[usmpy.Range(x.size)](x, y)
        return y

    x = usmpy.arange(10, dtype="int32", device=device)
    y = ray.get(launch.remote(usmpy.Program(TWICE, device=device).twice, x))
    assert y.tolist() == list(range(0, 20, 2))


def test_a_device_that_a_worker_lacks(device):
    absent = device.filter_string[:-1] + "7"  # as long, as a pickle has the length of each string

    @ray.remote
    def sums(data):
        data = data.replace(device.filter_string.encode(), absent.encode())
        try:
            pickle.loads(data)
        except usmpy.DeviceNotFound as error:
            message = str(error)
        with usmpy.unpickle_device({absent: "host"}):
            return message, pickle.loads(data).tolist()

    message, values = ray.get(sums.remote(pickle.dumps(usmpy.arange(3, device=device), 2)))
    assert f"'{absent}', which this process does not have" in message
    assert values == [0, 1, 2]
