"""A broker that acts as an older release of Kafka: its APIs and the levels of its features."""

from collections.abc import Mapping

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.requests.parts import Features
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.kafka.releases import Release


@frozen
class OlderFeatures:
    """Features of a broker, without levels that a release does not have. See `Features`."""

    newest: Features
    release: Release

    @property
    def supported(self) -> Mapping[str, tuple[int, int]]:
        levels = self.release.levels
        return {
            name: (low, min(high, levels[name]))
            for name, (low, high) in self.newest.supported.items()
            if name in levels
        }

    @property
    def finalized(self) -> Mapping[str, int]:
        levels = self.release.levels
        return {
            name: min(level, levels[name])
            for name, level in self.newest.finalized.items()
            if name in levels
        }

    @property
    def epoch(self) -> int:
        return self.newest.epoch


def older_apis(apis: Registry, release: Release) -> Registry:
    """Return the APIs of a release, in its versions; no API of this project goes.

    Versions that Kafka 4.4 has dropped do not come back.
    """
    older = Registry()
    for listed in list(apis):
        last = release.last_of(listed.key)
        api = apis.get(listed.key)
        if api is not None and last is not None and last >= api.first:
            older.add(attrs.evolve(api, last=min(last, api.last)))
    return older
