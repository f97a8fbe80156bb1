import socket
import threading

import pytest

from tests.certificates import client, serving, trusting
from trio_kafka.config.setting import ConfigError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking_tls import blocking_tls
from trio_kafka.security.tls.contexts import server_identity
from trio_kafka.security.tls.errors import TlsCertificateError, TlsError

HERE = Endpoint("127.0.0.1", 1)


def shaken(answer: bytes | None = None) -> socket.socket:
    """A client's socket, whose peer shakes hands, or sends an answer without TLS."""
    near, far = socket.socketpair()
    settings = serving()  # not in the thread: two at once would make two authorities

    def serve() -> None:
        try:
            if answer is None:
                server_identity(settings).context.wrap_socket(far, server_side=True).close()
            else:
                far.recv(1000)
                far.sendall(answer)
                far.recv(1000)  # until the client has given up
                far.close()
        except OSError:
            far.close()

    threading.Thread(target=serve).start()
    near.settimeout(10)
    return near


def test_a_socket_is_wrapped_and_the_name_of_the_server_is_checked() -> None:
    secure = blocking_tls(trusting())
    with secure(shaken(), HERE) as secured:
        assert secured.version() == "TLSv1.3"  # type: ignore[attr-defined]
    with pytest.raises(TlsCertificateError, match="Hostname mismatch"):
        secure(shaken(), Endpoint("elsewhere", 1))


def test_a_server_without_trust_or_without_tls_is_an_error_that_closes_the_socket() -> None:
    plain = shaken()
    with pytest.raises(TlsCertificateError, match="not accepted"):
        blocking_tls(trusting(truststore_certificates=client().pem))(plain, HERE)
    assert plain.fileno() == -1
    with pytest.raises(TlsError, match="wrong version number"):
        blocking_tls(trusting())(shaken(b"\0\0\0\x0aplaintext"), HERE)


def test_stores_that_cannot_be_used_are_an_error_before_any_connection() -> None:
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.certificates"):
        blocking_tls(trusting(truststore_certificates="none"))
