"""Links between pages."""

from tests.trio_kafka_admin.kit import read_html
from trio_kafka_admin.page import Place
from trio_kafka_admin.query import Query


def test_link_query_keeps_names_with_special_characters() -> None:
    name = "listener A://[::1]:1/p & q?#%+ü"
    link = read_html(Place("/ui").link("<x>", "tree", path=name, depth=2)).find("a")

    page, _, query = (link.attributes["href"] or "").partition("?")
    assert (page, link.text) == ("/ui/tree", "<x>")
    parsed_query = Query(query.encode())
    assert (parsed_query.text("path"), parsed_query.text("depth")) == (name, "2")


def test_address_without_parameters_has_no_query() -> None:
    assert Place("/ui").address("queues") == "/ui/queues"
