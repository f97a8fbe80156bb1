"""What a plugin may import is there, under the names that it says."""

import trio_kafka.plugin as plugin


def test_everything_that_is_promised_is_there() -> None:
    for name in plugin.__all__:
        assert hasattr(plugin, name)
    assert len(set(plugin.__all__)) == len(plugin.__all__)
