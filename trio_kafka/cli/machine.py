"""Files and environment of this machine, as the configuration reads them. Blocking."""

import os
from collections.abc import Mapping

from attrs import field

from trio_kafka.attributes import frozen


@frozen
class Machine:
    """This machine. variables: others than the process's in tests and for `lint`."""

    variables: Mapping[str, str] = field(factory=lambda: dict(os.environ))

    def read(self, path: str) -> str:
        """Return the text of a UTF-8 file. Raises OSError, ValueError."""
        with open(path, encoding="utf-8", newline="") as stream:
            try:
                return stream.read()
            except UnicodeDecodeError:
                raise ValueError("the file is not UTF-8: convert it") from None

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)
