from trio_kafka.plugin_host.dependencies import Reporters


def test_removing_a_reporter_removes_only_the_identical_object() -> None:
    reporters, one, other = Reporters(), [1], [1]
    reporters.swap((), (one,))
    reporters.swap((), (other,))

    reporters.swap((one,), ())
    reporters.swap((one,), ())

    assert list(reporters) == [[1]]
    assert next(iter(reporters)) is other


def test_reporters_may_be_removed_during_iteration() -> None:
    reporters = Reporters()
    for one in ([], []):
        reporters.swap((), (one,))

    for one in reporters:
        reporters.swap((one,), ())

    assert list(reporters) == []
