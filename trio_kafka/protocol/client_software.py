"""Names and versions by which client software introduces itself in ApiVersions (KIP-511)."""

import re
from typing import Final

from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest

FIRST_VERSION: Final = 3
"""The first version of ApiVersions that has them."""
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def names_software(request: ApiVersionsRequest, version: int) -> bool:
    """Return whether name and version are such as KIP-511 wants them, where a request has them."""
    if version < FIRST_VERSION:
        return True
    texts = request.client_software_name, request.client_software_version
    return all(_SOFTWARE.fullmatch(text) for text in texts)
