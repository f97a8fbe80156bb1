"""A shell whose commands are those of a user, against a broker with delegation tokens."""

import json
from pathlib import Path
from typing import Any

from tests.broker.sasl import PACKAGE, PASSWORDS
from tests.cli.kit import Shell

MODULE = f"{PACKAGE}.scram.ScramLoginModule required"


class Login:
    """Commands of one user."""

    def __init__(self, shell: Shell, directory: Path, user: str = "ann") -> None:
        self.shell = shell
        self._file = directory / f"{user}.properties"
        module = f"{PACKAGE}.plain.PlainLoginModule required"
        self._write("PLAIN", f'{module} username={user} password="{PASSWORDS[user]}";')

    def by_token(self, token_id: str, password: str) -> None:
        """Log in by a token from now on."""
        login = f'{MODULE} username="{token_id}" password="{password}" tokenauth=true;'
        self._write("SCRAM-SHA-512", login)

    def run(self, *words: str) -> str:
        return self.shell.run(*words, "--command-config", str(self._file)).decode()

    def fail(self, *words: str, status: int = 1) -> str:
        return self.shell.fail(*words, "--command-config", str(self._file), status=status)

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))

    def create(self, *words: str) -> Any:
        """Create a token; its row in JSON."""
        (row,) = self.json("token", "create", *words)["changes"]
        return row

    def ids(self) -> set[str]:
        return {row["token_id"] for row in self.json("token", "list")["tokens"]}

    def _write(self, mechanism: str, login: str) -> None:
        lines = ("security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}")
        self._file.write_text("\n".join((*lines, f"sasl.jaas.config={login}")))
