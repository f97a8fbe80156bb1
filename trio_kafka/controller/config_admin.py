"""Changes of settings as clients request them: checked here, then decided by the controller.

Errors of the request itself (a resource named twice, a missing value, another broker's settings)
are found for each resource before anything is decided. Log levels belong to this process: they
change here, at once, and are not stored. Source: KIP-133, KIP-339, KIP-412; Apache Kafka 4.4.0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.controller.configs import MOST_SETTINGS, ConfigChange, ConfigChanges, Operation
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.levels import LEVELS, ROOT, has_logger, set_level
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.image import ConfigResource, ConfigResourceType
from trio_kafka.model import NodeId
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.principal import ANONYMOUS

_logger: Final = get_logger(__name__)


class SettingValue(Protocol):
    """Name and value of a setting in a request."""

    name: str
    value: str | None


@frozen(kw_only=True)
class ResourceChanges:
    """Changes of one resource, whose type is any number from the request.

    operations: one for each of `settings`; None if the settings replace all others.
    """

    resource: ConfigResource
    settings: Sequence[SettingValue]
    operations: Sequence[int] | None = None


@define
class _CheckedChanges:
    """Changes of one request: all resources in order, those to decide on, and errors."""

    resources: list[ConfigResource] = field(factory=list)
    valid: dict[ConfigResource, ConfigChanges] = field(factory=dict)
    errors: dict[ConfigResource, KafkaError | None] = field(factory=dict)


Authorize = Callable[[int, str], None]


def _allow(kind: int, name: str) -> None:
    """Allow every change."""


class ConfigAdmin:
    """Changes of settings through one broker; it does not change those of other brokers.

    timeout_s: limit for a change to take effect; requests have none.
    prepare: context that is entered with all settings that this broker would have, before the
        decision, and left when they are effective or rejected. One at a time. It raises KafkaError
        if the broker cannot apply them.
    """

    def __init__(
        self,
        broker: NodeId,
        controller: Controller,
        *,
        timeout_s: float,
        prepare: Callable[[Mapping[str, str]], AbstractAsyncContextManager[None]] | None = None,
    ) -> None:
        self._broker = broker
        self._controller = controller
        self._timeout_s = timeout_s
        self._prepare = prepare
        self._preparing = trio.Lock()

    async def alter(
        self,
        changes: Iterable[ResourceChanges],
        *,
        validate_only: bool = False,
        principal: str = ANONYMOUS,
        authorize: Authorize = _allow,
    ) -> list[KafkaError | None]:
        """Change each resource by itself; return the errors, position by position, in slices.

        principal: passed to policies. authorize: called with type and name of each resource whose
        changes are valid; raises KafkaError where the client may not change it.
        """
        deadline = trio.current_time() + self._timeout_s
        checked = await in_steps(
            self._checked(changes, authorize=authorize, validate_only=validate_only)
        )
        async with AsyncExitStack() as preparation:
            await self._get_ready(preparation, checked, deadline)
            checked.errors |= await self._controller.alter_configs(
                checked.valid, deadline=deadline, validate_only=validate_only, principal=principal
            )
        return await in_steps(_errors_in_order(checked))

    def _checked(
        self, changes: Iterable[ResourceChanges], *, authorize: Authorize, validate_only: bool
    ) -> Steps[_CheckedChanges]:
        """Check each change by itself; change log levels."""
        requested: list[ResourceChanges] = []
        counts: Counter[ConfigResource] = Counter()
        for change in changes:
            requested.append(change)
            counts[change.resource] += 1
            if not len(requested) % _SLICE:
                yield
        checked = _CheckedChanges()
        size = 0
        for change in requested:
            resource = kind, name = change.resource
            checked.resources.append(resource)
            try:
                if counts[resource] > 1:
                    raise _invalid(f"{name!r} of type {kind} is named twice")
                self._check(change)
                authorize(kind, name)
                if change.operations is None:
                    checked.valid[resource] = {item.name: item.value for item in change.settings}
                elif kind == ConfigResourceType.BROKER_LOGGER:
                    _alter_loggers(
                        _config_changes(change.settings, change.operations),
                        validate_only=validate_only,
                    )
                else:
                    checked.valid[resource] = _config_changes(change.settings, change.operations)
            except KafkaError as error:
                checked.errors[resource] = error.as_value()
            size += 1 + len(change.settings)
            if size >= _SLICE:
                size = 0
                yield
        return checked

    async def _get_ready(
        self, preparation: AsyncExitStack, checked: _CheckedChanges, deadline: float
    ) -> None:
        """Prepare for a change of this broker's own settings; if that fails, it gets an error."""
        broker: ConfigResource = (ConfigResourceType.BROKER, str(self._broker))
        if self._prepare is None or broker not in checked.valid:
            return
        failure = KafkaError(
            ErrorCode.REQUEST_TIMED_OUT, "timed out while another change was being prepared"
        )
        with trio.move_on_at(deadline):
            try:
                await preparation.enter_async_context(self._preparing)
                settings = self._controller.configs_after(broker, checked.valid[broker])
                await preparation.enter_async_context(self._prepare(settings))
            except KafkaError as error:
                failure = error.as_value()
            else:
                return
        del checked.valid[broker]
        checked.errors[broker] = failure

    def _check(self, change: ResourceChanges) -> None:
        (kind, name), settings = change.resource, change.settings
        if len(settings) > MOST_SETTINGS:
            raise _invalid(
                f"{len(settings)} settings: expected at most {MOST_SETTINGS} of one resource"
            )
        if len({setting.name for setting in settings}) < len(settings):
            raise _invalid("a setting is named twice")
        operations = change.operations or [Operation.SET] * len(settings)
        without_value = [
            setting.name
            for setting, operation in zip(settings, operations, strict=True)
            if setting.value is None and operation != Operation.DELETE
        ]
        if without_value:
            raise _invalid(f"settings without a value: {', '.join(without_value)}")
        is_logger = kind == ConfigResourceType.BROKER_LOGGER and change.operations is not None
        if is_logger or (kind == ConfigResourceType.BROKER and name):
            check_broker(name, self._broker)
        elif kind not in _SERVED:
            raise _invalid(f"resource type {kind} has no settings that this API can change")


def check_broker(name: str, broker: NodeId) -> None:
    """Raise KafkaError(INVALID_REQUEST) unless `name` is the id of this broker."""
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS):
        raise _invalid(f"broker id {name!r}: expected a number")
    if int(name) != broker:
        raise _invalid(f"broker id {name!r}: expected {broker}, the id of this broker")


_SLICE: Final = 200  # resources and settings in one step, of about 5 µs each
_SERVED: Final = (
    ConfigResourceType.TOPIC,
    ConfigResourceType.BROKER,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.GROUP,
)
_DIGITS: Final = 10  # of an int32
_OPERATIONS: Final = frozenset(Operation)


def _errors_in_order(checked: _CheckedChanges) -> Steps[list[KafkaError | None]]:
    """Return the error of each resource, in the order of the request."""
    errors: list[KafkaError | None] = []
    for resource in checked.resources:
        errors.append(checked.errors.get(resource))
        if not len(errors) % _SLICE:
            yield
    return errors


def _config_changes(
    settings: Sequence[SettingValue], operations: Sequence[int]
) -> list[ConfigChange]:
    """Return the changes of a resource. Raises KafkaError for an unknown operation."""
    unknown = [number for number in operations if number not in _OPERATIONS]
    if unknown:
        raise _invalid(f"unknown operation {unknown[0]}: expected 0, 1, 2 or 3")
    return [
        ConfigChange(setting.name, Operation(operation), setting.value)
        for setting, operation in zip(settings, operations, strict=True)
    ]


def _alter_loggers(changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
    """Change all log levels or none. Raises KafkaError."""
    for change in changes:
        _check_logger(change)
    for change in changes if not validate_only else ():
        level = change.value if change.operation is Operation.SET else None
        set_level(change.name, level)
        _logger.warning("log level changed", changed=change.name, to=level or "")


def _check_logger(change: ConfigChange) -> None:
    if change.operation not in (Operation.SET, Operation.DELETE):
        raise _invalid(f"operation {change.operation.name} on a logger: expected SET or DELETE")
    if not has_logger(change.name):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"no logger {change.name}")
    if change.operation is Operation.SET and change.value not in LEVELS:
        reason = f"level {change.value!r} of {change.name}: expected one of {', '.join(LEVELS)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, reason)
    if change.operation is Operation.DELETE and change.name == ROOT:
        raise _invalid(f"the level of {ROOT} cannot be deleted: set another one")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)
