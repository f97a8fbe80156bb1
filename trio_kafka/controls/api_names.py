"""APIs of a broker by name, by key, or by the class of their requests."""

from difflib import get_close_matches

from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.registry import Registry

ApiName = str | int | type[object]


class UnknownApiError(ValueError):
    """Name, key or class that is no API of the broker; the message says which are."""


def key_of_api(api: ApiName, apis: Registry) -> int:
    """Return the key of an API, served or narrowed away. Raises UnknownApiError."""
    names = {api.name: api.key for api in apis.with_all_versions()}
    if isinstance(api, type):
        key = message_of(api).key
        if key is not None and key in names.values():
            return key
        raise UnknownApiError(f"this broker does not serve {api.__name__}")
    if isinstance(api, int):
        if api in names.values():
            return api
        raise UnknownApiError(f"this broker has no API with key {api}")
    if api in names:
        return names[api]
    near = get_close_matches(str(api), names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f": want one of {', '.join(sorted(names))}"
    raise UnknownApiError(f"this broker has no {api!r}{hint}")


def name_of_api(key: int, apis: Registry) -> str:
    """Return the name of an API by its key."""
    return next(api.name for api in apis.with_all_versions() if api.key == key)
