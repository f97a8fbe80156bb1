from pathlib import Path

import pytest

from tests.project.tree import ROOT, modules, place_of_test

# Modules without a test file of their own, each with what tests them.
TESTED_ELSEWHERE = {
    "plugins/trio_kafka_spark/client/options": "one table: client/test_options.py holds it",
    "admin_ui/trio_kafka_admin/commands": "small commands: test_commands.py runs them",
    "admin_ui/trio_kafka_admin/copying": "sources of tests: test_source.py runs each",
    "admin_ui/trio_kafka_admin/downloads/__init__.py": "a table: held by the tests of each file",
    "plugins/trio_kafka_builtin/fault_commands": "small commands: test_commands.py runs them",
    "trio_kafka/broker/parts/authentication.py": "tests/broker/test_sasl.py logs in by each kind",
    "trio_kafka/network/authenticator.py": "an interface: test_sasl_authenticator.py holds it",
    "trio_kafka/security/sasl/errors.py": "a value: the tests of each mechanism raise it",
    "trio_kafka/security/sasl/exchange.py": "an interface, held by each mechanism",
    "trio_kafka/broker/parts/tls.py": "tests/broker/test_tls_listeners.py starts brokers with it",
    "trio_kafka/clients/group_metadata.py": "values: test_commits.py reads and uses them",
    "trio_kafka/clients/admin/authorized.py": "the tests of descriptions read operations",
    "trio_kafka/clients/admin/calls/call.py": "values: test_execution.py runs calls",
    "trio_kafka/clients/admin/calls/deferred.py": "test_operation.py imports each plan",
    "trio_kafka/clients/admin/calls/targets.py": "values: test_lookup.py looks each up",
    "trio_kafka/clients/admin/group_values.py": "values: test_group_descriptions.py reads them",
    "trio_kafka/clients/admin/operations.py": "a table: test_operation.py holds it",
    "trio_kafka/clients/admin/partitions.py": "test_records.py groups partitions",
    "trio_kafka/clients/admin/topic_values.py": "values: test_topics.py sends and reads them",
    "trio_kafka/clients/consumer/batch.py": "test_consumer.py reads batches",
    "trio_kafka/clients/consumer/opening.py": "every test of the consumer opens one",
    "trio_kafka/clients/consumer/offset_messages.py": "test_offset_requests.py reads requests",
    "trio_kafka/clients/consumer/partition_state.py": "test_positions.py moves each state",
    "trio_kafka/clients/consumer/position_calls.py": "calls: test_consumer.py makes them",
    "trio_kafka/clients/consumer/stream.py": "test_streams.py runs streams",
    "trio_kafka/clients/consumer/values.py": "values: held by the tests of what makes them",
    "trio_kafka/clients/consumer/groups/assignors/values.py": "values: assignors take them",
    "trio_kafka/clients/consumer/groups/listener.py": "hooks: held by the tests of both protocols",
    "trio_kafka/clients/consumer/groups/opening.py": "every test of a group opens one",
    "trio_kafka/clients/consumer/groups/protocol.py": "an interface, held by both protocols",
    "trio_kafka/cli/bench": "commands and their runs: test_commands.py runs each",
    "trio_kafka/cli/txn/partition_producers.py": "the tests of the commands read producers",
    "trio_kafka/cli/produce/plan.py": "values: test_command.py makes plans, test_run.py runs them",
    "trio_kafka/clients/producer/waits.py": "test_producer.py waits for topics and memory",
    "trio_kafka/clients/verifiable": "programs: tests/clients/system drives them",
    "trio_kafka/cli/plugin/templates": "texts: test_kinds.py runs the tests of each",
    "trio_kafka/coordinators/groups/offset_values.py": "values: held by the tests of commits",
    "trio_kafka/coordinators/groups/protocols.py": "interfaces: held by the groups of each type",
    "trio_kafka/introspect/facts": "values: held by the tests of what computes them",
    "trio_kafka/protocol/messages": "tables: one test holds all of them to recorded bytes",
    "trio_kafka/protocol/stored": "tables, as the messages",
    "trio_kafka/protocol/structs": "tables, as the messages",
    "trio_kafka/config/sasl_names.py": "names: the tests of sasl and of its listeners use them",
    "trio_kafka/config/tls.py": "declarations: test_settings.py of security/tls reads them",
    "trio_kafka/network/listener_tls.py": "test_handshakes.py wraps sockets and names clients",
    "trio_kafka/security/tls/errors.py": "two classes: test_failures.py raises them",
    "trio_kafka/security/tls/handshake.py": "test_socket.py and the kit's clients shake hands",
    "trio_kafka/testing/pytest_cleaning.py": "test_pytest_brokers.py runs tests that leave things",
    "trio_kafka/testing/pytest_marks.py": "test_pytest_brokers.py runs tests with marks",
    "trio_kafka/world/protocols.py": "interfaces: held by the contract tests of both worlds",
    "trio_kafka/world/world.py": "an interface, as the protocols",
}


def is_tested_elsewhere(module: Path) -> bool:
    return any(str(place) in TESTED_ELSEWHERE for place in (module, *module.parents))


def test_every_module_has_its_test_file() -> None:
    missing = {
        str(module): str(place_of_test(module))
        for module in modules()
        if not is_tested_elsewhere(module) and not (ROOT / place_of_test(module)).is_file()
    }

    assert missing == {}


def test_every_module_exempt_from_a_test_file_still_exists() -> None:
    assert [place for place in TESTED_ELSEWHERE if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("trio_kafka/model.py", "tests/test_model.py"),
        ("trio_kafka/log/log.py", "tests/log/test_log.py"),
        ("trio_kafka/world/real/network.py", "tests/world/real/test_network.py"),
        ("trio_kafka/cli/__init__.py", "tests/test_cli.py"),
        ("plugins/trio_kafka_apis/k00_produce.py", "tests/apis/test_k00_produce.py"),
        ("plugins/trio_kafka_http/plane.py", "tests/trio_kafka_http/test_plane.py"),
    ],
)
def test_path_of_a_test_file_mirrors_the_path_of_its_module(module: str, test: str) -> None:
    assert place_of_test(Path(module)) == Path(test)
