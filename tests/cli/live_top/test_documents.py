"""Documents of the admin UI as values."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.live_top.documents import Groups, Headline, structured


def test_fields_that_the_screen_does_not_show_are_passed_over() -> None:
    document = {"sentence": "a", "more": "b", "clients": 3}

    assert structured("http://host", document, Headline) == Headline(sentence="a", more="b")


@pytest.mark.parametrize("document", [[], None, {}, {"total": "many"}, {"total": 1, "groups": [1]}])
def test_document_of_another_shape_names_the_address(document: object) -> None:
    with pytest.raises(CommandFailedError, match=r"^http://host: .*another version"):
        structured("http://host", document, Groups)
