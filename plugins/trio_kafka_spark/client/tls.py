"""placeholder"""

import ssl
from typing import Any


def context_of(tls: Any) -> ssl.SSLContext:
    raise NotImplementedError
