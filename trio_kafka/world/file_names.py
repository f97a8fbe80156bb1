"""What may be a name in a directory: the same in every world."""


def check_name(name: str) -> str:
    """`name` itself; ValueError where it would lead to another directory."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a file: want one without slashes")
    return name
