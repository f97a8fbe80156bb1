"""Answers of pages that are no `DescribedPage`: the keys of their data, and their parameters."""

from collections.abc import Mapping
from typing import Any, Final

from attrs import Factory, frozen

_Rows = list[dict[str, Any]]


@frozen(kw_only=True)
class PlainAnswer:
    """Data of one page. keys: types by key. parameters: of its query, each with a sentence."""

    keys: Mapping[str, Any]
    parameters: Mapping[str, str] = Factory(dict)


_LIMIT: Final = {"limit": "most rows"}
PLAIN_ANSWERS: Final[Mapping[str, PlainAnswer]] = {
    "overview": PlainAnswer(
        keys={
            "node_id": int,
            "cluster_id": str,
            "version": str,
            "seconds": float | None,
            "findings": _Rows,
            "listeners": list[str],
            "counts": dict[str, int],
            "loops": _Rows,
            "apis": _Rows,
        }
    ),
    "tree": PlainAnswer(
        keys={"rows": _Rows, "truncated": bool},
        parameters={
            "path": "one node, and those below it",
            "depth": "levels below it; -1: all",
            **_LIMIT,
        },
    ),
    "queues": PlainAnswer(
        keys={"seconds": float | None, "total": int, "queues": _Rows}, parameters=_LIMIT
    ),
    "requests": PlainAnswer(
        keys={"truncated": bool, "requests": _Rows},
        parameters={
            "which": "in-flight, latest or slowest",
            "api": "one API, by its name or key",
            "client": "one client id",
            **_LIMIT,
        },
    ),
    "connections": PlainAnswer(
        keys={"truncated": bool, "total": int, "connections": _Rows},
        parameters={"of": "connections whose client, software or address contains it", **_LIMIT},
    ),
    "jobs": PlainAnswer(keys={"jobs": _Rows}, parameters=_LIMIT),
    "plugins": PlainAnswer(keys={"plugins": _Rows}),
}
