"""Which APIs are audited."""

import pytest

from trio_kafka.plugin import PluginError
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k19_create_topics import CreateTopicsRequest
from trio_kafka.requests.registry import installed_apis
from trio_kafka_builtin.audit.interceptor import apis_of


def test_the_admin_group_contains_the_apis_that_change_the_cluster() -> None:
    names = {function.__name__ for function in apis_of(["admin"], installed_apis())}

    assert {"CreateTopicsRequest", "DeleteTopicsRequest", "AlterConfigsRequest"} <= names
    assert not names & {"ProduceRequest", "FetchRequest", "MetadataRequest"}


def test_api_names_are_accepted_in_any_case_and_repeated_names_once() -> None:
    apis = apis_of(["PRODUCE", "createtopics", "Produce"], installed_apis())

    assert apis == [ProduceRequest, CreateTopicsRequest]


def test_an_unknown_api_name_is_refused() -> None:
    with pytest.raises(PluginError, match="Produec"):
        apis_of(["Produec"], installed_apis())
