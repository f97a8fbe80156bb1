"""Principals in settings, and names of authorizers."""

import pytest

from trio_kafka.config.authorizer import (
    STANDARD,
    check_authorizer_class,
    check_optional_principal,
    split_principal,
    split_super_users,
)


def test_super_users_are_separated_by_semicolons_as_in_kafka() -> None:
    assert split_super_users(" User:ann ;User:CN=b,O=c;; Group:d ") == (
        "User:ann",
        "User:CN=b,O=c",
        "Group:d",
    )
    assert split_super_users("") == ()


def test_a_super_user_without_a_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'bob': expected type:name"):
        split_super_users("User:ann;bob")


def test_a_name_of_a_principal_may_have_colons() -> None:
    assert split_principal("User:a:b") == ("User", "a:b")


def test_an_optional_principal_is_empty_or_whole() -> None:
    check_optional_principal("")
    check_optional_principal("User:ann")
    with pytest.raises(ValueError, match="expected type:name"):
        check_optional_principal("ann")


@pytest.mark.parametrize("name", ["", STANDARD, "plugin.mine"])
def test_an_authorizer_is_none_that_of_kafka_or_of_a_plugin(name: str) -> None:
    check_authorizer_class(name)


@pytest.mark.parametrize("name", ["kafka.security.authorizer.AclAuthorizer", "pluginmine", " "])
def test_another_authorizer_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is a Java class"):
        check_authorizer_class(name)
