"""A broker with the admin UI in virtual time, and pages as a browser takes them in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any

from attrs import Factory, define

from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.testing.asgi import Answer, ask
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_admin.plugin import admin

DASH = "\N{EN DASH}"
VOID = {"meta", "link", "input", "br", "wbr"}


@define(eq=False)
class Element:
    name: str
    attributes: dict[str, str | None]
    content: list["Element | str"] = Factory(list)

    @property
    def text(self) -> str:
        """Without elements, white space as a browser has it."""
        parts = [part if isinstance(part, str) else part.text for part in self.content]
        return " ".join("".join(parts).split())

    def all(self, name: str, /, **attributes: str) -> list["Element"]:
        """All elements of that name below this one, with these attributes; `class_` is `class`."""
        elements = []
        for child in self.content:
            if isinstance(child, str):
                continue
            expected = {key.rstrip("_").replace("_", "-"): text for key, text in attributes.items()}
            if child.name == name and expected.items() <= child.attributes.items():
                elements.append(child)
            elements += child.all(name, **attributes)
        return elements

    def find(self, name: str, /, **attributes: str) -> "Element":
        """The only such element below this one. ValueError if there is none, or more."""
        [result] = self.all(name, **attributes)
        return result


class _Reader(HTMLParser):
    """Takes well-formed pages only: every element that is begun is ended, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), attrs
        element = Element(tag, dict(attrs))
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> ends <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def read_html(text: str) -> Element:
    """A page, or a part of one."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [element.name for element in reader.open] == [""]
    return reader.open[0]


def table_of(page: Element, name: str) -> list[dict[str, str]]:
    """Rows of a table: texts by the head of their column."""
    table = page.find("table", id=name)
    heads = [head.text for head in table.find("thead").all("th")]
    return [
        dict(zip(heads, [cell.text for cell in row.all("td")], strict=True))
        for row in table.find("tbody").all("tr")
    ]


@define(eq=False)
class Ui:
    served: ServedBroker
    principal: Principal = NOBODY

    async def ask(self, target: str, method: str = "GET", **headers: str) -> Answer:
        mount = self.served.broker.plugins.dependencies.mounts.find(target.partition("?")[0])
        assert mount is not None
        extensions = {"trio_kafka": {"principal": self.principal}}
        return await ask(mount.app, method, target, headers=headers, extensions=extensions)

    async def page(self, target: str, status: int = 200) -> Element:
        answer = await self.ask(target)
        assert answer.status == status, answer.body
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        return read_html(answer.body.decode())

    async def json(self, target: str, status: int = 200) -> Any:
        answer = await self.ask(target)
        assert answer.status == status, answer.body
        return answer.json()


@asynccontextmanager
async def admin_ui(
    *others: Plugin, more: dict[str, str] | None = None, **settings: str
) -> AsyncIterator[Ui]:
    admin_settings = {
        f"plugin.admin.{name.replace('_', '.')}": text for name, text in settings.items()
    }
    async with served_broker(
        simulated_world(), {**admin_settings, **(more or {})}, plugins=(admin, *others)
    ) as served:
        yield Ui(served)
