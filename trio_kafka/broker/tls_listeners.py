"""TLS of the listeners: contexts for the start, and new certificates while clients are served.

A change of `listener.name.<name>.ssl.*` is checked before it is decided: stores that cannot be used
are INVALID_REQUEST, and so is a certificate with another name or fewer alternative names than the
present one, unless `ssl.allow.dn.changes` or `ssl.allow.san.changes` allows it. Files that change
without a change of settings are noticed by a periodic job. New connections get new certificates;
open ones keep theirs. Source: KIP-226; SslFactory of Apache Kafka 4.4.0.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.dynamic import Layers
from trio_kafka.config.endpoints import NamedEndpoint, SecurityProtocol
from trio_kafka.config.listener_overrides import has_override, override_name, value_for
from trio_kafka.config.setting import ConfigError
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.listener_tls import ListenerTls
from trio_kafka.security.tls.certificate import Certificate
from trio_kafka.security.tls.contexts import ServerIdentity, server_identity
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.world.operator_files import file_stamp
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)
_NAMES: Final = ("listener.security.protocol.map", "listeners")
_RULES: Final = "ssl.principal.mapping.rules"


@frozen
class _Stores:
    """Settings of one listener, and what tells whether its files have changed since."""

    settings: TlsSettings
    files: tuple[object, ...]


@define(eq=False)
class TlsListeners:
    """TLS of the listeners that have it. by_name: for the planes.

    written: the configuration of the files, without dynamic changes.
    """

    _world: World
    _written: BrokerConfig
    _node: Node
    by_name: dict[str, ListenerTls] = field(factory=dict, init=False)
    _served: dict[str, _Stores] = field(factory=dict, init=False)
    _ready: dict[str, tuple[_Stores, ServerIdentity]] = field(factory=dict, init=False)
    _in_force: BrokerConfig = field(init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _replaced: int = field(default=0, init=False)
    _failed: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._in_force = self._written

    async def load(self, config: BrokerConfig) -> None:
        """Make the contexts of the start, and check the stores of the controller's listeners.

        Dynamic settings that cannot be used are logged, and those of the files are used instead.
        Raises ConfigError if those cannot be used either.
        """
        self._in_force = config
        for listener in _secured(config):
            stores = self._stores(config, listener)
            try:
                identity = await self._identity(config, listener, stores.settings)
            except ConfigError as error:
                as_written = self._stores(self._written, listener)
                if as_written.settings == stores.settings:
                    raise
                self._note_failure(listener.name, error)
                stores = as_written
                identity = await self._identity(self._written, listener, stores.settings)
            self._serve(listener.name, stores, identity)
        for listener in config.endpoints.controller:
            if listener.protocol.has_tls:  # is checked, as it is not opened yet
                await self._identity(config, listener, self._stores(config, listener).settings)
                _rules(config, listener.name)
        if self.by_name:
            self._node.add("tls", "part", self._figures)

    @asynccontextmanager
    async def prepared(self, changed: Mapping[str, str]) -> AsyncIterator[None]:
        """Check and make what these settings need, for the duration of the block.

        changed: all dynamic settings of this broker after the change. Raises
        KafkaError(INVALID_REQUEST).
        """
        names = {name: text for name, text in changed.items() if name in _NAMES or ".ssl." in name}
        config = Layers(config=self._written, dynamic=names).usable()[0].effective()
        try:
            for listener in _secured(config):
                stores = self._stores(config, listener)
                if stores == self._served.get(listener.name):
                    continue
                try:
                    identity = await self._identity(config, listener, stores.settings)
                    self._check_names(config, listener.name, identity.certificate)
                except ConfigError as error:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
                self._ready[listener.name] = stores, identity
                if listener.name not in self.by_name:
                    self._serve(listener.name, stores, identity)  # before it is bound
            yield
        finally:
            self._ready = {}

    def follow(self, config: BrokerConfig) -> None:
        """Use what was prepared for the settings in force; the rest is made by `run`."""
        self._in_force = config
        for listener in _secured(config):
            stores = self._stores(config, listener)
            if stores == self._served.get(listener.name):
                continue
            prepared = self._ready.get(listener.name)
            if prepared is not None and prepared[0] == stores:
                self._serve(listener.name, *prepared)
            else:
                self._changed.set()

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Make the contexts of settings in force that were not prepared, until cancelled."""
        task_status.started()
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            await self.reload()

    async def reload(self) -> None:
        """Serve new certificates where settings or files have changed; a failure is logged."""
        await trio.lowlevel.checkpoint()
        config = self._in_force
        for listener in _secured(config):
            stores, served = self._stores(config, listener), self._served.get(listener.name)
            if stores == served:
                continue
            try:
                identity = await self._identity(config, listener, stores.settings)
                self._check_names(config, listener.name, identity.certificate)
            except ConfigError as error:
                self._note_failure(listener.name, error)
                if served is not None:  # once: the next look is about another change
                    self._served[listener.name] = stores
            else:
                self._serve(listener.name, stores, identity)

    def _stores(self, config: BrokerConfig, listener: NamedEndpoint) -> _Stores:
        name = listener.name

        def value_of(setting: str) -> object:
            is_own = has_override(config, name, setting)
            if setting == "ssl.client.auth" and listener.protocol is SecurityProtocol.SASL_SSL:
                # The principal is that of SASL: only a listener's own setting asks (KIP-684).
                return value_for(config, name, setting) if is_own else "none"
            return value_for(config, name, setting)

        settings = TlsSettings.from_values(value_of)
        places = (settings.keystore_location, settings.truststore_location)
        return _Stores(settings, tuple(map(file_stamp, filter(None, places))))

    async def _identity(
        self, config: BrokerConfig, listener: NamedEndpoint, settings: TlsSettings
    ) -> ServerIdentity:
        """Make a context in a thread: the key of a PKCS12 file costs some 10 ms.

        Raises ConfigError, which names the setting as it is written.
        """
        try:
            identity = await self._world.run_in_thread(server_identity, settings)
        except ConfigError as error:
            if has_override(config, listener.name, error.name):
                raise ConfigError(
                    override_name(listener.name, error.name), error.reason, error.where
                ) from None
            raise ConfigError(
                error.name, f"listener {listener.name}: {error.reason}", error.where
            ) from None
        return identity

    def _check_names(self, config: BrokerConfig, name: str, new: Certificate) -> None:
        """Raise ConfigError for a certificate that would be that of another server to clients."""
        present = self.by_name.get(name)
        if present is None:
            return
        old = present.identity.certificate
        if new.name != old.name and not value_for(config, name, "ssl.allow.dn.changes"):
            reason = (
                f"listener {name}: the new certificate is of {new.name}, the present one of"
                f" {old.name}: set ssl.allow.dn.changes if that is meant"
            )
            raise ConfigError("ssl.keystore.location", reason)
        may_lack = value_for(config, name, "ssl.allow.san.changes")
        if not (may_lack or new.alternative_names >= old.alternative_names):
            reason = (
                f"listener {name}: the new certificate lacks alternative names of the present"
                " one: set ssl.allow.san.changes if that is meant"
            )
            raise ConfigError("ssl.keystore.location", reason)

    def _serve(self, name: str, stores: _Stores, identity: ServerIdentity) -> None:
        certificate = identity.certificate
        self._served[name] = stores
        if name in self.by_name:
            self.by_name[name].identity = identity
            self._replaced += 1
            _logger.info(
                "certificate replaced",
                listener=name,
                subject=certificate.name,
                expires=certificate.not_after.isoformat(),
            )
        else:
            self.by_name[name] = ListenerTls(identity, _rules(self._written, name))
            if stores.settings.trusts_public_authorities:
                # As in Java. A rule may take `admin` out of the name admin.stranger.example.
                _logger.warning(
                    "certificates of clients are accepted from every public authority",
                    listener=name,
                    setting="ssl.truststore.location",
                )
        now = datetime.fromtimestamp(self._world.clock.wall(), UTC)
        if not certificate.not_before <= now <= certificate.not_after:
            _logger.warning(
                "certificate is not valid now",
                listener=name,
                setting=identity.setting,
                at=identity.place.removesuffix(": "),
                since=certificate.not_before.isoformat(),
                until=certificate.not_after.isoformat(),
            )

    def _note_failure(self, name: str, error: ConfigError) -> None:
        self._failed += 1
        _logger.error("certificate could not be used", listener=name, reason=str(error))

    @property
    def has_files(self) -> bool:
        """True if a store is a file, which may change."""
        return any(stores.files for stores in self._served.values())

    def _figures(self) -> Figures:
        now = self._world.clock.wall()
        days = {
            f"{name}_expires_in_days": (tls.identity.certificate.not_after.timestamp() - now)
            / 86_400
            for name, tls in self.by_name.items()
        }
        return {"replaced": self._replaced, "failed": self._failed, **days}


def _secured(config: BrokerConfig) -> list[NamedEndpoint]:
    return [listener for listener in config.endpoints.broker if listener.protocol.has_tls]


def _rules(config: BrokerConfig, listener: str) -> PrincipalRules:
    try:
        return PrincipalRules(str(value_for(config, listener, _RULES)))
    except ValueError as error:
        own = has_override(config, listener, _RULES)
        setting = override_name(listener, _RULES) if own else _RULES
        raise ConfigError(setting, str(error)) from None
