"""Replicas in directories, and the wait for their moves."""

import pytest

from tests.cli.kit import Shell
from tests.cli.partition.conftest import Disks
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.admin import open_cluster
from trio_kafka.cli.partition.replicas import read_directories, replicas_in, wait_moved


def test_wait_ends_at_once_and_says_which_replicas_have_not_arrived(
    shell: Shell, disks: Disks
) -> None:
    here, there = disks.new_topic("still")
    with open_cluster(shell.kafka.bootstrap, 30.0) as admin:
        (row,) = [row for row in replicas_in(read_directories(admin)) if row.at.topic == "still"]

        assert wait_moved(admin, {row.at: here}, seconds=0.0) == {}
        (error,) = wait_moved(admin, {row.at: there}, seconds=0.0).values()
        assert f"still-0 on broker 1: the move to {there} has failed" in str(error)


def test_wait_counts_other_work_too(shell: Shell) -> None:
    with (
        open_cluster(shell.kafka.bootstrap, 30.0) as admin,
        pytest.raises(CommandFailedError, match="2 reassignments in progress, after 0 s"),
    ):
        wait_moved(admin, {}, seconds=0.0, also=lambda: 2)
