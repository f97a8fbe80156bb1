"""Stages of the way of a request."""

from typing import get_args

from trio_kafka_admin.landing.stage import BRANCHES, Stage, StageName


def test_branches_are_stages_and_a_stage_is_well_unless_it_says_why_not() -> None:
    assert set(BRANCHES) < set(get_args(StageName))

    stage = Stage(name="log", title="Log", count=None, unit="")

    assert (stage.state, tuple(stage.why)) == ("well", ())
