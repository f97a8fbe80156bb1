"""Names in the settings of authorization: principals, and what `authorizer.class.name` may be.

Source: StandardAuthorizer and SecurityUtils.parseKafkaPrincipal of Apache Kafka 4.4.0.
"""

from typing import Final

STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""Class of Kafka whose decisions this broker makes itself."""
OF_PLUGIN: Final = "plugin."
"""Begin of a name that stands for the authorizer of a plugin: `plugin.<name>`."""


def split_principal(text: str) -> tuple[str, str]:
    """Return type and name of a principal written as `type:name`. Raises ValueError."""
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise ValueError(f"principal {text!r}: expected type:name, for example User:alice")
    return kind, name


def check_optional_principal(text: str) -> None:
    """Raise ValueError for a text that is neither empty nor a principal."""
    if text:
        split_principal(text)


def split_super_users(text: str) -> tuple[str, ...]:
    """Return the principals of `super.users`, which semicolons separate. Raises ValueError."""
    users = tuple(user for part in text.split(";") if (user := part.strip()))
    for user in users:
        split_principal(user)
    return users


def check_authorizer_class(name: str) -> None:
    """Raise ValueError for a class that this broker cannot stand in for."""
    if name in ("", STANDARD) or name.startswith(OF_PLUGIN):
        return
    raise ValueError(
        f"{name!r} is a Java class, which this broker cannot run: want {STANDARD},"
        f" {OF_PLUGIN}<name> for the authorizer of a plugin, or nothing"
    )
