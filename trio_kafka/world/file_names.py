"""Names of files: valid ones are the same in every world."""


def check_name(name: str) -> str:
    """Return `name`. Raises ValueError if it would lead to another directory."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"file name {name!r}: want one without slashes")
    return name
