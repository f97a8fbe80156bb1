"""Readers of the principals that look at the UI."""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.security.principal import Principal
from trio_kafka_admin.broker_reader import BrokerReader

_MOST: Final = 32  # each may keep 15 minutes of some pages


@define(eq=False)
class Readers:
    """Readers by principal; beyond 32 the one unused longest goes. make: makes one."""

    _make: Callable[[Principal], BrokerReader]
    _readers: dict[Principal, BrokerReader] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._readers)

    def of(self, principal: Principal) -> BrokerReader:
        """Return the reader of a principal.

        The authorizer is asked for each viewer, also for one that gets a shared rendering.
        """
        reader = self._readers.pop(principal, None)
        if reader is None or not reader.is_current:
            reader = self._make(principal)
        self._readers[principal] = reader
        if len(self._readers) > _MOST:
            del self._readers[next(iter(self._readers))]
        return reader
