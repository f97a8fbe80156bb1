from trio_kafka.log.disk_latency import CLOSE_S, SLOW_FOR_S, SUSPECT_FOR_S, Pace


def test_a_directory_is_slow_for_a_while_after_a_long_append():
    now = [10.0]
    pace = Pace(lambda: now[0])
    assert not pace.slow

    pace.took_long(10.0, 10.02)
    assert pace.slow
    now[0] += SLOW_FOR_S + 0.03

    assert not pace.slow
    assert pace.long_appends == 1
    assert round(pace.longest_s, 3) == 0.02


def test_a_directory_is_calm_again_when_it_is_fast_and_nothing_is_queued():
    now = [10.0]
    pace = Pace(lambda: now[0])
    assert pace.calm

    pace.took_long(10.0, 10.02)
    pace.queues = 1
    pace.calm_down()
    assert not pace.calm
    now[0] += SLOW_FOR_S + 0.03
    pace.calm_down()
    assert not pace.calm
    pace.queues = 0
    pace.calm_down()

    assert pace.calm


def test_a_slow_directory_is_not_calm():
    pace = Pace(lambda: 10.0)
    pace.took_long(9.9, 10.0)

    pace.calm_down()

    assert not pace.calm


def test_an_append_that_only_lost_the_processor_makes_a_directory_suspect_not_slow():
    now, waits = [10.0], [7]
    pace = Pace(lambda: now[0], lambda: waits[0])

    pace.held_up(9.9, 10.0)
    assert pace.suspect
    assert pace.calm
    pace.watch()
    pace.held_up(9.9, 10.0)  # and has not waited

    assert pace.calm
    assert not pace.long_appends


def test_a_suspect_directory_whose_append_waited_is_slow():
    now, waits = [10.0], [7]
    pace = Pace(lambda: now[0], lambda: waits[0])
    pace.held_up(9.9, 10.0)
    pace.watch()
    waits[0] += 1

    pace.held_up(9.9, 10.0)

    assert pace.slow
    assert not pace.calm


def test_a_suspicion_ends_and_what_was_counted_then_is_forgotten():
    now, waits = [10.0], [7]
    pace = Pace(lambda: now[0], lambda: waits[0])
    pace.held_up(9.9, 10.0)
    pace.watch()
    now[0] += SUSPECT_FOR_S
    pace.watch()
    assert not pace.suspect
    waits[0] += 1

    pace.held_up(20.0, 20.1)

    assert pace.calm
    assert pace.suspect


def test_where_time_only_passes_by_waiting_a_long_append_has_waited():
    pace = Pace(lambda: 10.0)

    pace.held_up(9.9, 10.0)

    assert not pace.calm


def test_waits_are_counted_once_for_appends_that_come_close() -> None:
    now, asked = [10.0], []

    def waits() -> int:
        asked.append(now[0])
        return 7

    pace = Pace(lambda: now[0], waits)
    pace.held_up(9.9, 10.0)
    for pause in (0.0, CLOSE_S / 2, CLOSE_S / 2, 2 * CLOSE_S):
        now[0] += pause
        pace.watch()

    assert asked == [10.0, now[0]]
