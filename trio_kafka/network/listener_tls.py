"""TLS of one listener: its context, which new certificates replace, and principals of clients."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.security.principal import NOBODY, USER, Principal
from trio_kafka.security.tls.certificate import distinguished_name
from trio_kafka.security.tls.contexts import ServerIdentity
from trio_kafka.security.tls.principal_rules import PrincipalRules
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.world.protocols import Socket


@define(eq=False)
class ListenerTls:
    """TLS of a listener. identity: for connections from now on; open ones keep theirs."""

    identity: ServerIdentity
    _rules: PrincipalRules
    _arrived: memoryview = field(factory=new_arrival_buffer, init=False)

    def wrap(self, socket: Socket) -> TlsSocket:
        """Return a socket with TLS over an accepted one, before its handshake."""
        return TlsSocket(socket, self.identity.context, arrived=self._arrived, is_server=True)

    def principal_of(self, socket: TlsSocket) -> Principal:
        """Return the principal of a client's certificate; NOBODY without one.

        Raises NoMatchingRuleError, and ValueError for a certificate that cannot be read.
        """
        certificate = socket.peer_certificate
        if certificate is None:
            return NOBODY
        return Principal(USER, self._rules.name_of(distinguished_name(certificate)))
