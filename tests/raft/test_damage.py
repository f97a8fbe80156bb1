import pytest

from trio_kafka.errors import LogDirError
from trio_kafka.log.recovery.damage import Damage
from trio_kafka.raft.damage import MetadataJudge


def damage(**fields):
    defaults = {"path": "/d/m/0.log", "position": 7, "offset": 40, "whole_at": None}
    return Damage(**{**defaults, "lost": False, "later": False, **fields})


@pytest.mark.parametrize(
    "fields", [{}, {"lost": True}, {"lost": True, "whole_at": 90}, {"lost": True, "later": True}]
)
def test_damaged_tail_after_a_power_loss_may_be_truncated(fields):
    MetadataJudge("/d", 40).judge(damage(**fields))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"whole_at": 90}, "whole batches follow at position 90"),
        ({"later": True}, "later segments follow"),
        ({"lost": True, "offset": 39}, "offsets up to 39 were durable"),
    ],
)
def test_damage_to_committed_batches_is_refused_with_the_remedy(fields, reason):
    with pytest.raises(LogDirError) as caught:
        MetadataJudge("/d", 40).judge(damage(**fields))

    assert reason in str(caught.value)
    assert "truncate -s 7 /d/m/0.log" in str(caught.value)


def test_log_that_ends_below_the_durable_offset_is_refused():
    MetadataJudge("/d", 40).check_end(40)
    with pytest.raises(LogDirError, match="ends at offset 39, want 40 or more"):
        MetadataJudge("/d", 40).check_end(39)
