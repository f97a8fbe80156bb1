"""The table of what is told, held to the messages: each field that it reads is there."""

import importlib
import pkgutil
from typing import Any

import pytest

from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol import messages
from trio_kafka.protocol.messages.k30_create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from trio_kafka.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka_builtin.audit.subjects import (
    MOST,
    MOST_EXAMINED,
    SHAPES,
    Subject,
    name_of,
    subjects_of,
)


def request_class(key: int) -> type[Any]:
    (name,) = [
        info.name
        for info in pkgutil.iter_modules(messages.__path__)
        if int(info.name[1:].split("_")[0]) == key
    ]
    module = importlib.import_module(f"{messages.__name__}.{name}")
    return next(
        value
        for title, value in vars(module).items()
        if title.endswith("Request") and value.__module__ == module.__name__
    )


def filled(cls: type[Any]) -> Any:
    """A message with one item in each array."""
    message = cls()
    for field in fields_of(cls):
        struct = field.of.struct if field.kind == "array" and field.of is not None else None
        if field.kind == "array" and struct is not None:
            setattr(message, field.name, [filled(struct)])
        elif field.kind == "array":
            setattr(
                message,
                field.name,
                ["x"] if field.of is not None and field.of.kind == "string" else [1],
            )
    return message


@pytest.mark.parametrize("key", sorted(SHAPES))
def test_every_field_read_by_the_subject_table_exists_in_the_messages(key: int) -> None:
    request = request_class(key)
    response = message_of(request).response
    assert response is not None

    subjects = subjects_of(key, filled(request), MetadataImage())
    errors = subjects.record_outcomes(filled(response))

    assert set(errors) == {0}
    assert all(subject.type and isinstance(subject.name, str) for subject in subjects.subjects)


def test_results_without_names_are_matched_to_subjects_by_position() -> None:
    request = CreateAclsRequest(
        [AclCreation(2, "a", 3, "User:x", "*", 2, 3), AclCreation(4, "b", 3, "User:x", "*", 2, 3)]
    )
    subjects = subjects_of(30, request, MetadataImage())

    subjects.record_outcomes(
        CreateAclsResponse(results=[AclCreationResult(0), AclCreationResult(29)])
    )

    assert [subject.plain() for subject in subjects.subjects] == [
        {"type": "topic", "name": "a"},
        {"type": "cluster", "name": "b", "error": name_of(29)},
    ]


def test_the_subject_of_a_scram_change_is_the_user_without_the_password() -> None:
    change = ScramCredentialUpsertion("eve", 1, 4096, b"salt", b"secret")
    subjects = subjects_of(
        51, AlterUserScramCredentialsRequest(deletions=[], upsertions=[change]), MetadataImage()
    )

    assert [subject.plain() for subject in subjects.subjects] == [{"type": "user", "name": "eve"}]


def test_long_subject_names_are_cut_and_the_number_of_subjects_is_bounded() -> None:
    class Many:
        topics = [type("T", (), {"name": "x" * 1000, "configs": []})] * (MOST_EXAMINED + 7)

    subjects = subjects_of(19, Many(), MetadataImage())

    assert subjects.count == MOST_EXAMINED + 7
    assert len(subjects.subjects) == MOST_EXAMINED
    assert len(subjects.subjects[0].plain()["name"]) == 256
    assert len(Subject(type="t", name="n", settings=["s"] * 1000).plain()["settings"]) == MOST


def test_an_unknown_error_code_is_named_by_its_number() -> None:
    assert name_of(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert name_of(30000) == "30000"
