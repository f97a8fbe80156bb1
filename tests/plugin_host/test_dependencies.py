from trio_kafka.plugin_host.dependencies import Reporters


def test_a_reporter_is_there_until_it_is_removed() -> None:
    reporters, one, other = Reporters(), [1], [1]
    reporters.add(one)
    reporters.add(other)

    reporters.remove(one)
    reporters.remove(one)

    assert list(reporters) == [[1]]
    assert next(iter(reporters)) is other


def test_reporters_may_go_while_they_are_told() -> None:
    reporters = Reporters()
    for one in ([], []):
        reporters.add(one)

    for one in reporters:
        reporters.remove(one)

    assert list(reporters) == []
