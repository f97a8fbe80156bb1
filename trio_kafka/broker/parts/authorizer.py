"""Authorizer of the node: decisions by the ACLs in the metadata, or by a plugin.

It is open before any request can arrive, and the entries of the first image are in its index then.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import trio

from trio_kafka.broker.node import Node, Part
from trio_kafka.config.authorizer import OF_PLUGIN, split_super_users
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import Loader
from trio_kafka.protocol.stored.metadata.security import AccessControlEntryRecord
from trio_kafka.security.acls.entries import Acl, acl_of
from trio_kafka.security.acls.standard import StandardAuthorizer
from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer
from trio_kafka.security.contributed import ContributedAuthorizer

_STEP: Final = 20  # entries, up to 30 µs each
_logger: Final = get_logger(__name__)
_Changes = Mapping[bytes, AccessControlEntryRecord | None]


async def _open(node: Node) -> Authorizer:
    """Make the authorizer that the settings name, and load its entries."""
    name = node.config.authorizer_class_name
    if not name:
        await trio.lowlevel.checkpoint()
        return ALLOW_ALL
    if name.startswith(OF_PLUGIN):
        await trio.lowlevel.checkpoint()
        return ContributedAuthorizer(name.removeprefix(OF_PLUGIN))
    return await _open_standard(node)


async def _open_standard(node: Node) -> StandardAuthorizer:
    authorizer, loader = _standard(node.config), node[Loader]
    # No checkpoint between the next two statements: no image may be published in between.
    publisher = AclPublisher(authorizer)
    steps = publisher.start(loader.image)
    loader.add(publisher, "acls")
    for _ in steps:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    node.tree.add("authorizer", "part", publisher.figures)
    _logger.info(
        "authorizer loaded",
        acls=len(authorizer.index),
        super_users=node.config.super_users,
        allow_unmatched=authorizer.allow_unmatched,
    )
    return authorizer


def _standard(config: BrokerConfig) -> StandardAuthorizer:
    return StandardAuthorizer(
        split_super_users(config.super_users),
        allow_unmatched=config.allow_everyone_if_no_acl_found,
    )


class AclPublisher:
    """Publisher that keeps the index of an authorizer."""

    def __init__(self, authorizer: StandardAuthorizer) -> None:
        self._authorizer = authorizer
        self._acls: dict[bytes, Acl] = {}
        self._first: Iterator[None] = iter(())

    def start(self, image: MetadataImage) -> Iterator[None]:
        """Index the entries of the first image, in steps, and let the authorizer decide.

        An image published meanwhile finishes these steps first.
        """
        self._first = self._load(image)
        return self._first

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterable[None] | None:
        """Apply changed entries, in steps.

        A change of a request is applied at once, so that no request sees half of it.
        """
        del image
        if self._authorizer.loaded and len(delta.acls) <= _STEP:
            self._change(delta.acls)
            return None
        return self._in_steps(delta.acls)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "acls": len(self._authorizer.index),
            "super_users": len(self._authorizer.super_users) - 1,  # without the broker
            "allow_unmatched": self._authorizer.allow_unmatched,
        }

    def _load(self, image: MetadataImage) -> Iterator[None]:
        yield from self._apply(image.acls)
        self._authorizer.loaded = True

    def _in_steps(self, changes: _Changes) -> Iterator[None]:
        yield from self._first
        yield from self._apply(changes)

    def _apply(self, changes: _Changes) -> Iterator[None]:
        some: dict[bytes, AccessControlEntryRecord | None] = {}
        for acl_id, record in changes.items():
            some[acl_id] = record
            if len(some) == _STEP:
                self._change(some)
                some.clear()
                yield
        self._change(some)

    def _change(self, changes: _Changes) -> None:
        for acl_id, record in changes.items():
            old = self._acls.pop(acl_id, None)
            if old is not None:
                self._authorizer.index.remove(old)
            if record is not None:
                acl = self._acls[acl_id] = acl_of(record)
                self._authorizer.index.add(acl)


AUTHORIZER: Final = Part(kind=Authorizer, open=_open)
