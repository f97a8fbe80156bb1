"""placeholder"""

from typing import Any


def authenticate(connection: Any, sasl: Any) -> float:
    raise NotImplementedError
