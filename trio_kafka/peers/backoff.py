"""Exponential back-off: when something may be tried again. Uses no clock and no random numbers.

Source: KIP-144 (reconnect.backoff.ms, reconnect.backoff.max.ms) and ExponentialBackoff of Apache
Kafka 4.4.0: the pause doubles with each failure up to a limit, and varies by a fifth, so that
clients of a broker that restarts do not all come at the same moment.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen

_JITTER: Final = 0.2
_MOST_DOUBLINGS: Final = 20  # larger powers say no more, and would not fit into a float one day


@frozen
class Backoff:
    """Pauses between attempts. first_s: after the first failure. longest_s: limit of all."""

    first_s: float = 0.05
    longest_s: float = 1.0

    def pause_s(self, failures: int, chance: float = 0.5) -> float:
        """Return the pause after a number of failures in a row.

        chance: random number from 0 to 1, which decides between four and six fifths of the pause.
        """
        doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
        pause_s = min(self.first_s * (1 << doublings), self.longest_s)
        return pause_s * (1 - _JITTER + 2 * _JITTER * chance)


@define
class Reconnection:
    """Attempts to connect to one peer. failures: in a row. not_before: time of the next attempt."""

    backoff: Backoff = field(factory=Backoff)
    failures: int = 0
    not_before: float = float("-inf")

    def failed(self, now: float, chance: float) -> None:
        """Note a failed attempt. chance: see `Backoff.pause_s`."""
        self.failures += 1
        self.not_before = now + self.backoff.pause_s(self.failures, chance)

    def succeeded(self) -> None:
        """Note that the peer can be reached: count and pause begin again."""
        self.failures = 0
        self.not_before = float("-inf")
