"""Changes of settings as clients ask for them: checked here, then decided on by the controller.

What a request gets wrong by itself is told for each resource before anything is decided: named
twice, no value, another broker's settings. Levels of loggers are this process's own: they are
changed here at once and written nowhere. Source: KIP-133, KIP-339, KIP-412; Apache Kafka 4.4.0.
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
from trio_kafka.scheduling.chunked_task import in_steps
from trio_kafka.scheduling.chunked_work import Steps, in_slices
from trio_kafka.security.principal import ANONYMOUS

_logger: Final = get_logger(__name__)


class Wanted(Protocol):
    """One setting, as it came: an item of a request."""

    name: str
    value: str | None


@frozen
class ResourceChanges:
    """What is wanted of one resource; kind is any number that came.

    operations: of `settings`, position by position; None: these are all that it shall have.
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
    """Of one broker: the settings of others are not changed through it.

    timeout_s: how long a change may take until it is in force, as requests do not say.
    prepare: entered with all that would be set for this broker before that is decided on, left when
        it is in force or refused; one at a time. It raises KafkaError where the broker could not
        follow.
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
        """Fill `whole` and `single` with the changes that may be tried.

        Returns the resources, and why each is refused. Levels of loggers are changed here.
        """
        wanted: list[ResourceChanges] = []
        named: Counter[ConfigResource] = Counter()
        for some in in_slices(changes, _SLICE):
            wanted += some
            named.update((one.kind, one.name) for one in some)
            yield
        order: list[ConfigResource] = []
        found: list[KafkaError | None] = []
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
            if not len(found) % _SLICE or len(one.settings) > _SLICE:
                yield
        return order, found

    async def _get_ready(
        self, ready: AsyncExitStack, whole: Whole, single: Single, deadline: float
    ) -> dict[ConfigResource, KafkaError | None]:
        """Prepare for a change of this broker's own settings; what it cannot follow is taken out of
        the changes, and returned with the reason.
        """
        me: ConfigResource = (ConfigResourceType.BROKER, str(self._broker))
        if self._prepare is None or not (me in whole or me in single):
            return {}
        refused = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "other changes take too long")
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
            found = f"{len(one.settings)} settings: want at most {MOST_SETTINGS} of one resource"
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
            raise _invalid(f"resource type {one.kind} has no settings that can be changed so")


def check_broker(name: str, broker: NodeId) -> None:
    """Raises KafkaError(INVALID_REQUEST) if that is not the id of this broker."""
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS):
        raise _invalid(f"the id of a broker is a number: {name!r}")
    if int(name) != broker:
        raise _invalid(f"this is broker {broker}, asked for {name!r}")


_SLICE: Final = 200  # resources, of some 5 µs
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
    """Why each resource is refused: as it was found, or as it was decided."""
    errors: list[KafkaError | None] = []
    for some in in_slices(zip(wanted, found, strict=True), _SLICE):
        errors += [error or decided.get(at) for at, error in some]
        yield
    return errors


def _changes(one: ResourceChanges, operations: Sequence[int]) -> list[ConfigChange]:
    """Raises KafkaError for an operation that nobody knows."""
    unknown = [number for number in operations if number not in list(Operation)]
    if unknown:
        raise _invalid(f"operation {unknown[0]} is not known")
    return [
        ConfigChange(setting.name, Operation(operation), setting.value)
        for setting, operation in zip(one.settings, operations, strict=True)
    ]


def _alter_loggers(changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
    """All of them, or none. Raises KafkaError."""
    for change in changes:
        _check_logger(change)
    for change in changes if not validate_only else ():
        level = change.value if change.operation is Operation.SET else None
        set_level(change.name, level)
        _logger.warning("level of a logger changed", changed=change.name, to=level or "")


def _check_logger(change: ConfigChange) -> None:
    if change.operation not in (Operation.SET, Operation.DELETE):
        raise _invalid(f"{change.operation.name} does not apply to loggers")
    if not has_logger(change.name):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"no logger {change.name}")
    if change.operation is Operation.SET and change.value not in LEVELS:
        found = f"{change.name}: {change.value!r} is none of {', '.join(LEVELS)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, found)
    if change.operation is Operation.DELETE and change.name == ROOT:
        raise _invalid(f"{ROOT} has no logger above it: it keeps its level")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, reason)
