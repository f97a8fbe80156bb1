"""The plugin `http`: lifetime of the plane in a broker."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Final

import trio

from trio_kafka.install_hint import install_command
from trio_kafka.plugin import PluginContext, plugin
from trio_kafka.requests.parts import Parts
from trio_kafka.security.delegation_tokens import DelegationTokens
from trio_kafka.security.principal import parse_principal
from trio_kafka_http.access import Access
from trio_kafka_http.accounts import Accounts
from trio_kafka_http.dispatcher import Dispatcher
from trio_kafka_http.host_check import is_loopback
from trio_kafka_http.logins import Logins
from trio_kafka_http.plane import NAME, HttpPlane
from trio_kafka_http.plane_statistics import PlaneStatistics
from trio_kafka_http.sessions import Sessions
from trio_kafka_http.settings import (
    DEFAULT_LISTENERS,
    HttpSettings,
    check_exposure,
    listeners_of,
)
from trio_kafka_http.tls import HttpTls

_SERVER: Final = "hypercorn"
_EXTRA: Final = "trio-kafka[http]"
_DRAIN_S: Final = 2.0  # time for requests in flight at the stop
_SECRET: Final = 32  # bytes
_FAREWELL_S: Final = 3.0  # an open page of the admin UI asks every two seconds


class NoServerError(Exception):
    """The plane is configured, but its packages are not installed."""


# Among the first to start and the last to stop, so that it can report on the others.
@plugin("http", settings=HttpSettings, order=10, deadline_s=30.0, beside=False)
@asynccontextmanager
async def http(context: PluginContext[HttpSettings]) -> AsyncIterator[None]:
    """Serve the ASGI apps that plugins mount, and `/healthz` and `/readyz`, over HTTP."""
    settings = context.settings
    if not _is_on(context):
        yield
        return
    check_exposure(settings)
    statistics = PlaneStatistics(context.counter)
    access = _open_access(context)
    dispatcher = Dispatcher(
        settings=settings,
        access=access,
        deadline_s=context.deadline_s,
        mounts=context.mounts,
        unready=lambda: unready(context.parts),
        failure=lambda: context.parts.lifecycle.failure,
        random_bytes=context.world.random_bytes,
        statistics=statistics,
        logger=context.logger,
    )
    listeners = listeners_of(settings.listeners)
    tls = None
    if any(listener.is_secured for listener in listeners):
        tls = HttpTls(settings, context.world, context.logger)
        await tls.load()
    plane = HttpPlane(
        settings=settings,
        world=context.world,
        dispatcher=dispatcher,
        statistics=statistics,
        node=context.node,
        counter=context.counter,
        logger=context.logger,
        tls=tls,
    )
    bound = await context.nursery.start(plane.run, listeners, name=NAME)
    addresses = ",".join(
        listener.url(address) for listener, address in zip(listeners, bound, strict=True)
    )
    context.logger.info("serving HTTP", at=addresses, access=access.summary())
    for listener in listeners:
        if not listener.is_secured and not is_loopback(listener.endpoint.host):
            at = listener.url(listener.endpoint)
            context.logger.warning("passwords and sessions are sent in clear: use https", at=at)
    yield
    if context.parts.lifecycle.failure and plane.has_connections:
        # Clients learn why the broker ends: the other plugins have stopped, the plane answers 503.
        with context.part_of_the_rest(at_most_s=_FAREWELL_S):
            await trio.sleep_forever()
    with context.part_of_the_rest(at_most_s=_DRAIN_S):
        await plane.drain()


def _open_access(context: PluginContext[HttpSettings]) -> Access:
    """Return the access of the plane, with its nodes in the tree."""
    settings, world, parts = context.settings, context.world, context.parts
    accounts = Accounts(
        image=lambda: parts.metadata.image,
        delegation_tokens=parts[DelegationTokens],
        secret=world.random_bytes(_SECRET),
        token=(settings.token or "").encode(),
        holder=parse_principal(settings.principal),
    )
    logins = Logins(
        accounts,
        secret=world.random_bytes(_SECRET),
        delay_s=lambda: parts.config.connection_failed_authentication_delay_ms / 1000,
        run_in_thread=world.run_in_thread,
        counter=context.counter,
        logger=context.logger,
    )
    sessions = Sessions(
        accounts=accounts,
        random_bytes=world.random_bytes,
        now=trio.current_time,
        idle_s=settings.session_idle_ms / 1000,
        longest_s=settings.session_max_ms / 1000,
        most=settings.max_sessions,
    )
    context.node.add("http-sessions", "channel", sessions.figures)
    context.node.add("http-logins", "channel", logins.queue_figures)
    context.node.add("failed logins", "part", logins.figures)
    return Access(
        logins=logins,
        sessions=sessions,
        authorizer=lambda: parts.authorizer,
        anonymous_changes=settings.anonymous_changes,
    )


def _is_on(context: PluginContext[HttpSettings]) -> bool:
    """Tell if the plane is on. Raises NoServerError."""
    listeners = context.settings.listeners
    if not listeners:
        return False
    if find_spec(_SERVER) is not None:
        return True
    if listeners != DEFAULT_LISTENERS:
        raise NoServerError(f"{_SERVER} is not installed: {install_command(_EXTRA)}")
    context.logger.info("HTTP plane is off", enable=install_command(_EXTRA))
    return False


def unready(parts: Parts) -> Sequence[str]:
    """Return why the broker is not ready for clients; empty if it is."""
    state = parts.lifecycle.state
    reasons = [] if state == "running" else [state]
    registered = parts.metadata.image.brokers.get(parts.node_id)
    if (registered is None or registered.fenced) and "fenced" not in reasons:
        reasons.append("fenced")
    return reasons
