"""The ASGI app: list, add and remove rules, with the plane's token.

Interceptors exist only for APIs with rules, and are plain ones unless a rule delays: without rules,
requests are served as without the plugin. Rules end with the plugin generation that holds them.
"""

import json
from typing import Any, Final

from trio_kafka.introspect.tree import Node
from trio_kafka.plugin import PluginContext
from trio_kafka.plugin_host.contributions import Interception
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka.testing.fault_rules import FaultRules, Named, RuleError
from trio_kafka.testing.faults import FaultInterceptor, Faults
from trio_kafka_builtin.asgi_json import HttpError, read_json, send_json
from trio_kafka_builtin.faults.plugin import FaultSettings

PLANE: Final = "trio_kafka"  # the plane's extension of the scope
_NOT_GUARDED: Final = "faults need a token: set plugin.http.token"
_NO_SUCH: Final = "no rule of that name"


class FaultApi:
    """One app, and the interceptors of its rules."""

    def __init__(self, context: PluginContext[FaultSettings], node: Node) -> None:
        settings = context.settings
        self._context = context
        self._settings = settings
        faults = Faults([], settings.seed)
        self._rules = FaultRules(faults, context.parts.apis, node, most=settings.most)
        self._placed: dict[FaultInterceptor, Interception] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            status, body = await self._answer(scope, receive)
        except HttpError as error:
            status = error.status
            body = {"error_code": status, "message": str(error)}
        await send_json(send, status, body)

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, Any]:
        """Answer a request. Raises HttpError."""
        if not scope.get("extensions", {}).get(PLANE, {}).get("authorized", False):
            raise HttpError(403, _NOT_GUARDED)
        root = scope.get("root_path", "") or self._settings.path
        name = scope["path"].removeprefix(root).strip("/")
        match scope["method"], name:
            case "GET", "":
                return 200, {"rules": [rule.shown() for rule in self._rules]}
            case "GET", _:
                return 200, self._find(name).shown()
            case "POST", "":
                said = await read_json(receive, self._settings.max_body_bytes)
                return 201, self._add(said).shown()
            case "DELETE", "":
                self._rules.clear()
            case "DELETE", _:
                self._find(name)
                self._rules.remove(name)
            case method, _:
                raise HttpError(405, f"{method} is not a path of this app")
        self._place()
        return 204, None

    def _find(self, name: str) -> Named:
        rule = self._rules.find(name)
        if rule is None:
            raise HttpError(404, _NO_SUCH)
        return rule

    def _add(self, said: Any) -> Named:
        try:
            rule = self._rules.add(said)
        except RuleError as error:
            raise HttpError(400, str(error)) from None
        self._place()
        self._context.logger.warning("fault rule added", rule=json.dumps(rule.said))
        return rule

    def _place(self) -> None:
        """Replace the interceptors by those that the rules need. A request finds the new ones or
        the old ones: no other task runs meanwhile.
        """
        needed = self._rules.faults.interceptors()
        for place, standing in list(self._placed.items()):
            if place not in needed:
                self._context.stop_intercepting(standing)
                del self._placed[place]
        for place in needed:
            if place not in self._placed:
                self._placed[place] = self._context.intercept(
                    place.kind, place.request, place.function
                )
