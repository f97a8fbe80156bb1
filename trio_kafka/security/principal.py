"""Who asks, as `Type:name`."""

from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"  # on a connection that proves nothing
