"""The table of the C API with hostile arguments: each call raises, or returns a result."""

import contextlib
import ctypes

import c_api
from fuzz_settings import examples
from hypothesis import given
from hypothesis import strategies as st

import usmpy

PLAIN = (BufferError, TypeError, ValueError, OverflowError, MemoryError, usmpy.UsmError)
ODD = [0, 1, 2, -1, 3, 65, 2**31, 2**62, 2**63 - 1, -(2**63)]
lengths = st.lists(st.one_of(st.integers(0, 5), st.sampled_from(ODD)), max_size=5)


def test_hostile_arguments():
    api = c_api.table()
    queue = usmpy.Queue("host")
    array = usmpy.arange(6, dtype="int32", queue=queue)
    # ctypes' word for a NULL without an exception, which no function may return, is SystemError.
    things = [queue, array, queue.device, None, 3, "text", usmpy.int32, [array], array.queue.barrier()]
    thing = st.sampled_from(things)

    def empty(draw):
        shape = draw(lengths)
        ndim = draw(st.one_of(st.just(len(shape)), st.sampled_from([-1, 65, 2**31 - 1])))
        dtype = c_api.DType(
            draw(st.integers(0, 18)), draw(st.sampled_from([1, 4, 8, 16, 32, 64, 128, 0, 255]))
        )
        where = (ctypes.c_int64 * 80)(*shape, *[1] * (80 - len(shape)))
        if len([n for n in shape if n > 2**20]) == 1:  # it would be allocated
            return None
        given = draw(st.sampled_from([None, *map(id, things)]))
        x = api.array_empty(ndim, where, dtype, draw(st.integers(-1, 4)), given)
        assert isinstance(x, usmpy.USMArray)
        assert x.shape == tuple(shape)
        return x

    def facts(draw):
        info = c_api.Info()
        x = draw(thing)
        assert api.array_check(x) == isinstance(x, usmpy.USMArray)
        assert api.queue_check(x) == isinstance(x, usmpy.Queue)
        assert api.event_check(x) == isinstance(x, usmpy.Event)
        if api.array_info(x, ctypes.byref(info)) == 0:
            assert info.size == x.size

    def access(draw):
        pairs = draw(st.lists(st.tuples(thing, st.integers(-1, 5)), max_size=3))
        entries, n = c_api.accesses(*(c_api.Access(x, mode) for x, mode in pairs))
        to = draw(thing)
        if api.queue_begin(to, entries, n) == 0:
            assert api.queue_end(to, entries, n).done in (True, False)

    def waits(draw):
        x, seconds = draw(thing), draw(st.sampled_from([0.0, 1e-3, float("nan"), -0.0]))
        getattr(api, draw(st.sampled_from(["queue_wait", "event_wait"])))(x, seconds)
        api.array_wait(x, draw(st.integers(-1, 4)))

    def holds(draw):
        api.memory_release(api.memory_hold(draw(st.sampled_from([array, array[::2], array[6:]]))))
        api.array_queue(draw(thing))
        api.queue_backend(draw(thing))

    @examples(150)
    @given(st.data())
    def check(data):
        call = data.draw(st.sampled_from([empty, facts, access, waits, holds]))
        with contextlib.suppress(*PLAIN):
            call(data.draw)

    check()
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
