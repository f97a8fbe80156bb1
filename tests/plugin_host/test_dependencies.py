from trio_kafka.plugin_host.dependencies import Reporters


def test_a_reporter_is_there_until_it_is_removed() -> None:
    reporters, one, other = Reporters(), [1], [1]
    reporters.swap((), (one,))
    reporters.swap((), (other,))

    reporters.swap((one,), ())
    reporters.swap((one,), ())

    assert list(reporters) == [[1]]
    assert next(iter(reporters)) is other


def test_reporters_may_go_while_they_are_told() -> None:
    reporters = Reporters()
    for one in ([], []):
        reporters.swap((), (one,))

    for one in reporters:
        reporters.swap((one,), ())

    assert list(reporters) == []
