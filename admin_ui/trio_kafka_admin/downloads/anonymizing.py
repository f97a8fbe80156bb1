"""Pseudonyms: names of topics, groups, clients and machines, replaced in the data of pages.

A name always gets the same pseudonym of its kind, `topic-3`, so what belongs together still does.
Texts are searched for whole names, between characters that names do not have, and for names with
a hyphen and something else behind them. Names with other characters, and cut or escaped forms of
names, are searched for as they are. A word of ours that equals a name is replaced, too. Network
addresses are replaced whether they are known or not. Free text is left out, see `free_text`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import trio

from trio_kafka.coordinators.groups.facts.group_facts import history_of
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.introspect.texts import shortened
from trio_kafka.metadata.image import QuotaEntity
from trio_kafka.protocol.texts import printable
from trio_kafka.requests.descriptions import LONGEST
from trio_kafka.requests.parts import Missing, MissingPartError, Parts
from trio_kafka_admin.downloads.free_text import KNOWN_SOFTWARE, without_free_text

_TOKEN: Final = re.compile(r"[\w.\-]+")
_ADDRESS: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_MOST_PARTS: Final = 16  # parts of a word, between hyphens
_MOST_ODD: Final = 2000  # names of other characters: each is searched for in each text
_A_STEP: Final = 64  # values between two checkpoints


class Pseudonyms:
    """Pseudonyms by name. A name that has several kinds keeps the first."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        """names: pairs of kind and name."""
        self._by_name: dict[str, str] = {}
        counts = dict[str, int]()
        odd = dict[str, str]()
        for kind, name in names:
            if not name or name in self._by_name:
                continue
            counts[kind] = counts.get(kind, 0) + 1
            pseudonym = self._by_name[name] = f"{kind}-{counts[kind]}"
            for form in {name, printable(name), shortened(name), printable(shortened(name))}:
                if not _TOKEN.fullmatch(form) and len(odd) < _MOST_ODD:
                    odd[form] = pseudonym
        self._odd = odd
        longest_first = sorted(odd, key=len, reverse=True)
        self._odd_pattern = re.compile("|".join(map(re.escape, longest_first))) if odd else None
        self._steps = 0

    async def replaced(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of JSON-ready data with the names in texts and keys replaced."""
        copy: dict[str, Any] = await self._copy(data)
        return copy

    async def _copy(self, value: Any) -> Any:
        self._steps += 1
        if not self._steps % _A_STEP:
            await trio.lowlevel.checkpoint()
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            row = without_free_text(value)
            return {await self._copy(key): await self._copy(item) for key, item in row.items()}
        if isinstance(value, list | tuple):
            return [await self._copy(item) for item in value]
        return value

    def text(self, text: str) -> str:
        """Return a text with its names replaced."""
        whole = self._by_name.get(text)
        if whole is not None:
            return whole
        if self._odd_pattern is not None:
            text = self._odd_pattern.sub(lambda match: self._odd[match[0]], text)
        return _TOKEN.sub(self._token, text)

    def _token(self, match: re.Match[str]) -> str:
        word = match[0]
        core = word.strip(".-")  # the end of a sentence is no part of a name
        begin = core  # a partition is `topic-3`, a new member `client-uuid`
        for _ in range(_MOST_PARTS):
            if begin in self._by_name:
                return word.replace(begin, self._by_name[begin], 1)
            begin = begin.rpartition("-")[0]
        if word in self._by_name:
            return self._by_name[word]
        return "address" if _ADDRESS.fullmatch(core) else word


async def pseudonyms(parts: Parts) -> Pseudonyms:
    """Return the pseudonyms of all names that this broker knows."""
    names = list[tuple[str, str]]()
    for number, name in enumerate(_names(parts)):
        names.append(name)
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return Pseudonyms(names)


def _names(parts: Parts) -> Iterator[tuple[str, str]]:
    """Yield kind and name of all that may be named in a page."""
    yield "cluster", parts.cluster_id
    for path in parts.config.directories:
        yield "directory", path
    image = parts.metadata.image
    for broker in tuple(image.brokers.values()):
        for endpoint in broker.endpoints:
            yield "host", endpoint.host
    for topic in tuple(image.topics):
        if not topic.startswith("__"):  # Kafka's own
            yield "topic", topic
    for entity in tuple(image.quotas):
        yield from _of_quota(entity)
    yield from _of_groups(parts)
    yield from _of_transactions(parts)
    yield from _of_clients(parts)


def _of_quota(entity: QuotaEntity) -> Iterator[tuple[str, str]]:
    """Yield users and client ids that have a limit, whether they are connected or not."""
    for kind, name in entity:
        yield ("client" if kind == "client-id" else "principal"), name or ""


def _of_groups(parts: Parts) -> Iterator[tuple[str, str]]:
    if isinstance(parts.groups, Missing):
        return
    for machine in parts.groups.machines:
        for group_id, group in tuple(machine.by_id.items()):
            yield "group", group_id
            for member in group.members():
                yield "member", member.member_id
                figures = member.figures()
                yield "instance", str(figures.get("instance") or "")
                yield "client", str(figures.get("client") or "")
                yield "host", str(figures.get("host") or "")
            history = history_of(machine, group_id)
            for change in history.changes:
                yield "client", change.client_id
            for rebalance in history.rebalances:
                yield "client", rebalance.client_id


def _of_transactions(parts: Parts) -> Iterator[tuple[str, str]]:
    try:
        coordinator = parts[TransactionCoordinator]
    except MissingPartError:
        return
    for machine in coordinator.machines:
        for name in tuple(machine.by_id):
            yield "transactional-id", name


def _of_clients(parts: Parts) -> Iterator[tuple[str, str]]:
    """Yield the names of connected clients and of those of recent requests."""
    for plane in parts.planes:
        for processor in tuple(plane.processors):
            for connection in tuple(processor.connections.values()):
                yield "host", connection.peer.host
                yield "principal", str(connection.principal)
                yield from _of_software(connection.software)
                yield "client", str(connection.figures().get("client_id") or "")
            for closed in tuple(processor.table.recently_closed):
                yield "host", closed.origin.peer.host
                yield "client", closed.client_id
                yield from _of_software(closed.origin.software)
        for stamps in (*plane.request_metrics.latest(), *plane.request_metrics.slowest()):
            yield "client", stamps.client_id
            yield "host", stamps.origin.peer.host
            yield from _of_software(stamps.origin.software)


def _of_software(software: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield the name that a client gives its software, unless it is that of a known library."""
    if software is not None and software[0].lower() not in KNOWN_SOFTWARE:
        yield "software", " ".join(software)[:LONGEST]
        yield "software", software[0]
