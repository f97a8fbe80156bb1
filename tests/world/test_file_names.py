"""What may be a name in a directory."""

import pytest

from trio_kafka.world.file_names import check_name


@pytest.mark.parametrize("name", ["a", "00000000000000000000.log", ".lock", "t-0.x-delete", "..."])
def test_a_single_name_is_given_back(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a/", "/a", "a/../b", "a\0"])
def test_what_leads_elsewhere_is_refused(name):
    with pytest.raises(ValueError, match="want one without slashes"):
        check_name(name)
