"""Levels of loggers, by Kafka's names."""

import logging
from collections.abc import Iterator
from uuid import uuid4

import pytest

from trio_kafka.introspect.levels import (
    LEVELS,
    following,
    has_logger,
    logger_levels,
    set_level,
)


@pytest.fixture
def package() -> Iterator[str]:
    """A package that never logged, whose module `module` has; levels are put back."""
    root = logging.getLogger()
    level, name = root.level, f"levels{uuid4().hex}"
    logging.getLogger(f"{name}.sub.module")
    yield name
    root.setLevel(level)


def test_logger_without_a_level_has_the_level_of_its_parent(package: str) -> None:
    set_level("root", "ERROR")
    names = ["root", package, f"{package}.sub", f"{package}.sub.module"]

    def logged_levels() -> list[str]:
        levels = logger_levels()
        return [levels[name] for name in names]

    assert logged_levels() == ["ERROR"] * 4
    set_level(package, "DEBUG")
    assert logged_levels() == ["ERROR", "DEBUG", "DEBUG", "DEBUG"]
    set_level(f"{package}.sub.module", "WARN")
    assert logged_levels() == ["ERROR", "DEBUG", "DEBUG", "WARN"]
    set_level(package, None)
    assert logged_levels() == ["ERROR", "ERROR", "ERROR", "WARN"]


@pytest.mark.parametrize("level", LEVELS)
def test_logger_level_is_shown_as_set(package: str, level: str) -> None:
    set_level(package, level)

    assert logger_levels()[package] == level
    assert logging.getLogger(f"{package}.sub.module").getEffectiveLevel() == LEVELS[level]


@pytest.mark.parametrize(
    ("number", "level"), [(1, "TRACE"), (11, "INFO"), (29, "WARN"), (50, "FATAL"), (99, "FATAL")]
)
def test_numeric_logger_level_is_shown_by_the_level_that_passes(
    package: str, number: int, level: str
) -> None:
    logging.getLogger(package).setLevel(number)

    assert logger_levels()[package] == level


def test_only_existing_loggers_are_found_and_unknown_levels_are_refused(package: str) -> None:
    assert has_logger("root")
    assert has_logger(package)
    assert has_logger(f"{package}.sub.module")
    assert not has_logger(f"{package}.sub.other")
    with pytest.raises(KeyError):
        set_level(package, "LOUD")


def test_follower_of_levels_is_called_for_each_change_during_its_block(package: str) -> None:
    logged_levels: list[str] = []
    with following(lambda: logged_levels.append(logger_levels()[package])):
        set_level(package, "DEBUG")
        set_level(package, "WARN")
    set_level(package, None)

    assert logged_levels == ["DEBUG", "WARN"]
