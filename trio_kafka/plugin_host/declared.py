"""What a plugin's author writes: `@plugin(...)` over an async context manager makes a `Plugin`."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import Factory

from trio_kafka.attributes import frozen
from trio_kafka.config.plugins import HOST_SETTINGS, POLICIES
from trio_kafka.config.setting import declared_settings

if TYPE_CHECKING:
    from trio_kafka.plugin_host.context import PluginContext

S = TypeVar("S")
Run = Callable[[Any], AbstractAsyncContextManager[None]]
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


@frozen(kw_only=True)
class NoSettings:
    """Of a plugin that has none of its own."""


@frozen(kw_only=True)
class Plugin:
    """A plugin as it is declared; the broker's settings go over what it says of itself.

    settings: an attrs class, its fields made by `string`, `integer`, ... run: gives the async
        context manager that is its life. doc: the first line of what is said of it.
    order: starts before those of higher order, and stops after them; so do its interceptors.
    deadline_s: for one request in its hands (None: none). limit: requests in its hands at once, of
        those that wait (None: any number).
    apis: by key, the versions of Kafka's APIs that it understands.
    enabled: whether it runs where no setting says so.
    closed: what it intercepts must not pass without it: while it has failed, those requests fail.
    beside: a reload starts the new generation beside the old one; otherwise after it, for what
        cannot be there twice.
    module: that has it, and is imported again by a reload.
    """

    name: str
    settings: type[Any] = NoSettings
    run: Run
    doc: str = ""
    order: int = 100
    policy: str = "isolate"
    deadline_s: float | None = None
    limit: int | None = None
    apis: Mapping[int, tuple[int, int]] = Factory(dict)
    enabled: bool = True
    closed: bool = False
    beside: bool = True
    module: str = ""


def plugin(
    name: str,
    *,
    settings: type[S] | type[NoSettings] = NoSettings,
    order: int = 100,
    policy: str = "isolate",
    deadline_s: float | None = None,
    limit: int | None = None,
    apis: Mapping[Any, tuple[int, int]] | None = None,
    enabled: bool = True,
    closed: bool = False,
    beside: bool = True,
) -> "Callable[[Callable[[PluginContext[S]], AbstractAsyncContextManager[None]]], Plugin]":
    """Make the async context manager below a plugin; see `Plugin`.

    apis: by key or request class. Raises TypeError for what cannot be.
    """
    if not _NAME.fullmatch(name):
        raise TypeError(f"plugin {name!r}: want a name of a-z, 0-9, _ and -, a letter first")
    if policy not in POLICIES:
        raise TypeError(f"plugin {name}: policy {policy!r} is not one of {', '.join(POLICIES)}")
    if taken := HOST_SETTINGS.keys() & declared_settings(settings).keys():
        names = ", ".join(sorted(taken))
        raise TypeError(f"plugin {name}: every plugin has the setting {names}: choose another name")

    def declare(run: "Callable[[PluginContext[S]], AbstractAsyncContextManager[None]]") -> Plugin:
        return Plugin(
            name=name,
            settings=settings,
            run=run,
            doc=getdoc(run) or "",
            order=order,
            policy=policy,
            deadline_s=deadline_s,
            limit=limit,
            apis={_key_of(api): versions for api, versions in (apis or {}).items()},
            enabled=enabled,
            closed=closed,
            beside=beside,
            module=run.__module__,
        )

    return declare


def _key_of(api: Any) -> int:
    if isinstance(api, int):
        return api
    from trio_kafka.protocol.schema import message_of  # noqa: PLC0415 - most declare no versions

    key = message_of(api).key
    if key is None:
        raise TypeError(f"{api!r} is not a request class")
    return key
