"""Hints how to install an extra."""

import json
from pathlib import Path

import pytest

from trio_kafka.install_hint import install_command


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a distribution `keeper` look installed, with a `direct_url.json` if there is one."""

    def install(origin: object = None) -> None:
        info = tmp_path / "keeper-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keeper\nVersion: 1.0\n")
        if origin is not None:
            (info / "direct_url.json").write_text(json.dumps(origin))
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_package_installed_from_an_index_is_named_in_the_command(installed) -> None:
    installed()

    assert install_command("keeper[http]") == 'pip install "keeper[http]"'


def test_missing_package_is_named_in_the_command() -> None:
    assert install_command("no-such-package[http]") == 'pip install "no-such-package[http]"'


def test_package_installed_from_a_clone_is_installed_from_the_clone(installed) -> None:
    installed({"url": "file:///srv/ann/my%20keeper", "dir_info": {}})

    assert install_command("keeper[a,b]") == 'pip install "/srv/ann/my keeper[a,b]"'


def test_editable_clone_is_installed_as_editable(installed) -> None:
    installed({"url": "file:///srv/ann/keeper", "dir_info": {"editable": True}})

    assert install_command("keeper[http]") == 'pip install -e "/srv/ann/keeper[http]"'


def test_package_installed_from_a_wheel_is_installed_from_the_wheel(installed) -> None:
    installed({"url": "file:///tmp/keeper-1.0-py3-none-any.whl", "archive_info": {}})

    assert install_command("keeper[http]") == (
        'pip install "/tmp/keeper-1.0-py3-none-any.whl[http]"'
    )


def test_package_installed_from_a_repository_is_installed_from_its_commit(installed) -> None:
    commit = {"vcs": "git", "commit_id": "abc"}
    installed({"url": "https://code.example/keeper", "vcs_info": commit})

    assert install_command("keeper[http]") == (
        'pip install "keeper[http] @ git+https://code.example/keeper@abc"'
    )


def test_package_installed_from_a_url_is_installed_from_the_url(installed) -> None:
    installed({"url": "https://code.example/keeper.whl", "archive_info": {}})

    assert install_command("keeper") == 'pip install "keeper @ https://code.example/keeper.whl"'
