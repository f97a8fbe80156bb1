"""Admin client without Trio, for scripts and commands. Same calls, same results.

with open_admin({"bootstrap.servers": "localhost:9092"}) as admin:
    admin.create_topics([NewTopic("orders", partitions=3)]).all()

Importing this module does not import trio. One thread may use a client at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

import attrs

from trio_kafka.attributes import define
from trio_kafka.clients.admin.calls.call import AnyCall, AnyResults, Plan
from trio_kafka.clients.admin.calls.execution import Exchange, execution_of
from trio_kafka.clients.admin.operations import AdminOperations
from trio_kafka.clients.bootstrap import parse_bootstrap
from trio_kafka.clients.errors import Place
from trio_kafka.clients.links.calls import call_error
from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.clients.settings.load import admin_settings
from trio_kafka.clients.settings.security import credentials, tls_settings
from trio_kafka.errors import KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking_links import BlockingLinks, chance, handshakes, now, sleep
from trio_kafka.peers.errors import DamagedAnswerError, PeerError
from trio_kafka.peers.session import Request
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.schema import message_of

__all__ = ["BlockingAdmin", "open_admin"]

if TYPE_CHECKING:
    from trio_kafka.peers.blocking_tls import Secure

T = TypeVar("T")


@define(eq=False, kw_only=True)
class BlockingAdmin(AdminOperations):
    """Admin client of one thread. timeout_s: of each call.

    waits_for_broker: False: an address of `bootstrap.servers` that cannot be reached is an error at
    once, if no broker has answered yet; True: it is tried again until the call's deadline.
    """

    links: BlockingLinks
    bootstrap: Sequence[Endpoint]
    settings: AdminSettings
    timeout_s: float
    waits_for_broker: bool

    def within(self, timeout_s: float) -> "BlockingAdmin":
        """Return this client with another time for each call."""
        return attrs.evolve(self, timeout_s=timeout_s)

    def run(self, plan: Plan[T]) -> T:
        """Run the calls of a plan and return its value. Raises what the plan raises."""
        deadline = now() + self.timeout_s
        results: AnyResults | None = None
        while True:
            try:
                call = plan.send(results)
            except StopIteration as end:
                return cast("T", end.value)
            results = self._execute(call, deadline)

    def _execute(self, call: AnyCall, deadline: float) -> AnyResults:
        settings = self.settings
        execution = execution_of(call, settings.retry_backoff, settings.retries)
        while not execution.is_done and now() < deadline:
            timeout_ms = int(min(settings.request_timeout_s, deadline - now()) * 1000)
            for exchange in execution.exchanges(max(timeout_ms, 1)):
                if now() >= deadline:
                    break
                self._carry(exchange, min(settings.request_timeout_s, deadline - now()))
            if not execution.is_done:
                pause_s = execution.pause_s(chance())
                sleep(max(min(pause_s, deadline - now()), 0.0))
        execution.expire(self.timeout_s)
        return execution.results()

    def _carry(self, exchange: Exchange, timeout_s: float) -> None:
        """Send a request, and give its response or error back."""
        request = cast("Request[object]", exchange.request)
        doing = message_of(type(request)).name.removesuffix("Request")
        if exchange.address is not None:
            addresses: Sequence[Endpoint] = (exchange.address,)
        else:
            addresses = self.links.connected or self.bootstrap
        for number, address in enumerate(addresses):
            name = str(address) if exchange.node is None else f"{exchange.node} ({address})"
            place = Place(broker=f"broker {name}")
            was_reached = bool(self.links.connected)
            share_s = timeout_s / (len(addresses) - number)
            try:
                response = self.links.ask(
                    address, request, timeout_s=share_s, at_most=exchange.at_most
                )
            except (KafkaError, EncodeError, PeerError, DamagedAnswerError) as cause:
                is_sent = isinstance(cause, PeerError | DamagedAnswerError) and cause.sent
                is_refused = isinstance(cause, KafkaError | EncodeError)
                error = call_error(cause, place, doing, sent=is_sent)
                is_last = number == len(addresses) - 1
                if is_sent or is_last or is_refused:
                    if not (was_reached or self.waits_for_broker or is_sent):
                        raise error from cause
                    exchange.failed(error)
                    return
            else:
                exchange.answered(response, place.broker or "")
                return


def _secure(settings: AdminSettings) -> "Secure | None":
    tls = tls_settings(settings)
    if tls is None:
        return None
    # Imported here: importing Python's ssl takes a tenth of a short command.
    from trio_kafka.peers.blocking_tls import blocking_tls  # noqa: PLC0415 - see above

    return blocking_tls(tls)


@contextmanager
def open_admin(
    config: Mapping[str, object], *, waits_for_broker: bool = True
) -> Iterator[BlockingAdmin]:
    """Open an admin client for the duration of a block; it connects with the first call.

    config: settings by Kafka's names, as texts or values. waits_for_broker: see `BlockingAdmin`.
    Raises ConfigError; warns with SettingWarning of settings without effect.
    """
    settings = admin_settings(config)
    links = BlockingLinks(
        client_id=settings.client_id or "adminclient",
        connect_s=settings.socket_connection_setup_timeout_ms / 1000,
        handshake=handshakes(credentials(settings)),
        secure=_secure(settings),
    )
    try:
        yield BlockingAdmin(
            links=links,
            bootstrap=parse_bootstrap(settings.bootstrap_servers),
            settings=settings,
            timeout_s=settings.default_api_timeout_s,
            waits_for_broker=waits_for_broker,
        )
    finally:
        links.close()
