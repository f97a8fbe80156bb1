"""Quotas in messages."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.quotas import (
    ClientQuotaFilterComponent,
    alter_client_quotas,
    describe_client_quotas,
    quota_entity,
)
from trio_kafka.protocol.messages import k48_describe_client_quotas as k48
from trio_kafka.protocol.messages import k49_alter_client_quotas as k49
from trio_kafka.protocol.structs.cluster import EntityData

USER = quota_entity({"user": "u", "client-id": None})


def test_entity_does_not_depend_on_the_order_of_its_types():
    assert quota_entity({"client-id": None, "user": "u"}) == USER


def test_conditions_are_a_name_the_default_or_any():
    entity = [EntityData("user", "u"), EntityData("client-id", None)]
    entry = k48.EntryData(entity, [k48.ValueData("rate", 1.5)])
    response = k48.DescribeClientQuotasResponse(entries=[entry])
    cluster = Cluster({k48.DescribeClientQuotasRequest: lambda _request: response})
    components = [
        ClientQuotaFilterComponent(entity_type="user", name="u"),
        ClientQuotaFilterComponent(entity_type="client-id", is_default=True),
        ClientQuotaFilterComponent(entity_type="ip"),
    ]

    quotas = cluster.run(describe_client_quotas(components, strict=True))

    assert quotas == {USER: {"rate": 1.5}}
    ((_, request),) = cluster.requests
    assert request.strict
    assert [(row.entity_type, row.match_type, row.match) for row in request.components] == [
        ("user", 0, "u"),
        ("client-id", 1, None),
        ("ip", 2, None),
    ]


def test_response_without_entries_has_no_quotas():
    response = k48.DescribeClientQuotasResponse(entries=None)
    cluster = Cluster({k48.DescribeClientQuotasRequest: lambda _request: response})

    assert cluster.run(describe_client_quotas()) == {}


def test_none_removes_a_quota_and_an_answer_names_entities_in_any_order():
    entity = [EntityData("user", "u"), EntityData("client-id", None)]
    response = k49.AlterClientQuotasResponse(entries=[k49.EntryResult(0, None, entity)])
    cluster = Cluster({k49.AlterClientQuotasRequest: lambda _request: response})

    results = cluster.run(alter_client_quotas({USER: {"a": 2.0, "b": None}}, validate_only=True))

    assert results.all() == {USER: None}
    ((_, request),) = cluster.requests
    assert [(op.key, op.value, op.remove) for op in request.entries[0].ops] == [
        ("a", 2.0, False),
        ("b", 0.0, True),
    ]
    assert request.validate_only
