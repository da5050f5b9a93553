"""Ctrl-C ends every call that waits, while the work is pending."""

import numpy as np
import pytest
from interrupts import CALLS, Scene, interrupt


def check(device, call):
    with Scene(device) as scene:
        assert interrupt(lambda: call(scene)) is not None
        assert not scene.event.done


@pytest.mark.only_on("host-task")
@pytest.mark.parametrize("name", CALLS["host-task"])
def test_waits(device, name):
    check(device, CALLS["host-task"][name])


@pytest.mark.only_on("host-accessible")
@pytest.mark.parametrize("name", CALLS["host-accessible"])
def test_waits_for_memory_of_the_host(device, name):
    check(device, CALLS["host-accessible"][name])


@pytest.mark.only_on("shares")
@pytest.mark.parametrize("name", CALLS["shares"])
def test_waits_of_shares(device, name):
    check(device, CALLS["shares"][name])


@pytest.mark.only_on("streams")
@pytest.mark.parametrize("name", CALLS["streams"])
def test_waits_of_streams(device, name):
    check(device, CALLS["streams"][name])


@pytest.mark.only_on("host-accessible")
def test_an_interrupt_is_raised_once(device):
    """That of the buffer protocol is kept until it is known whether the consumer dropped it."""
    for consumer in (memoryview, np.asarray):
        with Scene(device) as scene:
            assert interrupt(lambda scene=scene, consumer=consumer: consumer(scene.x)) is not None
            with pytest.raises(TimeoutError):
                scene.x.wait(0.03)
        assert np.asarray(scene.x).tolist() == [1] * 8
