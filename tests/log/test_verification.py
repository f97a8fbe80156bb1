from tests.log.kit import produced
from trio_kafka.log import verification
from trio_kafka.log.verification import Verifications


def begin(verifications: Verifications, *header, now_ms: int = 0, bumps_epoch: bool = False):
    return verifications.begin(produced(*header), now_ms, bumps_epoch=bumps_epoch)


def test_batches_in_flight_of_one_producer_share_a_guard():
    verifications = Verifications()

    first, second, other = (begin(verifications, *of) for of in ((1, 0, 5), (1, 0, 3), (2, 0, 0)))

    assert first is second
    assert other is not first
    assert verifications.get(1).lowest_sequence == 3


def test_guard_after_the_end_of_a_verification_is_another_one():
    verifications = Verifications()
    before = begin(verifications, 1)

    verifications.end(1)
    verifications.end(1)

    assert verifications.get(1) is None
    assert begin(verifications, 1) is not before


def test_newer_epoch_begins_with_its_own_lowest_sequence():
    verifications = Verifications()
    begin(verifications, 1, 4, 2)

    begin(verifications, 1, 5, 9)
    begin(verifications, 1, 4, 1)  # a late batch of the older epoch

    assert (verifications.get(1).epoch, verifications.get(1).lowest_sequence) == (5, 9)


def test_old_verifications_expire_in_the_order_of_their_beginning():
    verifications = Verifications()
    for number in range(4):
        begin(verifications, number, now_ms=100 + number)

    verifications.expire(101)

    assert len(verifications) == 2
    assert verifications.get(1) is None
    assert verifications.get(2) is not None


def test_oldest_of_too_many_verifications_is_forgotten(monkeypatch):
    monkeypatch.setattr(verification, "MOST", 3)
    verifications = Verifications()

    for number in range(4):
        begin(verifications, number)

    assert [verifications.get(number) is None for number in range(4)] == [True, False, False, False]
