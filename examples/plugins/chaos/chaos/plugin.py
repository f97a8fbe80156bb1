"""The plugin: the rules of a file, and an app at `/chaos` by which they come and go."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import trio
from attrs import define, field, frozen

from chaos.rules import RuleError, fault_of, name_of, read_rules
from trio_kafka.plugin import Figure, Node, PluginContext, Registry, integer, plugin, string
from trio_kafka.testing.faults import Faults, Rule

MOUNT: Final = "/chaos"
LARGEST_BODY: Final = 65_536


@frozen(kw_only=True)
class ChaosSettings:
    """`plugin.chaos.<name>`; a `_` of a field is a `.` of its setting."""

    rules: str | None = string(None, "A file of rules, TOML or JSON, read at the start.")
    seed: str = string("0", "The same seed and the same requests have the same faults.")
    most: int = integer(100, "How many rules there may be.", low=1, high=1000)


@frozen
class Named:
    """A rule, as it was written and as it works, in its place in the tree."""

    said: dict[str, Any]
    rule: Rule
    node: Node


@define(eq=False)
class Rules:
    """By name, in the order in which they are asked: that in which they came."""

    faults: Faults
    apis: Registry
    node: Node
    most: int
    _named: dict[str, Named] = field(factory=dict)

    def add(self, said: Any) -> str:
        """Its name. Raises RuleError for one that is none, is known, or is one too many."""
        fault = fault_of(said, self.apis)
        name = name_of(said)
        if name in self._named:
            raise RuleError(f"there is a rule {name!r} already")
        if len(self._named) >= self.most:
            raise RuleError(f"there are {self.most} rules already")
        rule = self.faults.add(fault)

        def figures() -> dict[str, Figure]:
            return {"fitted": rule.fitted, "done": rule.done}

        self._named[name] = Named(said, rule, self.node.add(name, "part", figures))
        return name

    def remove(self, name: str) -> bool:
        """False: there is none of that name."""
        named = self._named.pop(name, None)
        if named is None:
            return False
        self.faults.remove(named.rule)
        named.node.remove()
        return True

    def names(self) -> list[str]:
        return list(self._named)

    def listed(self) -> list[dict[str, Any]]:
        """As they were written, with their counts."""
        return [
            {**one.said, "fitted": one.rule.fitted, "done": one.rule.done}
            for one in self._named.values()
        ]

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """GET lists rules, POST adds one, DELETE removes all of them, or that of the path."""
        status, answer = await self._answer(scope, receive)
        body = b"" if answer is None else json.dumps(answer).encode()
        headers = [(b"content-type", b"application/json")] if body else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Any, receive: Any) -> tuple[int, Any]:  # noqa: PLR0911 - a table
        name = scope["path"].removeprefix(scope["root_path"] or MOUNT).strip("/")
        match scope["method"], bool(name):
            case "GET", False:
                return 200, {"rules": self.listed()}
            case "POST", False:
                try:
                    return 201, {"name": self.add(json.loads(await _body(receive)))}
                except (ValueError, RecursionError) as error:  # a RuleError is one, too
                    return 400, {"error_code": 400, "message": str(error)}
            case "DELETE", True:
                if self.remove(name):
                    return 204, None
            case "DELETE", False:
                for one in self.names():
                    self.remove(one)
                return 204, None
            case _ if not name:
                return 405, {"error_code": 405, "message": "want GET, POST or DELETE"}
        return 404, {"error_code": 404, "message": f"no rule {name!r}"}


async def _body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ValueError("the client has left")
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise ValueError(f"a rule of more than {LARGEST_BODY} bytes")
        more = message.get("more_body", False)
    return body


@plugin("chaos", settings=ChaosSettings, order=0, enabled=False)
@asynccontextmanager
async def chaos(context: PluginContext[ChaosSettings]) -> AsyncIterator[None]:
    """Makes requests late, fail or lose their connection, by rule."""
    settings = context.settings
    faults = Faults([], settings.seed)
    with context.node.child("rules", "part") as node:
        rules = Rules(faults, context.parts.apis, node, settings.most)
        if settings.rules is not None:
            for number, said in enumerate(await _read(context, settings.rules), 1):
                try:
                    rules.add(said)
                except RuleError as error:
                    raise RuleError(f"{settings.rules}: rule {number}: {error}") from error
        context.around(None, faults.around)
        context.mount(MOUNT, rules.app)
        await trio.lowlevel.checkpoint()
        yield


async def _read(context: PluginContext[ChaosSettings], path: str) -> list[Any]:
    place, _, name = path.rpartition("/")
    file = context.world.directory(place or ("/" if path.startswith("/") else ".")).open(name)
    try:
        text = bytearray(file.size)
        await file.read(0, text)
    finally:
        file.close()
    return read_rules(name, text.decode())
