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
