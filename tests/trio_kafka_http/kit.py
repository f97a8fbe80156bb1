"""A plane by itself, apps that behave and misbehave, and a client that speaks HTTP on any World."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import h11
import trio
from attrs import define, field

from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.model import Endpoint
from trio_kafka.plugin_host.mounts import App, Mount, Mounts
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer
from trio_kafka.security.delegation_tokens import DelegationTokens
from trio_kafka.security.principal import parse_principal
from trio_kafka.security.sasl.scram import BY_NUMBER, credential_of, salted_password
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.protocols import Socket
from trio_kafka.world.world import World
from trio_kafka_http.access import Access
from trio_kafka_http.accounts import Accounts
from trio_kafka_http.dispatcher import Dispatcher
from trio_kafka_http.logins import Logins
from trio_kafka_http.plane import HttpPlane
from trio_kafka_http.plane_statistics import PlaneStatistics
from trio_kafka_http.sessions import Sessions
from trio_kafka_http.settings import HttpSettings, listeners_of
from trio_kafka_http.tls import HttpTls

DEADLINE_S = 30.0


@define(eq=False)
class Caller:
    """The connection of a request that came without one."""

    local: str = "127.0.0.1"
    gone: bool = False
    node: Node = field(factory=lambda: Node("caller", "connection"))
    probes_only: bool = False
    aborted: int = 0
    deadlines: list[float] = field(factory=list)
    leave_callback: Callable[[], None] | None = None

    def answer_by(self, deadline: float) -> None:
        self.deadlines.append(deadline)

    def refuse(self) -> None:
        pass

    def when_left(self, call: Callable[[], None]) -> None:
        self.leave_callback = call

    def abort(self) -> None:
        self.aborted += 1
        self.gone = True


@define(kw_only=True, eq=False)
class DispatcherSetup:
    """A dispatcher, and what it was made of. It is the ASGI app of `caller`."""

    dispatcher: Dispatcher
    statistics: PlaneStatistics
    counters: Counters
    caller: Caller
    mounts: Mounts
    access: Access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.dispatcher.serve(scope, receive, send, peer=self.caller)


def mounts_of(apps: Mapping[str, App], checking: Mapping[str, App]) -> Mounts:
    mounts = Mounts()
    mounts.swap((), [Mount(path, app, "test") for path, app in apps.items()])
    mounts.swap((), [Mount(path, app, "test", True) for path, app in checking.items()])
    return mounts


def dispatcher_of(
    apps: Mapping[str, App] | None = None,
    *,
    checking: Mapping[str, App] | None = None,
    unready: Sequence[str] = (),
    failure: str = "",
    deadline_s: float = DEADLINE_S,
    caller: Caller | None = None,
    users: Mapping[str, str] | None = None,
    authorizer: Authorizer = ALLOW_ALL,
    **settings: Any,
) -> DispatcherSetup:
    """users: their passwords. Requests without credentials may change something, by default."""
    counters = Counters()
    statistics = PlaneStatistics(counters.counter)
    numbers = iter(range(1, 1 << 30))
    mounts = mounts_of(apps or {}, checking or {})
    http_settings = HttpSettings(**{"anonymous_changes": True, **settings})
    image = image_of(users or {})
    access = access_of(http_settings, lambda: image, counters, lambda: authorizer)
    dispatcher = Dispatcher(
        settings=http_settings,
        access=access,
        deadline_s=deadline_s,
        mounts=mounts,
        unready=lambda: unready,
        failure=lambda: failure,
        random_bytes=lambda size: next(numbers).to_bytes(size, "big"),
        statistics=statistics,
        logger=get_logger("trio_kafka.plugin.http"),
    )
    return DispatcherSetup(
        dispatcher=dispatcher,
        statistics=statistics,
        counters=counters,
        caller=caller or Caller(),
        mounts=mounts,
        access=access,
    )


def access_of(
    settings: HttpSettings,
    image: Callable[[], MetadataImage],
    counters: Counters,
    authorizer: Callable[[], Authorizer],
) -> Access:
    """The access of a plane in the simulated world; a failed login takes 0.1 s."""
    world = simulated_world()
    accounts = Accounts(
        image=image,
        delegation_tokens=DelegationTokens("", lambda: 0.0, bytes),
        secret=bytes(16),
        token=(settings.token or "").encode(),
        holder=parse_principal(settings.principal),
    )
    logins = Logins(
        accounts,
        secret=bytes(16),
        delay_s=lambda: 0.1,
        run_in_thread=world.run_in_thread,
        counter=counters.counter,
        logger=get_logger("trio_kafka.plugin.http"),
    )
    sessions = Sessions(
        accounts=accounts,
        random_bytes=world.random_bytes,
        now=trio.current_time,
        idle_s=settings.session_idle_ms / 1000,
        longest_s=settings.session_max_ms / 1000,
        most=settings.max_sessions,
    )
    return Access(
        logins=logins,
        sessions=sessions,
        authorizer=authorizer,
        anonymous_changes=settings.anonymous_changes,
    )


@cache
def credential_record(user: str, password: str, number: int = 1) -> UserScramCredentialRecord:
    """A credential of 4,096 iterations."""
    mechanism, salt = BY_NUMBER[number], b"salt of " + user.encode()
    salted = salted_password(mechanism, password, salt=salt, iterations=4096)
    credential = credential_of(mechanism, salted, salt=salt, iterations=4096)
    return UserScramCredentialRecord(
        user,
        number,
        credential.salt,
        credential.stored_key,
        credential.server_key,
        credential.iterations,
    )


def image_of(users: Mapping[str, str]) -> MetadataImage:
    """Metadata with these users, by their passwords."""
    records = {(user, 1): credential_record(user, password) for user, password in users.items()}
    return MetadataImage(
        scram=ImmutableMap[tuple[str, int], UserScramCredentialRecord]().updated(records)
    )


@define(kw_only=True, eq=False)
class Served:
    """A plane that runs. `cancel()` ends it."""

    world: World
    plane: HttpPlane
    endpoints: list[Endpoint]
    node: Node
    counters: Counters
    cancel: Callable[[], None]
    ended: trio.Event

    @property
    def figures(self) -> Mapping[str, Any]:
        return self.node.children[0].figures()

    def nodes(self, kind: str) -> list[Node]:
        return [node for _, node in self.node.walk() if node.kind == kind]


@asynccontextmanager
async def served_plane(
    world: World,
    apps: Mapping[str, App] | None = None,
    *,
    deadline_s: float = DEADLINE_S,
    **settings: Any,
) -> AsyncIterator[Served]:
    fronted = dispatcher_of(apps, deadline_s=deadline_s, **settings)
    http_settings = HttpSettings(**settings)
    node = Node("http", "plugin")
    logger = get_logger("trio_kafka.plugin.http")
    tls = None
    if http_settings.ssl_keystore_key or http_settings.ssl_keystore_location:
        tls = HttpTls(http_settings, world, logger)
        await tls.load()
    plane = HttpPlane(
        settings=http_settings,
        world=world,
        dispatcher=fronted.dispatcher,
        statistics=fronted.statistics,
        node=node,
        counter=fronted.counters.counter,
        logger=logger,
        tls=tls,
    )
    ended = trio.Event()

    async def run(*, task_status: Any) -> None:
        with trio.CancelScope() as scope:
            try:
                await plane.run(
                    listeners_of(http_settings.listeners), task_status=Started(task_status, scope)
                )
            finally:
                ended.set()

    async with trio.open_nursery() as nursery:
        endpoints, scope = await nursery.start(run)
        served = Served(
            world=world,
            plane=plane,
            endpoints=endpoints,
            node=node,
            counters=fronted.counters,
            cancel=scope.cancel,
            ended=ended,
        )
        yield served
        served.cancel()


@define
class Started:
    """Passes on what the plane is ready with, and its scope."""

    status: Any
    scope: trio.CancelScope

    def started(self, value: Any) -> None:
        self.status.started((value, self.scope))


@define(kw_only=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


class HttpClient:
    """One connection; speaks HTTP/1.1 as h11 does."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.http = h11.Connection(h11.CLIENT)

    async def send(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            try:
                unsent = unsent[self.socket.send(unsent) :]
            except BlockingIOError:
                await self.socket.wait_writable()

    async def receive(self, most: int = 65536) -> bytes:
        """The next bytes; b"" at the end. ConnectionError."""
        buffer = bytearray(most)
        while True:
            try:
                return bytes(buffer[: self.socket.receive_into(buffer)])
            except BlockingIOError:
                await self.socket.wait_readable()

    async def ask(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Reply:
        all_headers = {"host": "localhost", **(headers or {})}
        if body:
            all_headers.setdefault("content-length", str(len(body)))
        head = h11.Request(method=method, target=target, headers=list(all_headers.items()))
        await self.send(self.http.send(head) or b"")
        if body:
            await self.send(self.http.send(h11.Data(data=body)) or b"")
        self.http.send(h11.EndOfMessage())
        return await self.reply()

    async def reply(self) -> Reply:
        """The next whole answer. h11.RemoteProtocolError if the connection ends before."""
        reply, chunks = None, []
        while True:
            event = self.http.next_event()
            if event is h11.NEED_DATA:
                self.http.receive_data(await self.receive())
            elif isinstance(event, h11.Response):
                names = {name.decode(): value.decode() for name, value in event.headers}
                reply = Reply(status=event.status_code, headers=names, body=b"")
            elif isinstance(event, h11.Data):
                chunks.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                assert reply is not None
                reply.body = b"".join(chunks)
                if self.http.our_state is h11.DONE:
                    self.http.start_next_cycle()
                return reply

    async def reply_to_nothing(self) -> Reply:
        """An answer that comes unasked."""
        self.http.send(request_of("GET", "/"))
        self.http.send(h11.EndOfMessage())
        return await self.reply()

    async def wait_closed(self) -> bytes:
        """All that still comes; a reset is an end too."""
        received = b""
        try:
            while more := await self.receive():
                received += more
        except ConnectionError:
            pass
        return received


def request_of(method: str, target: str, length: int = 0) -> h11.Request:
    headers = [("host", "localhost"), *([("content-length", str(length))] if length else [])]
    return h11.Request(method=method, target=target, headers=headers)


@asynccontextmanager
async def http_client(world: World, endpoint: Endpoint) -> AsyncIterator[HttpClient]:
    socket = await world.network.connect(endpoint.host, endpoint.port)
    try:
        yield HttpClient(socket)
    finally:
        socket.close()


# --- apps


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Says which path it was asked for, below which root."""
    text = f"{scope['method']} {scope['root_path']} {scope['path']}".encode()
    await start(send)
    await send({"type": "http.response.body", "body": text})


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, and answers with it."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await start(send)
    await send({"type": "http.response.body", "body": body})


async def endless(scope: Any, receive: Any, send: Any) -> None:
    """Sends for ever, without looking whether somebody is there."""
    await start(send)
    while True:
        await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise ZeroDivisionError("the secret of the app")


async def slow(scope: Any, receive: Any, send: Any) -> None:
    await trio.sleep_forever()


async def start(send: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


@asynccontextmanager
async def one_client(
    apps: Mapping[str, App] | None = None, **settings: Any
) -> AsyncIterator[tuple[Served, HttpClient]]:
    """A plane in a simulated world, as `served_plane`, and a client of it."""
    world = simulated_world()
    async with (
        served_plane(world, apps, **settings) as served,
        http_client(world, served.endpoints[0]) as client,
    ):
        yield served, client
