from trio_kafka.plugin_host.dependencies import Reporters


def test_removing_a_reporter_removes_only_the_identical_object() -> None:
    reporters, first, second = Reporters(), [1], [1]
    reporters.swap((), (first,))
    reporters.swap((), (second,))

    reporters.swap((first,), ())
    reporters.swap((first,), ())

    assert list(reporters) == [[1]]
    assert next(iter(reporters)) is second


def test_reporters_may_be_removed_during_iteration() -> None:
    reporters = Reporters()
    for reporter in ([], []):
        reporters.swap((), (reporter,))

    for reporter in reporters:
        reporters.swap((reporter,), ())

    assert list(reporters) == []
