from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka_metrics.network import MOST_SOFTWARE, OTHER, read_network

CONNECTIONS = "kafka_server_socket_server_metrics_connection_count"
SOFTWARE = "kafka_server_socket_server_metrics_connections_software"


async def test_connections_are_counted_by_listener_and_client_software(
    autojump_clock: MockClock,
) -> None:
    async with harness({"plugin.metrics.requests": "false"}) as it:
        await it.ask(ApiVersionsRequest(client_software_name="rd", client_software_version="2.1"))
        result = read(read_network, it.parts)

    counts = [value for name, value in result.items() if name.startswith(CONNECTIONS)]
    assert sorted(counts) == [0, 1, 1]
    of_rd = [name for name in result if "clientSoftwareName=rd,clientSoftwareVersion=2.1" in name]
    assert len(of_rd) == 1
    assert result[of_rd[0]] == 1
    assert any("clientSoftwareName=unknown" in name for name in result)
    assert 0 <= result["kafka_network_socketserver_networkprocessoravgidle_percent"] <= 1
    assert 0 <= result["kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"] <= 1
    assert result["kafka_network_requestchannel_requestqueuesize"] == 0


async def test_number_and_length_of_client_software_labels_are_bounded(
    autojump_clock: MockClock,
) -> None:
    async with harness() as it:
        await it.served.ask(ApiVersionsRequest("a", "1"))  # it has come to its processor
        (processor,) = [one for one in it.parts.planes[0].processors if one.connections]
        (real,) = processor.connections.values()

        class Named:
            """A connection, as far as it is looked at."""

            def __init__(self, number: int) -> None:
                self.software = (f"{number}" * 500, "v")

        processor.connections.update({-n: Named(n) for n in range(1, 1000)})
        result = read(read_network, it.parts)
        for n in range(1, 1000):
            del processor.connections[-n]
        assert list(processor.connections.values()) == [real]

    named = {name: value for name, value in result.items() if name.startswith(SOFTWARE)}
    assert len(named) == MOST_SOFTWARE + 1
    assert max(map(len, named)) < 300
    rest = [value for name, value in named.items() if f"clientSoftwareName={OTHER[0]}" in name]
    assert len(rest) == 1
    assert sum(named.values()) == 1000
    assert result["steps"] >= 3 + 1000 // 256


async def test_request_memory_metric_is_absent_if_the_memory_is_unbounded(
    autojump_clock: MockClock,
) -> None:
    async with harness({"plugin.metrics.max.series": "9"}) as free:
        assert "kafka_network_socketserver_memorypoolused" not in read(read_network, free.parts)
