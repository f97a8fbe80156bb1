"""Settings of the plugin `mask`."""

from attrs import frozen

from trio_kafka.plugin import integer, password, string, texts


def _check(text: str | None) -> None:
    from trio_kafka_builtin.mask.rules import parse_rules  # noqa: PLC0415 - off by default

    parse_rules(text)


@frozen(kw_only=True)
class MaskSettings:
    """Settings `plugin.mask.<name>`."""

    rules: str = string(
        "", "Masked fields: `topic: field=how field.field=how; topic: ...`.", check=_check
    )
    salt: str | None = password(
        None, "Secret of `hash`: equal values have equal hashes under one salt."
    )
    unreadable: str = string(
        "drop",
        "Values that are not JSON: passed on, replaced by null, or an error.",
        choices=("pass", "drop", "error"),
    )
    max_value_bytes: int = integer(
        65536, "Largest value that is parsed, in one step; larger ones count as not JSON.", low=1
    )
    except_principals: tuple[str, ...] = texts(
        (), "Principals that see all fields, as `User:name`."
    )
    except_clients: tuple[str, ...] = texts(
        (), "Client ids that see all fields. Clients choose their id freely."
    )
    replica_listener: str = string("", "Listener whose followers are trusted; empty: none.")
