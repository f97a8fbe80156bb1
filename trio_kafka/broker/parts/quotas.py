"""Enforcement of the quotas in the metadata, as a part of the node."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final

import trio

from trio_kafka.broker.node import Node, Part, Stage
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage, QuotaEntity
from trio_kafka.metadata.publisher import Loader
from trio_kafka.metadata.quotas import CLIENT_ID, IP, USER
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.periodic_jobs import Scheduler
from trio_kafka.purgatory import Timers
from trio_kafka.quotas.client import Windows
from trio_kafka.quotas.limits import Entity
from trio_kafka.quotas.quotas import CONNECTION_CREATION_RATE, Quotas
from trio_kafka.requests.throttling.throttle import Throttle

_STEP: Final = 50  # entities, about 10 µs each
_EXPIRY_S: Final = 30.0
_logger: Final = get_logger(__name__)


async def _open(node: Node) -> Throttle:
    """Apply the quotas of the current image and of all later ones."""
    quotas, loader = _make_quotas(node), node[Loader]
    _add_expiry(node[Scheduler], quotas)
    # No checkpoint between the next two statements: no image may be published in between.
    publisher = QuotaPublisher(quotas, node[ConnectionLimits])
    steps = publisher.start(loader.image)
    loader.add(publisher, "quotas")
    for _ in steps:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return Throttle(quotas, node[Timers])


def _make_quotas(node: Node) -> Quotas:
    config = node.config
    return Quotas(
        node.world.clock.elapsed,
        node.tree,
        windows=Windows(config.quota_window_num, config.quota_window_size_seconds * 1000),
        mutation_windows=Windows(
            config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000
        ),
    )


async def _close(node: Node) -> None:
    await trio.lowlevel.checkpoint()
    node[Throttle].close()


def _add_expiry(scheduler: Scheduler, quotas: Quotas) -> None:
    """Add the job that forgets entities not charged for an hour; it runs only while
    there are any.
    """

    def expire() -> None:
        if not quotas.expire() and not quotas.active:
            job.disarm()

    job = scheduler.every("quota-expiry", _EXPIRY_S, expire, armed=False)
    quotas.on_toggle(lambda: job.arm(_EXPIRY_S))


class QuotaPublisher:
    """Publisher that applies quotas of the metadata."""

    def __init__(self, quotas: Quotas, limits: ConnectionLimits) -> None:
        self._quotas = quotas
        self._limits = limits
        self._first: Iterator[None] = iter(())

    def start(self, image: MetadataImage) -> Iterator[None]:
        """Apply the first image, in steps; an image published meanwhile finishes these
        steps first.
        """
        self._first = self._apply(image.quotas)
        return self._first

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        """Apply the changed quotas, in steps."""
        del image
        yield from self._first
        yield from self._apply(delta.quotas)

    def _apply(self, changes: Mapping[QuotaEntity, Mapping[str, float]]) -> Iterator[None]:
        for number, (entity, values) in enumerate(changes.items(), start=1):
            names = dict(entity)
            if IP in names:
                self._set_address(names[IP], values.get(CONNECTION_CREATION_RATE))
            else:
                self._quotas.set(_charged_entity(names), values)
            if not number % _STEP:
                yield

    def _set_address(self, address: str | None, rate: float | None) -> None:
        if address is not None and not _is_address(address):
            _logger.warning("quota ignored, its host is not an IP address", host=address)
            return
        self._limits.set_ip_rate(address, None if rate is None else int(rate))


def _charged_entity(names: Mapping[str, str | None]) -> Entity:
    return names.get(USER, ""), names.get(CLIENT_ID, "")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


QUOTAS: Final = Part(kind=Throttle, open=_open, stops={Stage.HANDLERS: _close})
