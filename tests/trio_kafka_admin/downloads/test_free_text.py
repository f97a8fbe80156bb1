"""Free text that an anonymous file leaves out."""

from typing import Any

import pytest

from trio_kafka_admin.downloads.free_text import error_kind, without_free_text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ValueError: no such customer: Ada", "ValueError (text left out)"),
        ("log directory /d: OSError: [Errno 5] I/O of Ada", "OSError (text left out)"),
        ("OSError [Errno 5] of Ada", "OSError [Errno 5] (text left out)"),
        ("Ada has left", "(text left out)"),
    ],
)
def test_error_keeps_its_class_and_loses_its_text(text: str, kind: str) -> None:
    assert error_kind(text) == kind


@pytest.mark.parametrize(
    ("row", "copy"),
    [
        (
            {"cause": "new member m-1 (Ada (her) laptop)", "epoch": 3},
            {"cause": "new member m-1 (text left out)", "epoch": 3},
        ),
        ({"records_by": "Python (Ada's)"}, {"records_by": "Python (text left out)"}),
        ({"cause": "bytes", "words": "12 of 13"}, {"cause": "bytes", "words": "12 of 13"}),
        ({"last_error": "Ada", "runs": 1}, {"last_error": "(text left out)", "runs": 1}),
        ({"error": "", "detail": None}, {"error": "", "detail": None}),
        ({"settings": {"url": "//ada"}}, {"settings": {"url": "text left out"}}),
        ({"settings": [{"name": "a"}]}, {"settings": [{"name": "a"}]}),
        (
            {"kind": "failed-job", "title": "job a failed", "more": ": Ada", "words": "..."},
            {
                "kind": "failed-job",
                "title": "job a failed",
                "more": ": (text left out)",
                "words": "job a failed: (text left out)",
            },
        ),
    ],
)
def test_row_loses_its_free_texts_alone(row: dict[str, Any], copy: dict[str, Any]) -> None:
    assert without_free_text(row) == copy
