"""Links from a subject to its page."""

from typing import get_args

import pytest

from tests.trio_kafka_admin.kit import read_html
from trio_kafka.introspect.waits import Subject, SubjectKind, member_subject
from trio_kafka_admin.page import Place
from trio_kafka_admin.subject_links import LONGEST, subject_address, subject_link

PLACE = Place("/admin")


@pytest.mark.parametrize(
    ("kind", "name", "address"),
    [
        ("broker", "broker-1", "/admin/tree"),
        ("client", "c 1", "/admin/clients?name=c%201"),
        ("connection", "h:1-h:2-3", "/admin/clients?name=h%3A1-h%3A2-3"),
        ("directory", "/data/a", "/admin/directories"),
        ("group", "a&b", "/admin/groups?name=a%26b"),
        ("member", "g/c/1-uuid", "/admin/groups?name=g"),
        ("member", "50%25 a%2Fb?#/c/1", "/admin/groups?name=50%25%20a%2Fb%3F%23"),
        ("partition", "a-b-12", "/admin/topics?name=a-b"),
        ("plugin", "mask", "/admin/plugins"),
        ("request", "h:1/x/7", "/admin/request?connection=h%3A1%2Fx&correlation=7"),
        ("topic", "rare", "/admin/topics?name=rare"),
        ("transaction", "a b", "/admin/transactions?name=a%20b"),
    ],
)
def test_subject_leads_to_the_page_that_shows_it(
    kind: SubjectKind, name: str, address: str
) -> None:
    assert subject_address(Subject(kind, name), PLACE) == address


@pytest.mark.parametrize("name", ["x" * 30_000, "\udc80"])
@pytest.mark.parametrize("kind", ["group", "partition", "request"])
def test_name_without_an_address_leads_to_the_page_of_all(kind: SubjectKind, name: str) -> None:
    page = {"group": "groups", "partition": "topics", "request": "request"}[kind]

    assert subject_address(Subject(kind, name), PLACE) == f"/admin/{page}"
    assert read_html(subject_link(Subject(kind, name), PLACE)).find("a").text


def test_each_kind_of_subject_has_an_address() -> None:
    for kind in get_args(SubjectKind):
        assert subject_address(Subject(kind, "x"), PLACE).startswith("/admin/")


def test_link_to_a_member_shows_the_id_of_its_group_as_it_is() -> None:
    link = read_html(subject_link(member_subject("a/b%", "c/1"), PLACE))

    assert link.text == "member a/b%/c/1"


def test_link_escapes_and_cuts_the_name() -> None:
    link = read_html(subject_link(Subject("topic", "<script>" + "x" * 30_000), PLACE))

    (shown,) = link.find("a").content
    assert str(shown).startswith("<script>x")
    assert len(str(shown)) == LONGEST
