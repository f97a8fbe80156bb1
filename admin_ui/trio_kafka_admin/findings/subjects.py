"""Subjects that several rules name, so that what comes of one is folded below it."""

from typing import Final

from trio_kafka.introspect.waits import Subject

HANDLERS: Final = "num.io.threads"  # limiter of the request handlers of a plane


def handlers_of(plane: str) -> Subject:
    """Return the handlers of a plane. plane: name of its node, as "plane data", or as "data"."""
    return Subject("limiter", f"plane {plane.removeprefix('plane ')}/request-handlers/{HANDLERS}")


def client_of(client_id: str) -> Subject:
    return Subject("client", client_id)


def member_of(group_id: str, member_id: str) -> Subject:
    return Subject("member", f"{group_id}/{member_id}")
