def test_barrier_of_an_idle_queue(queue):
    event = queue.barrier()
    event.wait()
    assert event.done
