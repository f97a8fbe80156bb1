"""Quotas as the metadata have them, for those who hold clients to them."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final, Protocol

import trio

from trio_kafka.broker.site import Site
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage, QuotaEntity
from trio_kafka.metadata.publisher import Loader
from trio_kafka.metadata.quotas import CLIENT_ID, IP, USER
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.purgatory import Timers
from trio_kafka.quotas.client import Windows
from trio_kafka.quotas.keys import CONNECTION_CREATION_RATE
from trio_kafka.quotas.limits import Entity
from trio_kafka.quotas.quotas import Quotas
from trio_kafka.requests.throttling.throttle import Throttle

_STEP: Final = 50  # entities, of some 10 µs
_EXPIRY_S: Final = 30.0
_logger: Final = get_logger(__name__)


class AddressLimits(Protocol):
    """Who limits connections."""

    def set_ip_rate(self, address: str | None, rate: int | None) -> None:
        """New connections of an address in a second; None: of all others, or no limit."""


def make_throttle(site: Site, timers: Timers) -> Throttle:
    """Nobody is limited yet."""
    config = site.config
    quotas = Quotas(
        site.world.clock.elapsed,
        site.node,
        Windows(config.quota_window_num, config.quota_window_size_seconds * 1000),
        Windows(
            config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000
        ),
    )
    return Throttle(quotas, timers)


async def start_quotas(
    quotas: Quotas, limits: AddressLimits, loader: Loader, scheduler: Scheduler
) -> None:
    """Hold clients to what the metadata say, and to all that they will say."""
    _add_expiry(scheduler, quotas)
    # No checkpoint between these two: no image may come between.
    publisher = QuotaPublisher(quotas, limits)
    steps = publisher.start(loader.image)
    loader.add(publisher)
    for _ in steps:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()


def _add_expiry(scheduler: Scheduler, quotas: Quotas) -> None:
    """Forget who was not charged for an hour; ticks while there is somebody to forget."""

    def expire() -> None:
        if not quotas.expire() and not quotas.active:
            job.disarm()

    job = scheduler.every("quota-expiry", _EXPIRY_S, expire, armed=False)
    quotas.on_toggle(lambda: job.arm(_EXPIRY_S))


class QuotaPublisher:
    """Follows the metadata."""

    def __init__(self, quotas: Quotas, limits: AddressLimits) -> None:
        self._quotas = quotas
        self._limits = limits
        self._first: Iterator[None] = iter(())

    def start(self, image: MetadataImage) -> Iterator[None]:
        """Take over the first image, in steps. What is published before the last step takes the
        rest of them first.
        """
        self._first = self._follow(image.quotas)
        return self._first

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        """Take over what has changed, in steps."""
        del image
        yield from self._first
        yield from self._follow(delta.quotas)

    def _follow(self, changes: Mapping[QuotaEntity, Mapping[str, float]]) -> Iterator[None]:
        for number, (entity, values) in enumerate(changes.items(), start=1):
            names = dict(entity)
            if IP in names:
                self._set_address(names[IP], values.get(CONNECTION_CREATION_RATE))
            else:
                self._quotas.set(_payers(names), values)
            if not number % _STEP:
                yield

    def _set_address(self, address: str | None, rate: float | None) -> None:
        if address is not None and not _is_address(address):
            _logger.warning("quota of a host that is no address is ignored", host=address)
            return
        self._limits.set_ip_rate(address, None if rate is None else int(rate))


def _payers(names: Mapping[str, str | None]) -> Entity:
    return names.get(USER, ""), names.get(CLIENT_ID, "")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
