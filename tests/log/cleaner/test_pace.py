from trio_kafka.log.cleaner.job import Pause
from trio_kafka.log.cleaner.pace import Pace


def test_a_pause_is_due_after_half_a_millisecond_of_work() -> None:
    pace = Pace()

    assert not pace.due(300)
    assert not pace.due(199)
    assert pace.due(1)


def test_pause_reports_the_bytes_moved_since_the_last_pause() -> None:
    pace = Pace(offset=7)
    pace.moved += 10
    pace.due(600)

    assert pace.pause() == Pause(10, 7, True)
    assert not pace.due(499)
    pace.indexing = False
    assert pace.pause() == Pause(0, 7, False)
