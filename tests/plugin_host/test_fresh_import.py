"""An import in a thread: what comes too late is undone."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.packages import WAIT_AT_IMPORT, Gate
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.fresh_import import FreshImport
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.testing.planes import until
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

SOURCE = """
from contextlib import asynccontextmanager
from trio_kafka.plugin import plugin

{more}

@plugin("late")
@asynccontextmanager
async def late(context):
    yield
"""


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    """A package that is imported in a thread; its source is of the test's making."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "late_plugin.py").write_text(SOURCE.format(more=""))
    yield Origin(name="late", source="entry point late", module="late_plugin", attribute="late")
    sys.modules.pop("late_plugin", None)


def private_names() -> list[str]:
    return [name for name in sys.modules if name.startswith("late_plugin@")]


async def test_a_fresh_import_returns_the_plugins_and_their_private_modules(
    autojump_clock: MockClock, origin: Origin
) -> None:
    importing = FreshImport(origin)

    [plugin], imported = await importing.run(simulated_world(), 1.0)

    assert plugin.name == "late"
    assert imported is not None
    assert importing.ended
    assert imported.owns(plugin.module)
    imported.release()
    assert private_names() == []


async def test_an_exception_of_an_import_is_raised_and_leaves_no_modules(
    autojump_clock: MockClock, origin: Origin, tmp_path: Path
) -> None:
    (tmp_path / "late_plugin.py").write_text(SOURCE.format(more="raise SystemExit('no')"))
    importing = FreshImport(origin)

    with pytest.raises(SystemExit, match="no"):
        await importing.run(simulated_world(), 1.0)

    assert importing.ended
    assert private_names() == []


@pytest.mark.parametrize("cancelled", [False, True])
async def test_an_import_that_times_out_is_undone_when_the_import_ends(
    origin: Origin, tmp_path: Path, cancelled: bool
) -> None:
    (tmp_path / "late_plugin.py").write_text(SOURCE.format(more=WAIT_AT_IMPORT))
    importing = FreshImport(origin)
    world = RealWorld(SkippingClock())

    with Gate() as gate:
        if cancelled:
            with trio.move_on_after(0.01):
                await importing.run(world, 20.0)
        else:
            with pytest.raises(PluginError, match=r"its import took longer than 0\.01 s"):
                await importing.run(world, 0.01)
        assert not importing.ended

        gate.open.set()
        await until(lambda: importing.ended)

    assert private_names() == []
