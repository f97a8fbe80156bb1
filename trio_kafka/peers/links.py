"""Links of one user to all nodes, by node id: `await links[leader].ask(request, deadline=...)`.

Each user has links of its own: the fetchers, the sender of transaction markers, the controller's
channel. A request that the peer holds back, such as a Fetch that waits for records, delays only
what follows it on the same link. Kafka has a client for each of these purposes for the same reason.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import TracebackType
from typing import Self

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.peers.link import Link, StreamLink


class Links:
    """Links by node id, each made when it is first used. The block's end closes all connections.

    The tasks that ask must end before the block: an ask that is still connecting is not ended.

    name: of the node in the tree. open_link: returns the link to a node; it does not connect.
    own: links that are not made by `open_link`, such as that to this node itself.
    """

    def __init__(
        self,
        name: str,
        open_link: Callable[[int], StreamLink],
        *,
        own: Mapping[int, Link] | None = None,
        tree: Node | None = None,
    ) -> None:
        self._open_link = open_link
        self._own = dict(own or {})
        self._links: dict[int, StreamLink] = {}
        self._closed = False
        self._node = (
            None
            if tree is None
            else tree.add(name, "part", self._figures, transient=self._link_nodes)
        )

    def __getitem__(self, node: int) -> Link:
        """Return the link to a node; a node that does not exist is an error of its first ask.

        Raises RuntimeError after `close`: nothing would close the new connection.
        """
        own = self._own.get(node)
        if own is not None:
            return own
        if self._closed:
            raise RuntimeError(f"link to node {node}: its links are closed")
        link = self._links.get(node)
        if link is None:
            link = self._links[node] = self._open_link(node)
        return link

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def keep(self, nodes: Collection[int]) -> None:
        """Close and forget links to other nodes: those have left the cluster."""
        for node in self._links.keys() - set(nodes):
            self._links.pop(node).close()

    def close(self) -> None:
        """Close all connections for good. Idempotent."""
        self._closed = True
        self.keep(())
        if self._node is not None:
            self._node.remove()

    def _figures(self) -> Figures:
        connected = sum(link.is_connected for link in self._links.values())
        return {"links": len(self._links), "connected": connected}

    def _link_nodes(self, parent: Node) -> Iterator[Node]:
        for link in self._links.values():
            yield Node(link.name, "connection", link.figures, parent=parent)
