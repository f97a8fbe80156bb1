"""Channels that are full, late or have dropped items."""

from tests.trio_kafka_admin.findings.kit import apply, moment, node
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.channels import dropped, full_channel, late_channel

REQUESTS = "plane data/request-channel/requests"
HANDLERS = Subject("limiter", "num.io.threads of plane data")


def test_full_request_channel_comes_of_the_handlers_of_its_plane() -> None:
    [finding] = apply(full_channel, moment(1.0, node(REQUESTS, "channel", depth=20, bound=20)))

    assert finding.subject == Subject("channel", "request-channel of plane data")
    assert finding.because == (HANDLERS,)
    assert finding.words == "the request channel of plane data is full: 20 of 20 items"


def test_late_channel_of_a_plugin_has_no_other_reason() -> None:
    late = node("plugins/q", "channel", depth=1, bound=5, oldest_s=6.0)

    [finding] = apply(late_channel, moment(1.0, late))

    assert (finding.subject, finding.because) == (Subject("channel", "plugins/q"), ())
    assert finding.age_s == 6.0


def test_channel_that_drops_no_further_items_is_well() -> None:
    before, now = (moment(at, node("log", "channel", dropped=4)) for at in (0.0, 2.0))

    assert apply(dropped, now, before) == []
