"""Python in a thread beside the loop's."""

import sys

import pytest

from trio_kafka.world.real.background_thread import SHORT_S, yielding


def test_switch_interval_is_short_until_the_last_yielding_block_ends() -> None:
    usual = sys.getswitchinterval()

    with yielding():
        assert sys.getswitchinterval() == pytest.approx(SHORT_S, rel=0.05)
        with pytest.raises(ValueError, match="no"), yielding():
            raise ValueError("no")
        assert sys.getswitchinterval() == pytest.approx(SHORT_S, rel=0.05)

    assert sys.getswitchinterval() == pytest.approx(usual)


def test_shorter_switch_interval_is_kept() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_S / 2)
    try:
        with yielding():
            assert sys.getswitchinterval() == pytest.approx(SHORT_S / 2, rel=0.05)
        assert sys.getswitchinterval() == pytest.approx(SHORT_S / 2, rel=0.05)
    finally:
        sys.setswitchinterval(usual)
