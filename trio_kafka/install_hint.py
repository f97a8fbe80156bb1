"""Command that installs a missing extra, for hints of error messages.

A distribution that no index has yet is installed from a clone or a wheel. Its name alone would not
be found then, so the hint repeats the place from which pip installed it.
Source: PEP 610, `direct_url.json`.
"""

import json
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final, TypedDict
from urllib.parse import unquote, urlsplit

_DIRECT_URL: Final = "direct_url.json"


class _Origin(TypedDict, total=False):
    """Content of `direct_url.json`. Source: PEP 610."""

    url: str
    dir_info: dict[str, bool]
    vcs_info: dict[str, str]


def install_command(requirement: str) -> str:
    """Return the `pip install` command for a requirement such as `trio-kafka[http]`.

    From an index: `pip install "trio-kafka[http]"`. From a clone or a wheel:
    `pip install "/path/to/trio-kafka[http]"`, with `-e` for an editable clone. From a repository:
    `pip install "trio-kafka[http] @ git+https://…@commit"`.
    """
    name, bracket, extras = requirement.partition("[")
    origin = _origin_of(name.strip())
    if origin is None:
        return f'pip install "{requirement}"'
    url = str(origin["url"])
    if urlsplit(url).scheme == "file":
        option = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f'pip install {option}"{unquote(urlsplit(url).path)}{bracket}{extras}"'
    version_control = origin.get("vcs_info")
    if version_control is not None:
        url = f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
    return f'pip install "{requirement} @ {url}"'


def _origin_of(name: str) -> _Origin | None:
    """Return the `direct_url.json` of a distribution; None if it has none."""
    try:
        text = distribution(name).read_text(_DIRECT_URL)
    except (PackageNotFoundError, ValueError):  # ValueError: an empty name
        return None
    origin: _Origin | None = json.loads(text) if text else None
    return origin if isinstance(origin, dict) and "url" in origin else None
