"""Clients that a quota is about."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.quota.entities import EntityOptions, check_quota, entity_of, entity_words
from trio_kafka.clients.admin.quotas import quota_entity


def test_entity_has_names_and_defaults() -> None:
    options = EntityOptions(user="a", client_id=None, ip=None, default=["client-id"])

    assert entity_of(options) == {"user": "a", "client-id": None}
    assert entity_words(quota_entity(entity_of(options))) == "user=a client-id=(default)"


def test_name_and_default_of_a_type_exclude_each_other() -> None:
    options = EntityOptions(user="a", client_id=None, ip=None, default=["user"])

    with pytest.raises(CommandFailedError, match="--user and --default user exclude"):
        entity_of(options)


def test_unknown_quota_is_an_error_with_the_nearest() -> None:
    with pytest.raises(CommandFailedError, match="did you mean producer_byte_rate"):
        check_quota("producer_byterate")
