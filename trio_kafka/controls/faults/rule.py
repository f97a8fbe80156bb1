"""FaultRule: which requests get a fault, which fault, and when.

All conditions of a rule must hold. A rule has exactly one verdict; `delay_s` may come with another.
Where each verdict acts, and what the log then holds:

| verdict | where it acts | what the broker has done |
| --- | --- | --- |
| `error` | in the handler's place, for the named parts of the request | the other parts, for real |
| `error=REQUEST_TIMED_OUT` | on the response | everything: the log has the records |
| `respond` | in the handler's place | nothing |
| `drop` | in the handler's place; later requests are answered | nothing |
| `disconnect="before"` | in the handler's place | nothing |
| `disconnect="after"` | on the response | everything: the log has the records |
| `delay_s`, `hold` | before the handler | nothing until then, everything afterwards |
| `throttle_s` | on the response | everything |
| `corrupt="request"` | before the handler, on each record batch | nothing: CORRUPT_MESSAGE |
| `corrupt="records"` | on the response, on each record batch | everything; the log is intact |
| `corrupt="response"` | on the encoded response | everything |
| `observe` | nowhere | everything |

Responses on a connection keep their order: while a request waits, the next one is not read.
"""

from collections.abc import Callable
from math import inf
from typing import Any, Final, Literal

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.controls.api_names import ApiName
from trio_kafka.controls.faults.rule_values import (
    RuleError,
    apis_of,
    delay_of,
    error_of,
    is_number,
    is_whole,
    version_of,
    window_of,
)
from trio_kafka.controls.keywords import suggesting_fields
from trio_kafka.errors import ErrorCode

Disconnect = Literal["before", "after"]
Corrupt = Literal["request", "records", "response"]
VERDICTS: Final = (
    "error",
    "respond",
    "drop",
    "disconnect",
    "hold",
    "throttle_s",
    "corrupt",
    "observe",
    "delay_s",
)
DISCONNECTS: Final = ("before", "after")
CORRUPTS: Final = ("request", "records", "response")
LONGEST_S: Final = 3600.0
_PATTERNS: Final = ("client_id", "principal", "listener", "topic", "group", "transactional_id")
_MAY_BE_NONE: Final = ("times", "partition")


@suggesting_fields
@frozen(kw_only=True)
class FaultRule:
    """Conditions on requests, the fault that they get, and its triggers.

    Several APIs and the two ends of a range are a tuple or a list. Raises RuleError.

    Conditions. None or empty: all.
    api: name (`"Produce"`), key, or class of the requests; or several of them.
    version: the version of the request, or the first and the last of a range.
    client_id, principal, listener, topic, group, transactional_id: patterns like those of file
        names (`orders-*`). partition: number of a partition, of a matching topic if one is given.
    where: function of the request and its context; returns whether the request matches.
    window_s: begin and end of the rule, in seconds since it was added; `[begin]`: without an end.

    Verdicts.
    error: error code of the response, in its parts that the conditions name; its name or number.
    respond: the whole response: a message, or a function of the request and its context.
    drop: send no response. disconnect: close the connection instead of serving the request, or
        instead of sending its response.
    delay_s: seconds before the request is served, or the least and the most of them.
    hold: hold the request until `release` is called on the rule's handle.
    throttle_s: throttle time of the response; clients then wait by themselves.
    corrupt: what is damaged: the records of the request or of the response, or the response.
    observe: only count. Such a rule never keeps another one from applying.

    Triggers.
    after: number of matching requests that pass first. every: then each nth one gets the fault.
    times: number of faults; None: no limit. probability: of each, from `seed` if given.
    name: name of the rule; empty: it gets one.
    """

    api: ApiName | tuple[ApiName, ...] | None = field(default=None, converter=apis_of)
    version: int | tuple[int, int] | None = field(default=None, converter=version_of)
    client_id: str | None = None
    principal: str | None = None
    listener: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    where: Callable[[Any, Any], bool] | None = None
    window_s: tuple[float, float] = field(default=(0.0, inf), converter=window_of)

    error: ErrorCode | None = field(default=None, converter=error_of)
    respond: Any = None
    drop: bool = False
    disconnect: Disconnect | None = None
    delay_s: float | tuple[float, float] = field(default=0.0, converter=delay_of)
    hold: bool = False
    throttle_s: float = 0.0
    corrupt: Corrupt | None = None
    observe: bool = False

    after: int = 0
    every: int = 1
    times: int | None = None
    probability: float = 1.0
    seed: object = None
    name: str = ""

    def __attrs_post_init__(self) -> None:
        """Check the values. Raises RuleError."""
        self._check_verdicts()
        _check(
            self.disconnect in (None, *DISCONNECTS), "disconnect", self.disconnect, want=DISCONNECTS
        )
        _check(self.corrupt in (None, *CORRUPTS), "corrupt", self.corrupt, want=CORRUPTS)
        _check(self.error is not ErrorCode.NONE, "error", "NONE", want="an error")
        for name in _PATTERNS:
            value = getattr(self, name)
            _check(value is None or isinstance(value, str), name, value, want="a pattern")
        for name, least in (("after", 0), ("every", 1), ("times", 1), ("partition", 0)):
            value = getattr(self, name)
            is_none = value is None and name in _MAY_BE_NONE
            is_fit = is_none or (is_whole(value) and value >= least)
            _check(is_fit, name, value, want=f"at least {least}")
        for name, most, words in (
            ("probability", 1.0, "0 to 1"),
            ("throttle_s", LONGEST_S, _SECONDS),
        ):
            value = getattr(self, name)
            _check(is_number(value) and 0 <= value <= most, name, value, want=words)
        first, last = self.versions
        _check(first <= last, "version", self.version, want="the first version before the last")
        least_s, most_s = self.delays_s
        _check(0 <= least_s <= most_s <= LONGEST_S, "delay_s", self.delay_s, want=_SECONDS)
        begin_s, end_s = self.window_s
        _check(0 <= begin_s < end_s, "window_s", self.window_s, want="a begin before an end")

    @property
    def versions(self) -> tuple[float, float]:
        """First and last version."""
        version = self.version
        if version is None:
            return (-inf, inf)
        return version if isinstance(version, tuple) else (version, version)

    @property
    def delays_s(self) -> tuple[float, float]:
        """Least and greatest delay."""
        delay_s = self.delay_s
        return delay_s if isinstance(delay_s, tuple) else (delay_s, delay_s)

    @property
    def verdict(self) -> str:
        """Name of the field with the verdict; `delay_s` if there is no other."""
        return next(name for name in VERDICTS if is_set(self, name))

    @property
    def names_parts(self) -> bool:
        """True if a condition names parts of a request."""
        names = (self.topic, self.partition, self.group, self.transactional_id)
        return any(name is not None for name in names)

    def _check_verdicts(self) -> None:
        verdicts = [name for name in VERDICTS if name != "delay_s" and is_set(self, name)]
        if len(verdicts) > 1:
            raise RuleError(f"verdicts: {', '.join(verdicts)}, want one of them")
        if not verdicts and not is_set(self, "delay_s"):
            raise RuleError(f"the rule has no effect: want one of {', '.join(VERDICTS)}")


_SECONDS: Final = f"0 to {LONGEST_S:g} seconds"


def is_set(rule: FaultRule, name: str) -> bool:
    """Return whether a rule has a verdict."""
    value = getattr(rule, name)
    if name == "delay_s":
        return rule.delays_s != (0.0, 0.0)
    return value is not None and value is not False and (name != "throttle_s" or value != 0)


def _check(holds: bool, name: str, value: object, *, want: object) -> None:
    if not holds:
        expected = " or ".join(want) if isinstance(want, tuple) else want
        raise RuleError(f"{name}: {value!r}, want {expected}")
