"""Cache of encoded responses, valid as long as the metadata image is the same.

The key of a response is everything that it depends on besides the image, and so also what the
client may see. While the authorizer is `ALLOW_ALL` all clients share a response. The cache is
bounded, because a client can ask for anything.
"""

from collections.abc import Hashable
from typing import Final
from weakref import WeakKeyDictionary

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Encoded

MOST: Final = 1000
"""Responses that are kept of one broker."""
MOST_BYTES: Final = 4 << 20
"""Bytes of the responses that are kept of one broker."""


@define
class _Responses:
    image: MetadataImage
    by_key: dict[Hashable, Encoded] = Factory(dict)
    size: int = 0


class ResponseCache:
    """Responses of one API, for each broker of the process.

    A broker is known by its registry. Its responses go when the registry goes.
    """

    def __init__(self) -> None:
        self._responses: WeakKeyDictionary[Registry, _Responses] = WeakKeyDictionary()

    def get(self, registry: Registry, image: MetadataImage, key: Hashable) -> Encoded | None:
        """Return the response that was kept for the key and this image."""
        responses = self._responses.get(registry)
        if responses is None or responses.image is not image:
            return None
        return responses.by_key.get(key)

    def put(
        self, registry: Registry, image: MetadataImage, key: Hashable, response: Encoded
    ) -> None:
        """Keep a response, unless it is too large alone.

        All others are discarded first if they are of another image, or if there are too many.
        """
        responses = self._responses.get(registry)
        size = len(response.body)
        if size > MOST_BYTES:
            return
        if (
            responses is None
            or responses.image is not image
            or len(responses.by_key) >= MOST
            or responses.size + size > MOST_BYTES
        ):
            responses = self._responses[registry] = _Responses(image)
        responses.by_key[key] = response
        responses.size += size
