"""Delegation tokens as a part of the node: those in the metadata, for logins and requests."""

from collections.abc import Iterable
from typing import Final

import trio

from trio_kafka.broker.node import Node, Part
from trio_kafka.introspect.tree import Figures
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import Loader
from trio_kafka.security.delegation_tokens import DelegationTokens


class TokenPublisher:
    """Publisher that keeps the tokens of the metadata."""

    def __init__(self, tokens: DelegationTokens, image: MetadataImage) -> None:
        self._tokens = tokens
        self.first = tokens.apply(image.tokens)
        """Steps that take the tokens of the first image; `publish` finishes them first."""

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterable[None]:
        """Take changed tokens, in steps."""
        del image
        yield from self.first
        yield from self._tokens.apply(delta.tokens)


async def _open(node: Node) -> DelegationTokens:
    """Take the tokens of the first image."""
    clock, loader = node.world.clock, node[Loader]
    key = node.config.delegation_token_secret_key or ""
    tokens = DelegationTokens(key, lambda: clock.wall() * 1000, node.world.random_bytes)
    if tokens.enabled:
        # No checkpoint between the next two statements: no image may be published in between.
        publisher = TokenPublisher(tokens, loader.image)
        loader.add(publisher, "tokens")
        for _ in publisher.first:
            await trio.lowlevel.checkpoint()

        def figures() -> Figures:
            return {"tokens": len(tokens)}

        node.tree.add("delegation-tokens", "part", figures)
    await trio.lowlevel.checkpoint()
    return tokens


DELEGATION_TOKENS: Final = Part(kind=DelegationTokens, open=_open)
