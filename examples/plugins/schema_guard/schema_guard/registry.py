"""Schemas of a registry by id, cached, with at most one request for each id.

Batches that wait for one id share one request. Unknown ids and failures are cached for a while, so
that batches do not wait for a registry that is down.
"""

import json
from collections import OrderedDict
from typing import Final

import httpx
import trio
from attrs import define, field

from schema_guard.schemas import Judge, SchemaError, judge_of, refusing
from trio_kafka.plugin import Figure

LARGEST: Final = 256 << 10  # bytes of an answer
AT_ONCE: Final = 4  # questions
NOT_FOUND: Final = 404


class RegistryDownError(Exception):
    """The registry did not answer, or its answer is not that of a registry."""


@define(eq=False, kw_only=True)
class Registry:
    """Schemas of one registry, fetched by `client`, which has its address as base URL.

    deadline_s: of one request, with the wait for its turn. retry_s: lifetime of cached failures and
    unknown ids. most: number of cached schemas and unknown ids.
    most_repeated: see `judge_of`.
    """

    client: httpx.AsyncClient
    deadline_s: float
    retry_s: float
    most: int
    most_repeated: int
    requested: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)
    _judges: OrderedDict[int, tuple[float, Judge]] = field(factory=OrderedDict, init=False)
    _asking: dict[int, trio.Event] = field(factory=dict, init=False)
    _down_until: float = field(default=-1.0, init=False)
    _turns: trio.CapacityLimiter = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._turns = trio.CapacityLimiter(AT_ONCE)

    def cached(self, number: int) -> Judge | None:
        """Return the cached judge of an id, or None."""
        cached = self._judges.get(number)
        if cached is None or cached[0] <= trio.current_time():
            return None
        self._judges.move_to_end(number)
        return cached[1]

    async def find(self, number: int) -> Judge:
        """Return the judge of an id. Raises RegistryDownError.

        The judge of an unknown id, or of an unusable schema, rejects everything.
        """
        deadline = trio.current_time() + self.deadline_s
        while (judge := self.cached(number)) is None:
            if trio.current_time() < self._down_until:
                raise RegistryDownError("it did not answer a moment ago")
            if trio.current_time() >= deadline:
                raise RegistryDownError(f"no answer in {self.deadline_s:g} s")
            others = self._asking.get(number)
            if others is None:
                await self._ask(number, deadline)
            else:
                with trio.move_on_at(deadline):
                    await others.wait()
        return judge

    async def _ask(self, number: int, deadline: float) -> None:
        done = self._asking[number] = trio.Event()
        try:
            with trio.fail_at(deadline):
                async with self._turns:
                    self.requested += 1
                    judge, until = await self._fetch(number)
        except (httpx.HTTPError, trio.TooSlowError, ValueError, RecursionError) as error:
            self.failures += 1
            self._down_until = trio.current_time() + self.retry_s
            raise RegistryDownError(f"{type(error).__name__}: {error}") from error
        else:
            self._judges[number] = (until, judge)
            if len(self._judges) > self.most:
                self._judges.popitem(last=False)
        finally:
            del self._asking[number]
            done.set()

    async def _fetch(self, number: int) -> tuple[Judge, float]:
        """Return a judge and its expiry time. Raises ValueError if this is no registry's answer."""
        status, body = await self._get(f"schemas/ids/{number}")
        later = trio.current_time() + self.retry_s
        if status == NOT_FOUND:
            return refusing(f"the registry knows no schema {number}"), later
        if status != httpx.codes.OK:
            raise ValueError(f"status {status}")
        answer: object = json.loads(body)
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise ValueError("an answer without a schema")  # noqa: TRY004 - as any other bad one
        try:
            if answer.get("references"):
                raise SchemaError("references to other schemas are not followed")
            judge = judge_of(
                str(answer.get("schemaType", "AVRO")), answer["schema"], self.most_repeated
            )
        except SchemaError as error:
            judge = refusing(f"schema {number}: {error}")
        return judge, float("inf")  # a schema never changes its id

    async def _get(self, path: str) -> tuple[int, bytes]:
        async with self.client.stream("GET", path) as answer:
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > LARGEST:
                    raise ValueError(f"an answer of more than {LARGEST} bytes")
            return answer.status_code, body

    def figures(self) -> dict[str, Figure]:
        return {
            "asked": self.requested,
            "failures": self.failures,
            "kept": len(self._judges),
            "asking": len(self._asking),
            "down": trio.current_time() < self._down_until,
        }
