"""TLS over blocking sockets, for programs without Trio."""

import socket
import ssl
from collections.abc import Callable

from trio_kafka.model import Endpoint
from trio_kafka.security.tls.contexts import client_context
from trio_kafka.security.tls.failures import tls_error
from trio_kafka.security.tls.settings import TlsSettings

Secure = Callable[[socket.socket, Endpoint], socket.socket]


def blocking_tls(settings: TlsSettings) -> Secure:
    """Return a function that wraps connected sockets. Raises ConfigError; reads files.

    The function uses the timeout of its socket, and closes it when it fails.
    Raises TlsError, OSError.
    """
    return wrapped_by(client_context(settings))


def wrapped_by(context: ssl.SSLContext) -> Secure:
    """Return the function of `blocking_tls` for a context."""

    def secure(plain: socket.socket, address: Endpoint) -> socket.socket:
        try:
            return context.wrap_socket(plain, server_hostname=address.host)
        except ssl.SSLError as error:
            plain.close()
            raise tls_error(error, b"") from error
        except BaseException:
            plain.close()
            raise

    return secure
