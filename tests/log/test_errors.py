import errno
import os
import pickle

import pytest

from trio_kafka.errors import ErrorCode
from trio_kafka.log.errors import DiskFullError, LogClosedError, NoDescriptorError, typed_errors


def system_error(number: int) -> OSError:
    return OSError(number, os.strerror(number), "/data/x")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, DiskFullError),
        (errno.EDQUOT, DiskFullError),
        (errno.EMFILE, NoDescriptorError),
        (errno.ENFILE, NoDescriptorError),
    ],
)
def test_full_disk_and_descriptor_exhaustion_raise_errors_of_their_own_types(number, kind):
    with pytest.raises(kind, match="/data/x") as raised, typed_errors():
        raise system_error(number)

    assert raised.value.__cause__ is not None


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.EACCES, errno.ENOENT])
def test_other_system_errors_are_raised_unchanged(number):
    error = system_error(number)

    with pytest.raises(OSError, match="/data/x") as raised, typed_errors():
        raise error

    assert raised.value is error


def test_disk_full_error_keeps_the_errno():
    with pytest.raises(DiskFullError) as raised, typed_errors(), typed_errors():
        raise system_error(errno.ENOSPC)

    assert raised.value.errno == errno.ENOSPC


def test_log_closed_and_no_descriptor_errors_have_retriable_error_codes():
    assert LogClosedError("t-0 is closed").code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert NoDescriptorError("x.log").code is ErrorCode.REPLICA_NOT_AVAILABLE


def test_disk_full_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(DiskFullError(28, "full", "/data/x")))

    assert (type(error), error.errno) == (DiskFullError, 28)
