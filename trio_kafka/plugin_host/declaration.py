"""Declaration of a plugin: `@plugin(...)` turns an async context manager into a `Plugin`."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, Unpack

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.plugins import HOST_SETTINGS, POLICIES, PRINCIPAL
from trio_kafka.config.setting import declared_settings

if TYPE_CHECKING:
    from trio_kafka.plugin_host.context import PluginContext

S = TypeVar("S")
Run = Callable[[Any], AbstractAsyncContextManager[None]]
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


@frozen(kw_only=True)
class NoSettings:
    """Settings class of a plugin that has no settings of its own."""


def _key_of(api: Any) -> int:
    if isinstance(api, int):
        return api
    from trio_kafka.protocol.schema import message_of  # noqa: PLC0415 - most plugins declare no versions

    key = message_of(api).key
    if key is None:
        raise TypeError(f"{api!r} is not a request class")
    return key


def _by_key(apis: Mapping[object, tuple[int, int]] | None) -> Mapping[int, tuple[int, int]]:
    return {_key_of(api): versions for api, versions in (apis or {}).items()}


@frozen(kw_only=True)
class Plugin:
    """Declared plugin; the broker's settings override order, policy, deadline, limit and enabled.

    settings: attrs class whose fields are made by `string`, `integer`, ...
    run: returns the async context manager that spans the plugin's lifetime.
    doc: docstring of `run`.
    order: plugins start in ascending order and stop in descending order; their interceptors follow
    it too.
    deadline_s: longest time that one request is in flight in the plugin (None: no limit).
    limit: most waiting requests in flight at once (None: no limit).
    apis: versions of Kafka's APIs that the plugin understands, by key.
    enabled: runs unless a setting says otherwise.
    closed: requests that it intercepts must not pass without it; they are rejected after it failed.
    beside: a reload starts the new generation while the old one still runs. False: only after the
    old one ended, for resources that cannot exist twice.
    module: module of the declaration; a reload imports it again.
    """

    name: str
    settings: type[Any] = NoSettings
    run: Run
    doc: str = ""
    order: int = 100
    policy: str = "isolate"
    deadline_s: float | None = None
    limit: int | None = None
    apis: Mapping[int, tuple[int, int]] = field(factory=dict, converter=_by_key)
    enabled: bool = True
    closed: bool = False
    beside: bool = True
    module: str = ""


class PluginOptions(TypedDict, total=False):
    """Options of `@plugin`; see `Plugin`. apis: by key or request class."""

    order: int
    policy: str
    deadline_s: float | None
    limit: int | None
    apis: Mapping[Any, tuple[int, int]] | None
    enabled: bool
    closed: bool
    beside: bool


def plugin(
    name: str,
    *,
    settings: type[S] | type[NoSettings] = NoSettings,
    **options: Unpack[PluginOptions],
) -> "Callable[[Callable[[PluginContext[S]], AbstractAsyncContextManager[None]]], Plugin]":
    """Declare the decorated async context manager as a plugin; see `Plugin`.

    Raises TypeError for an invalid declaration.
    """
    if not _NAME.fullmatch(name):
        raise TypeError(
            f"plugin {name!r}: want a name of a-z, 0-9, _ and - that begins with a letter"
        )
    policy = options.get("policy", "isolate")
    if policy not in POLICIES:
        raise TypeError(
            f"plugin {name}: policy {policy!r} is unknown, want one of {', '.join(POLICIES)}"
        )
    if taken := HOST_SETTINGS.keys() & declared_settings(settings).keys() - {PRINCIPAL}:
        raise TypeError(
            f"plugin {name}: {', '.join(sorted(taken))} is a setting of every plugin, choose "
            "another name"
        )

    def declare(run: "Callable[[PluginContext[S]], AbstractAsyncContextManager[None]]") -> Plugin:
        module, doc = run.__module__, getdoc(run) or ""
        return Plugin(name=name, settings=settings, run=run, doc=doc, module=module, **options)

    return declare
