from trio_kafka.log.disk_latency import CLOSE_S, SLOW_FOR_S, SUSPECT_FOR_S, DiskLatency


def test_a_directory_is_slow_for_a_while_after_a_long_append():
    now = [10.0]
    latency = DiskLatency(lambda: now[0])
    assert not latency.slow

    latency.took_long(10.0, 10.02)
    assert latency.slow
    now[0] += SLOW_FOR_S + 0.03

    assert not latency.slow
    assert latency.long_appends == 1
    assert round(latency.longest_s, 3) == 0.02


def test_directory_is_calm_again_when_fast_and_nothing_is_queued():
    now = [10.0]
    latency = DiskLatency(lambda: now[0])
    assert latency.calm

    latency.took_long(10.0, 10.02)
    latency.queues = 1
    latency.calm_down()
    assert not latency.calm
    now[0] += SLOW_FOR_S + 0.03
    latency.calm_down()
    assert not latency.calm
    latency.queues = 0
    latency.calm_down()

    assert latency.calm


def test_a_slow_directory_is_not_calm():
    latency = DiskLatency(lambda: 10.0)
    latency.took_long(9.9, 10.0)

    latency.calm_down()

    assert not latency.calm


def test_long_append_without_disk_wait_makes_a_directory_suspect_and_not_slow():
    now, waits = [10.0], [7]
    latency = DiskLatency(lambda: now[0], lambda: waits[0])

    latency.held_up(9.9, 10.0)
    assert latency.suspect
    assert latency.calm
    latency.watch()
    latency.held_up(9.9, 10.0)  # and has not waited

    assert latency.calm
    assert not latency.long_appends


def test_a_suspect_directory_whose_append_waited_is_slow():
    now, waits = [10.0], [7]
    latency = DiskLatency(lambda: now[0], lambda: waits[0])
    latency.held_up(9.9, 10.0)
    latency.watch()
    waits[0] += 1

    latency.held_up(9.9, 10.0)

    assert latency.slow
    assert not latency.calm


def test_suspicion_of_a_directory_ends_after_its_time_and_forgets_earlier_waits():
    now, waits = [10.0], [7]
    latency = DiskLatency(lambda: now[0], lambda: waits[0])
    latency.held_up(9.9, 10.0)
    latency.watch()
    now[0] += SUSPECT_FOR_S
    latency.watch()
    assert not latency.suspect
    waits[0] += 1

    latency.held_up(20.0, 20.1)

    assert latency.calm
    assert latency.suspect


def test_long_append_counts_as_slow_if_disk_waits_are_not_measured():
    latency = DiskLatency(lambda: 10.0)

    latency.held_up(9.9, 10.0)

    assert not latency.calm


def test_disk_waits_are_read_once_for_appends_close_in_time() -> None:
    now, times = [10.0], []

    def waits() -> int:
        times.append(now[0])
        return 7

    latency = DiskLatency(lambda: now[0], waits)
    latency.held_up(9.9, 10.0)
    for pause in (0.0, CLOSE_S / 2, CLOSE_S / 2, 2 * CLOSE_S):
        now[0] += pause
        latency.watch()

    assert times == [10.0, now[0]]
