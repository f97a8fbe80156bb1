"""Pauses before restarts: each twice as long as the one before, up to a cap."""

from attrs import field

from trio_kafka.attributes import define


@define(kw_only=True)
class Backoff:
    """first_s, longest_s: bounds of a pause. healthy_s: after a run this long, the next pause is
    the first one again.
    """

    first_s: float
    longest_s: float
    healthy_s: float
    _next_s: float = field(init=False, default=0.0)

    def pause_after(self, ran_s: float) -> float:
        """Return the pause in seconds after a run of `ran_s` seconds."""
        if ran_s >= self.healthy_s:
            self._next_s = 0.0
        pause_s = min(max(self._next_s, self.first_s), self.longest_s)
        self._next_s = min(pause_s * 2, self.longest_s)
        return pause_s
