"""Interceptors of clients (`interceptor.classes`): objects, or classes by dotted name.

An interceptor that raises is logged and counted, and the client goes on without what it would have
said, as in Kafka (KIP-42).
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from trio_kafka.attributes import define
from trio_kafka.clients.metrics.measures import Total
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.log import get_logger

I = TypeVar("I")  # noqa: E741 - of interceptors
T = TypeVar("T")
SETTING: Final = "interceptor.classes"
_logger: Final = get_logger(__name__)


def split_interceptors(
    config: Mapping[str, object], kind: type[I]
) -> tuple[Mapping[str, object], tuple[I, ...]]:
    """Return the settings, with names in the place of objects, and the interceptors.

    kind: class that each of them is made of. Raises ConfigError for a name that cannot be imported,
    and for another class.
    """
    value = config.get(SETTING)
    if not value:
        return config, ()
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        items = [items]
    interceptors = tuple(_interceptor(item, kind) for item in items)
    names = [f"{type(item).__module__}.{type(item).__qualname__}" for item in interceptors]
    return {**config, SETTING: names}, interceptors


def _interceptor(item: object, kind: type[I]) -> I:
    if isinstance(item, str):
        item = _class(item.strip())
    if isinstance(item, type):
        item = item()
    if not isinstance(item, kind):
        reason = f"a {type(item).__name__}: want a {kind.__name__}, or the dotted name of one"
        raise ConfigError(SETTING, reason)
    return item


def _class(name: str) -> object:
    """Return what a dotted name names. Raises ConfigError."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        reason = f"{name!r} cannot be imported: want package.module.Class ({error})"
        raise ConfigError(SETTING, reason) from error


@define(eq=False)
class InterceptorChain(Generic[I]):
    """Interceptors in their order. errors: counts exceptions of theirs."""

    interceptors: Sequence[I]
    errors: Total

    def passed(self, value: T, call: Callable[[I, T], T]) -> T:
        """Return a value after all interceptors; one that raises is left out."""
        for interceptor in self.interceptors:
            try:
                value = call(interceptor, value)
            except Exception as error:  # noqa: BLE001 - logged and counted
                self._failed(interceptor, error)
        return value

    def tell(self, call: Callable[[I], object]) -> None:
        """Call all interceptors."""
        for interceptor in self.interceptors:
            try:
                call(interceptor)
            except Exception as error:  # noqa: BLE001 - logged and counted
                self._failed(interceptor, error)

    def _failed(self, interceptor: I, error: Exception) -> None:
        self.errors.value += 1
        name = type(interceptor).__qualname__
        _logger.error("interceptor failed", interceptor=name, exc_info=error)
