"""Classic groups are described, others are not."""

from functools import partial
from typing import Any

import pytest

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from tests.coordinators.groups.classic.test_requests import OpenGroup
from trio_kafka.coordinators.groups.classic.requests import describe
from trio_kafka.errors import ErrorCode, KafkaError


def described(kit: ClassicKit) -> Any:
    return kit.driver.ask(partial(describe, GROUP))


def test_description_has_the_state_and_members_of_the_group() -> None:
    kit = ClassicKit()
    kit.stable(2)

    result = described(kit)

    assert (result.state, len(result.members)) == ("Stable", 2)


def test_description_waits_until_earlier_records_are_committed() -> None:
    kit = ClassicKit()
    leader, _ = kit.completing()
    kit.driver.hold = True
    kit.sync(leader, {})

    ticket = kit.driver.submit(partial(describe, GROUP))
    assert ticket not in kit.driver.answers
    kit.driver.commit()

    assert kit.driver.answers[ticket].state == "CompletingRebalance"


@pytest.mark.parametrize(
    ("group", "message"),
    [(None, "Group g not found."), (OpenGroup(), "Group g is not a classic group.")],
)
def test_describing_an_unknown_or_other_group_type_raises_group_id_not_found(
    group: Any, message: str
) -> None:
    kit = ClassicKit()
    if group is not None:
        kit.driver.machine.by_id[GROUP] = group

    with pytest.raises(KafkaError) as refused:
        described(kit)

    assert (refused.value.code, refused.value.message) == (ErrorCode.GROUP_ID_NOT_FOUND, message)
