"""usmpy.unpickle_device: where unpickled objects are made, and pickles of devices that are not there."""

import asyncio
import pickle
import threading

import pytest

import usmpy

HOST = usmpy.Device("host")


@pytest.fixture
def queue():
    return usmpy.Queue(HOST)


@pytest.fixture
def data():
    """The pickle of an array of a device that this process lacks."""
    return pickle.dumps(usmpy.arange(3, device=HOST), 2).replace(b"host:cpu:0", b"host:cpu:7")


def test_everything_goes_to_one_device(queue, data):
    program = usmpy.Program("kernel void f(global int *x) { x[get_global_id(0)] = 1; }", device=HOST)
    others = pickle.dumps([HOST, HOST.queue, usmpy.Queue(HOST, profiling=True), program])
    for where in (queue, queue.device, usmpy.empty(0, queue=queue)):
        with usmpy.unpickle_device(where):
            assert pickle.loads(data).queue == queue
            device, cached, own, again = pickle.loads(others)
        assert device == queue.device
        assert cached == queue
        assert own.profiling
        assert own.device.same_device(HOST)
        assert again.device.same_device(HOST)
    with usmpy.unpickle_device(None):
        assert pickle.loads(data).device == usmpy.Device()


@pytest.mark.parametrize("name", ["host:cpu:7", "host:cpu", "host"])
def test_by_filter_string(queue, data, name):
    with usmpy.unpickle_device({name: queue, "cuda": "host", "host:gpu": "host"}):
        assert pickle.loads(data).queue == queue


def test_the_longest_name_counts_and_others_stay(queue, data):
    other = usmpy.Queue(HOST)
    with usmpy.unpickle_device({"host": other, "host:cpu:7": queue}):
        assert pickle.loads(data).queue == queue
        assert pickle.loads(data.replace(b"cpu:7", b"cpu:8")).queue == other
    part = HOST.create_sub_devices(1)[0]
    with usmpy.unpickle_device({"host:cpu:0": queue, "cuda": queue, "host:cpu:0.0@2": queue}):
        assert pickle.loads(pickle.dumps(part)) == part
    with usmpy.unpickle_device({}), pytest.raises(usmpy.DeviceNotFound):
        pickle.loads(data)


def test_blocks_are_nested_and_end(queue, data):
    outer, inner = usmpy.unpickle_device(queue), usmpy.unpickle_device({"host": "host"})
    for _ in range(2):
        with outer:
            with inner, outer, inner:
                assert pickle.loads(data).queue is HOST.queue
            assert pickle.loads(data).queue == queue
        with pytest.raises(usmpy.DeviceNotFound):
            pickle.loads(data)
    with pytest.raises(KeyError), outer:
        raise KeyError
    with pytest.raises(usmpy.DeviceNotFound):
        pickle.loads(data)


def test_threads_and_tasks_have_blocks_of_their_own(data):
    queues = [usmpy.Queue(HOST) for _ in range(4)]
    shared = [usmpy.unpickle_device(queue) for queue in queues]
    wrong = []

    def work(k):
        for _ in range(200):
            with shared[k]:
                if pickle.loads(data).queue != queues[k]:
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

    async def task(k):
        with shared[k]:
            await asyncio.sleep(0)
            assert pickle.loads(data).queue == queues[k]

    async def tasks():
        await asyncio.gather(*(task(k) for k in range(4)))

    asyncio.run(tasks())


def test_a_missing_device_is_named_with_those_that_are_there(data):
    message = r"'host:cpu:7', which this process does not have; it has (.*, )?host:cpu:0.*unpickle_device\("
    with pytest.raises(usmpy.DeviceNotFound, match=message) as caught:
        pickle.loads(data)
    assert caught.value.backend == "host"
    advice = str(caught.value).rpartition("with ")[2]
    with eval(advice):
        assert pickle.loads(data).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("where", "error", "match"),
    [
        (7, TypeError, "where is 7; None, a filter string"),
        ("host:cpu:7", usmpy.DeviceNotFound, "host:cpu:7"),
        ("nonsense", ValueError, "nonsense"),
        ({"host": "host:cpu:7"}, usmpy.DeviceNotFound, "host:cpu:7"),
        ({"host": 7}, TypeError, r"where\['host'\] is 7; None"),
        ({7: "host"}, TypeError, "the key 7"),
        ({"gpu:1": "host"}, ValueError, "the key 'gpu:1'; the filter_string"),
        ({"cuda:0": "host"}, ValueError, "the key 'cuda:0'"),
        ({"": "host"}, ValueError, "the key ''"),
    ],
)
def test_bad_arguments(where, error, match):
    with pytest.raises(error, match=match):
        usmpy.unpickle_device(where)
