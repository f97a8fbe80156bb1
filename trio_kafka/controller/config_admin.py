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

from trio_kafka.attributes import frozen
from trio_kafka.controller.configs import MOST_SETTINGS, ConfigChange, Operation
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.levels import LEVELS, ROOT, has_logger, set_level
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.image import ConfigResource, ConfigResourceType
from trio_kafka.model import NodeId
from trio_kafka.scheduling.chunked_work import Steps, in_slices
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.principal import ANONYMOUS

_logger: Final = get_logger(__name__)


class Wanted(Protocol):
    """One setting of a request."""

    name: str
    value: str | None


@frozen
class ResourceChanges:
    """Changes of one resource. kind: any number from the request.

    operations: one for each of `settings`; None if the settings replace all others.
    """

    kind: int
    name: str
    settings: Sequence[Wanted]
    operations: Sequence[int] | None = None


Whole = dict[ConfigResource, dict[str, str | None]]
Single = dict[ConfigResource, list[ConfigChange]]
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
        whole: Whole = {}
        single: Single = {}
        sort = self._sort(changes, whole, single, validate_only=validate_only, authorize=authorize)
        wanted, found = await in_steps(sort)
        decided: dict[ConfigResource, KafkaError | None] = {}
        async with AsyncExitStack() as ready:
            decided |= await self._get_ready(ready, whole, single, deadline)
            decided |= await self._controller.set_configs(
                whole, deadline=deadline, validate_only=validate_only, principal=principal
            )
            decided |= await self._controller.alter_configs(
                single, deadline=deadline, validate_only=validate_only, principal=principal
            )
        return await in_steps(_merged(wanted, found, decided))

    def _sort(
        self,
        changes: Iterable[ResourceChanges],
        whole: Whole,
        single: Single,
        *,
        validate_only: bool,
        authorize: Authorize,
    ) -> Steps[tuple[list[ConfigResource], list[KafkaError | None]]]:
        """Fill `whole` and `single` with the valid changes; change log levels.

        Returns the resources, and the error of each.
        """
        wanted: list[ResourceChanges] = []
        named: Counter[ConfigResource] = Counter()
        for some in in_slices(changes, _SLICE):
            wanted += some
            named.update((one.kind, one.name) for one in some)
            yield
        order: list[ConfigResource] = []
        found: list[KafkaError | None] = []
        size = 0
        for one in wanted:
            error = None
            at = (one.kind, one.name)
            order.append(at)
            try:
                if named[at] > 1:
                    raise _invalid(f"{one.name!r} of type {one.kind} is named twice")
                self._check(one)
                authorize(one.kind, one.name)
                if one.operations is None:
                    whole[at] = {setting.name: setting.value for setting in one.settings}
                elif one.kind == ConfigResourceType.BROKER_LOGGER:
                    _alter_loggers(_changes(one, one.operations), validate_only=validate_only)
                else:
                    single[at] = _changes(one, one.operations)
            except KafkaError as refusal:
                error = refusal.as_value()
            found.append(error)
            size += 1 + len(one.settings)
            if size >= _SLICE:
                size = 0
                yield
        return order, found

    async def _get_ready(
        self, ready: AsyncExitStack, whole: Whole, single: Single, deadline: float
    ) -> dict[ConfigResource, KafkaError | None]:
        """Prepare for a change of this broker's own settings.

        If that fails, the change is removed from the others and returned with the error.
        """
        me: ConfigResource = (ConfigResourceType.BROKER, str(self._broker))
        if self._prepare is None or not (me in whole or me in single):
            return {}
        refused = KafkaError(
            ErrorCode.REQUEST_TIMED_OUT, "timed out while another change was being prepared"
        )
        with trio.move_on_at(deadline):
            try:
                await ready.enter_async_context(self._preparing)
                wanted = whole[me] if me in whole else single[me]
                changed = self._controller.configs_after(me, wanted)
                await ready.enter_async_context(self._prepare(changed))
            except KafkaError as error:
                refused = error.as_value()
            else:
                return {}
        whole.pop(me, None)
        single.pop(me, None)
        return {me: refused}

    def _check(self, one: ResourceChanges) -> None:
        if len(one.settings) > MOST_SETTINGS:
            found = (
                f"{len(one.settings)} settings: expected at most {MOST_SETTINGS} of one resource"
            )
            raise _invalid(found)
        names = [setting.name for setting in one.settings]
        if len(set(names)) < len(names):
            raise _invalid("a setting is named twice")
        operations = one.operations or [Operation.SET] * len(names)
        missing = [
            setting.name
            for setting, operation in zip(one.settings, operations, strict=True)
            if setting.value is None and operation != Operation.DELETE
        ]
        if missing:
            raise _invalid(f"settings without a value: {', '.join(missing)}")
        loggers = one.kind == ConfigResourceType.BROKER_LOGGER and one.operations is not None
        if loggers or (one.kind == ConfigResourceType.BROKER and one.name):
            check_broker(one.name, self._broker)
        elif one.kind not in _SERVED:
            raise _invalid(f"resource type {one.kind} has no settings that this API can change")


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


def _merged(
    wanted: Sequence[ConfigResource],
    found: Sequence[KafkaError | None],
    decided: Mapping[ConfigResource, KafkaError | None],
) -> Steps[list[KafkaError | None]]:
    """Return the error of each resource, found before the decision or by it."""
    errors: list[KafkaError | None] = []
    for some in in_slices(zip(wanted, found, strict=True), _SLICE):
        errors += [error or decided.get(at) for at, error in some]
        yield
    return errors


def _changes(one: ResourceChanges, operations: Sequence[int]) -> list[ConfigChange]:
    """Return the changes of a resource. Raises KafkaError for an unknown operation."""
    unknown = [number for number in operations if number not in list(Operation)]
    if unknown:
        raise _invalid(f"unknown operation {unknown[0]}: expected 0, 1, 2 or 3")
    return [
        ConfigChange(setting.name, Operation(operation), setting.value)
        for setting, operation in zip(one.settings, operations, strict=True)
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
        found = f"level {change.value!r} of {change.name}: expected one of {', '.join(LEVELS)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, found)
    if change.operation is Operation.DELETE and change.name == ROOT:
        raise _invalid(f"the level of {ROOT} cannot be deleted: set another one")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)
