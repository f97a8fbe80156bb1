import pytest

from trio_kafka.protocol.client_software import names_software
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest


@pytest.mark.parametrize("text", ["a", "7", "apache-kafka-java", "4.4.0", "a.-b", "A1"])
def test_letters_digits_and_marks_within_are_a_name_of_software(text: str) -> None:
    assert names_software(ApiVersionsRequest(text, "1"), 3)
    assert names_software(ApiVersionsRequest("a", text), 4)


@pytest.mark.parametrize("text", ["", "-a", "a-", ".", "a b", "a\n", "ä", "a_b"])
def test_other_texts_are_no_name_of_software(text: str) -> None:
    assert not names_software(ApiVersionsRequest(text, "1"), 3)
    assert not names_software(ApiVersionsRequest("a", text), 3)


def test_requests_before_version_3_have_no_names() -> None:
    assert names_software(ApiVersionsRequest(), 2)
