"""Switches of the environment."""

import pytest

from trio_kafka.world.switches import is_off


@pytest.mark.parametrize("text", ["off", "no", "0", "False", " OFF "])
def test_switch_is_off_for_any_common_word_for_no(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SWITCH", text)

    assert is_off("A_SWITCH")


@pytest.mark.parametrize("text", [None, "", "on", "1", "yes"])
def test_switch_is_on_without_a_value_and_for_every_other_word(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("A_SWITCH", raising=False)
    if text is not None:
        monkeypatch.setenv("A_SWITCH", text)

    assert not is_off("A_SWITCH")
