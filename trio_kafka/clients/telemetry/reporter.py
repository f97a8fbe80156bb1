"""Task that pushes the metrics of a client to a broker that has subscribed to them (KIP-714).

Nothing of it reaches the user: a broker without telemetry is asked again later, a failure is a
figure of the tree.
"""

from collections.abc import Mapping
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import ClientError, error_of
from trio_kafka.clients.metadata.refresh import Metadata
from trio_kafka.clients.telemetry.machine import State, Subscription, TelemetryMachine
from trio_kafka.clients.telemetry.payload import Deltas
from trio_kafka.introspect.tree import Figures
from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from trio_kafka.protocol.messages.k72_push_telemetry import PushTelemetryRequest
from trio_kafka.records.compression import compress
from trio_kafka.telemetry import otlp

LAST_PUSH_S: Final = 1.0  # the end of a client does not wait longer for it


@define(eq=False, kw_only=True)
class TelemetryReporter:
    """Telemetry of one client. labels: of the client, such as its group. pushes: count."""

    metadata: Metadata
    labels: Mapping[str, str]
    machine: TelemetryMachine = field(factory=TelemetryMachine, init=False)
    pushes: int = field(default=0, init=False)
    last_failure: ClientError | None = field(default=None, init=False)
    _deltas: Deltas = field(init=False)
    _resets: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._deltas = Deltas(self.metadata.world.clock.wall())

    async def run(self) -> NoReturn:
        """Ask and push when it is due, until cancelled."""
        while True:
            await trio.sleep_until(self.machine.next_time)
            await self._step()

    async def close(self) -> None:
        """Push once more, if a subscription is in force, within a second."""
        if self.machine.close():
            with trio.move_on_after(LAST_PUSH_S, shield=True):
                await self._step()
        else:
            await trio.lowlevel.checkpoint()

    def figures(self) -> Figures:
        """Return the figures of the telemetry for the tree."""
        machine = self.machine
        return {
            "state": machine.state.value,
            "pushes": self.pushes,
            "rejected": "" if machine.failure is None else machine.failure.name,
            "last_failure": "" if self.last_failure is None else str(self.last_failure),
        }

    async def _step(self) -> None:
        try:
            node = await self.metadata.wait_broker()
            state = self.machine.begin()
            if state is State.SUBSCRIPTION_IN_PROGRESS:
                await self._subscribe(node)
            elif state is not None:
                await self._push(node)
        except ClientError as error:
            self.last_failure = error
            self.machine.failed(trio.current_time())

    async def _subscribe(self, node: int) -> None:
        response = await self.metadata.links[node].ask(
            GetTelemetrySubscriptionsRequest(self.machine.instance_id), timeout_s=self._timeout_s
        )
        now = trio.current_time()
        code = error_of(response.error_code)
        if code:
            self.machine.rejected(code, now)
            return
        subscription = Subscription(
            instance_id=response.client_instance_id,
            subscription_id=response.subscription_id,
            interval_s=response.push_interval_ms / 1000,
            prefixes=response.requested_metrics,
            codecs=response.accepted_compression_types,
            is_delta=response.delta_temporality,
            largest=response.telemetry_max_bytes,
        )
        self.machine.subscribed(subscription, now, self.metadata.world.random.random())

    async def _push(self, node: int) -> None:
        machine, subscription = self.machine, self.machine.subscription
        if subscription is None:
            raise RuntimeError("a push without a subscription")
        request = PushTelemetryRequest(
            client_instance_id=subscription.instance_id,
            subscription_id=subscription.subscription_id,
            terminating=machine.state is State.LAST_PUSH_IN_PROGRESS,
            compression_type=int(subscription.codec),
            metrics=compress(subscription.codec, self._payload(subscription)),
        )
        response = await self.metadata.links[node].ask(request, timeout_s=self._timeout_s)
        now = trio.current_time()
        code = error_of(response.error_code)
        if code:
            machine.rejected(code, now)
        else:
            self.pushes += 1
            machine.pushed(now)

    def _payload(self, subscription: Subscription) -> bytes:
        if self._resets != self.machine.resets:
            self._resets = self.machine.resets
            self._deltas.clear()
        points = self._deltas.points(
            self.metadata.registry.read(trio.current_time()),
            subscription.prefixes,
            self.metadata.world.clock.wall(),
            is_delta=subscription.is_delta,
        )
        return otlp.encode(points, self.labels)

    @property
    def _timeout_s(self) -> float:
        return self.metadata.settings.request_timeout_s
