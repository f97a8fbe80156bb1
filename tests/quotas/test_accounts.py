"""Accounts: whose they are, how many there may be, and when they are forgotten."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.tree import Node
from trio_kafka.quotas.accounts import IDLE_MS, UNLIMITED, Account, Accounts
from trio_kafka.quotas.limits import ANY, Payer


def accounts(most: int = 100) -> Accounts[list[int]]:
    return Accounts(
        "Kind",
        make=list,
        node=Node("n", "part"),
        figures=lambda account: {"limit": account.bound},
        most=most,
    )


def payers(kind: Accounts[list[int]]) -> list[Payer]:
    return [account.payer for account in kind]


def test_users_of_a_client_id_quota_share_one_account_for_each_client_id() -> None:
    kind = accounts()
    kind.set(("", ANY), 5.0)

    account = kind.of("alice", "app", 0)
    account.meter.append(1)

    assert account.bound == 5.0
    assert kind.of("bob", "app", 1) is account
    assert kind.of("bob", "other", 1) is not account


def test_bound_of_an_account_changes_with_its_quota() -> None:
    kind = accounts()
    assert kind.of("", "app", 0).bound == UNLIMITED
    kind.set(("", "app"), 5.0)
    assert kind.of("", "app", 0).bound == 5.0
    kind.set(("", "app"), float("inf"))
    assert kind.of("", "app", 0).bound == UNLIMITED
    kind.set(("", "app"), None)
    assert kind.of("", "app", 0).bound == UNLIMITED


def test_accounts_are_active_while_any_quota_is_set() -> None:
    kind = accounts()
    assert not kind.active
    kind.set(("alice", ""), 5.0)
    kind.set((ANY, ""), 6.0)
    kind.set(("alice", ""), None)
    assert kind.active
    kind.set((ANY, ""), None)
    assert not kind.active


def test_account_without_charges_for_an_hour_is_removed() -> None:
    kind = accounts()
    kind.of("", "a", 0)
    kind.of("", "b", 1000)
    kind.of("", "a", 2000)

    kind.expire(1000 + IDLE_MS - 1)
    assert payers(kind) == [Payer("", "b"), Payer("", "a")]
    kind.expire(1000 + IDLE_MS)
    assert payers(kind) == [Payer("", "a")]
    kind.of("", "c", 2000 + IDLE_MS)
    assert payers(kind) == [Payer("", "c")]


def test_number_of_accounts_and_of_their_inspection_nodes_is_bounded() -> None:
    node = Node("n", "part")
    kind: Accounts[list[int]] = Accounts(
        "Kind", make=list, node=node, figures=lambda _: {}, most=1000
    )
    for number in range(5000):
        kind.of("", f"client-{number}", 0)
    assert len(kind) == 1000
    assert len(list(node.walk())) <= 102
    assert Payer("", "client-4999") in payers(kind)
    assert Payer("", "client-0") not in payers(kind)


def test_account_is_in_the_inspection_tree_until_the_account_expires() -> None:
    node = Node("n", "part")
    kind: Accounts[list[int]] = Accounts("Kind", make=list, node=node, figures=shown)
    kind.set(("alice", "app"), 7.0)
    kind.of("alice", "app", 0)

    (kinds,) = node.children
    (child,) = kinds.children
    assert kinds.figures() == {"limits": 1, "accounts": 1, "queue-size": 0}
    assert (child.name, child.figures()) == ("user=alice,client-id=app", {"limit": 7.0})
    kind.expire(IDLE_MS)
    assert not kinds.children


def shown(account: Account[list[int]]) -> dict[str, float]:
    return {"limit": account.bound}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, IDLE_MS)), max_size=40))
def test_last_used_accounts_are_kept_at_the_limit_of_accounts(uses: list[tuple[str, int]]) -> None:
    kind, now = accounts(most=3), 0
    used: dict[str, int] = {}
    for client, later in uses:
        now += later
        kind.of("", client, now)
        used.pop(client, None)
        used[client] = now
        kept = list(used)[-3:]
        assert [account.payer.client_id for account in kind][-1] == client
        assert {account.payer.client_id for account in kind} <= set(kept)
        fresh = {name for name in kept if used[name] > now - IDLE_MS}
        assert fresh <= {account.payer.client_id for account in kind}
