import pytest
from trio.testing import MockClock

from tests.plugin_host.plugins import EchoRequest, EchoResponse
from trio_kafka.plugin import Context, api
from trio_kafka.security.principal import ANONYMOUS, Principal, parse_principal
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.scripted_client import connected
from trio_kafka.testing.simulation import simulated_world


async def test_an_unauthenticated_client_has_the_principal_anonymous(
    autojump_clock: MockClock,
) -> None:
    seen: list[str] = []

    @api(EchoRequest)
    def echo(request: EchoRequest, context: Context) -> EchoResponse:
        seen.append(context.principal)
        return EchoResponse()

    world = simulated_world()
    async with (
        running_plane(world, [echo]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        await client.ask(EchoRequest(""), 0)

    assert seen == [ANONYMOUS] == ["User:ANONYMOUS"]


def test_a_principal_is_parsed_from_its_own_text() -> None:
    alice = Principal("User", "alice:smith")

    assert parse_principal(str(alice)) == alice


@pytest.mark.parametrize("text", ["", "alice", ":alice", "User:", ":"])
def test_a_text_without_type_or_name_is_not_parsed_as_a_principal(text: str) -> None:
    with pytest.raises(ValueError, match="expected type:name"):
        parse_principal(text)
