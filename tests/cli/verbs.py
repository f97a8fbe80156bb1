"""Every verb about a cluster, with arguments that suffice to ask for something."""

from typing import Final

from attrs import frozen


@frozen(kw_only=True)
class Verb:
    """A verb. changes: it changes the cluster. stdin: its standard input."""

    words: str
    changes: bool = False
    stdin: bytes = b""


VERBS: Final = [
    Verb(words="consume TOPIC"),
    Verb(words="consume TOPIC --group readers", changes=True),
    Verb(words="produce TOPIC", changes=True, stdin=b"x\n"),
    Verb(words="topic list TOPIC"),
    Verb(words="topic create new", changes=True),
    Verb(words="topic describe TOPIC"),
    Verb(words="topic alter TOPIC --set retention.ms=5", changes=True),
    Verb(words="topic grow TOPIC -p 9", changes=True),
    Verb(words="topic delete TOPIC", changes=True),
    Verb(words="topic trim TOPIC --all", changes=True),
    Verb(words="topic offsets TOPIC"),
    Verb(words="partition list TOPIC"),
    Verb(words="partition move TOPIC --to /two", changes=True),
    Verb(words="partition reassign PLAN", changes=True),
    Verb(words="group list GROUP"),
    Verb(words="group describe GROUP"),
    Verb(words="group lag GROUP"),
    Verb(words="group members GROUP"),
    Verb(words="group seek GROUP --to latest", changes=True),
    Verb(words="group delete GROUP", changes=True),
    Verb(words="acl list"),
    Verb(words="acl create --principal User:a --allow READ --topic a", changes=True),
    Verb(words="acl delete --all", changes=True),
    Verb(words="user list"),
    Verb(words="user create ann --password-file PASSWORD", changes=True),
    Verb(words="user delete ann", changes=True),
    Verb(words="token list"),
    Verb(words="token create", changes=True),
    Verb(words="token renew an-id", changes=True),
    Verb(words="token expire an-id", changes=True),
    Verb(words="quota list"),
    Verb(words="quota set producer_byte_rate=5 --user a", changes=True),
    Verb(words="quota unset producer_byte_rate --user a", changes=True),
    Verb(words="client list"),
    Verb(words="client metrics"),
    Verb(words="cluster describe"),
    Verb(words="cluster health"),
    Verb(words="cluster features"),
    Verb(words="tree"),
    Verb(words="top --times 1"),
    Verb(words="requests"),
    Verb(words="bench produce TOPIC --records 1", changes=True),
    Verb(words="bench consume TOPIC --records 1"),
    Verb(words="bench latency TOPIC --records 1", changes=True),
    Verb(words="jobs list"),
    Verb(words="jobs run retention", changes=True),
    Verb(words="txn list"),
    Verb(words="txn describe a"),
    Verb(words="txn producers --topic TOPIC"),
    Verb(words="txn find-hanging --topic TOPIC"),
    Verb(words="txn abort --topic TOPIC --partition 0 --start-offset 0", changes=True),
    Verb(words="config get topics TOPIC"),
    Verb(words="config set topics TOPIC retention.ms=5", changes=True),
    Verb(words="config unset topics TOPIC retention.ms", changes=True),
    Verb(words="config diff FILE --running"),
    Verb(words="plugin list"),
    Verb(words="plugin reload audit", changes=True),
]
