from trio_kafka.log.pace import SLOW_FOR_S, Pace


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
