"""Tables of the commands of `trio-kafka`: where each one is, and its line in the list of commands.

Nothing is imported for them: see `trio_kafka.cli`.
"""

from collections.abc import Mapping
from typing import Final

# Name, place of the function, and the line in the list of commands, which imports none of them.
# The command of a group has two words.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "start": ("trio_kafka.cli.start:start", "Run a broker until it is told to stop."),
    "format": ("trio_kafka.cli.format:format_storage", "Give data directories their identity."),
    "consume": ("trio_kafka.cli.consume.command:consume", "Print records of topics."),
    "produce": ("trio_kafka.cli.produce.command:produce", "Write records to a topic."),
    "decode": ("trio_kafka.cli.decode.command:decode", "Print frames of the protocol as JSON."),
    "topic list": ("trio_kafka.cli.topic.list:list_topics", "Show topics."),
    "topic create": ("trio_kafka.cli.topic.create:create", "Create topics."),
    "topic describe": ("trio_kafka.cli.topic.describe:describe", "Show partitions and settings."),
    "topic alter": ("trio_kafka.cli.topic.alter:alter", "Change settings of topics."),
    "topic grow": ("trio_kafka.cli.topic.grow:grow", "Add partitions."),
    "topic delete": ("trio_kafka.cli.topic.delete:delete", "Delete topics."),
    "topic trim": ("trio_kafka.cli.topic.trim:trim", "Delete the oldest records."),
    "topic offsets": ("trio_kafka.cli.topic.offsets:offsets", "Show offsets of partitions."),
    "partition list": (
        "trio_kafka.cli.partition.list:list_partitions",
        "Show where replicas are, and what moves.",
    ),
    "partition move": (
        "trio_kafka.cli.partition.move:move",
        "Move replicas to other directories.",
    ),
    "partition reassign": (
        "trio_kafka.cli.partition.reassign:reassign",
        "Move partitions by a plan.",
    ),
    "group list": ("trio_kafka.cli.group.list:list_groups", "Show groups."),
    "group describe": ("trio_kafka.cli.group.describe:describe", "Show state, members and lag."),
    "group lag": ("trio_kafka.cli.group.lag:lag", "Show how far groups are behind."),
    "group members": ("trio_kafka.cli.group.members:members", "Show members."),
    "group seek": ("trio_kafka.cli.group.seek:seek", "Move committed offsets."),
    "group delete": ("trio_kafka.cli.group.delete:delete", "Delete groups."),
    "acl list": ("trio_kafka.cli.acl.list:list_acls", "Show who may do what."),
    "acl create": ("trio_kafka.cli.acl.create:create", "Allow or deny operations."),
    "acl delete": ("trio_kafka.cli.acl.delete:delete", "Delete entries of ACLs."),
    "user list": ("trio_kafka.cli.user.list:list_users", "Show users of SCRAM."),
    "user create": ("trio_kafka.cli.user.create:create", "Let a user log in."),
    "user delete": ("trio_kafka.cli.user.delete:delete", "Delete users."),
    "token list": ("trio_kafka.cli.token.list:list_tokens", "Show delegation tokens."),
    "token create": ("trio_kafka.cli.token.create:create", "Make a delegation token."),
    "token renew": ("trio_kafka.cli.token.renew:renew", "Let tokens live longer."),
    "token expire": ("trio_kafka.cli.token.expire:expire", "Let tokens end."),
    "cert dev": (
        "trio_kafka.cli.cert.dev:dev",
        "Make an authority and certificates that it signs.",
    ),
    "quota list": ("trio_kafka.cli.quota.list:list_quotas", "Show limits of clients."),
    "quota set": ("trio_kafka.cli.quota.set:set_quotas", "Limit clients."),
    "quota unset": ("trio_kafka.cli.quota.unset:unset_quotas", "Remove limits of clients."),
    "client list": ("trio_kafka.cli.client.list:list_clients", "Show who is connected."),
    "client metrics": ("trio_kafka.cli.client.metrics:metrics", "Show what clients have pushed."),
    "cluster describe": ("trio_kafka.cli.cluster.describe:describe", "Show the brokers."),
    "cluster health": ("trio_kafka.cli.cluster.health:health", "Find partitions in trouble."),
    "cluster features": ("trio_kafka.cli.cluster.features:features", "Show levels of features."),
    "tree": ("trio_kafka.cli.tree:tree", "Show the tasks, queues and figures of a broker."),
    "top": ("trio_kafka.cli.top:top", "Show the load of a broker, again and again."),
    "requests": (
        "trio_kafka.cli.requests:requests",
        "Show requests in flight, the latest, or the slowest.",
    ),
    "bench produce": (
        "trio_kafka.cli.bench.produce:produce",
        "Measure how fast records are stored.",
    ),
    "bench consume": ("trio_kafka.cli.bench.consume:consume", "Measure how fast records are read."),
    "bench latency": (
        "trio_kafka.cli.bench.latency:latency",
        "Measure how long a record takes to a consumer.",
    ),
    "jobs list": ("trio_kafka.cli.jobs.list:list_jobs", "Show the periodic jobs of a broker."),
    "jobs run": ("trio_kafka.cli.jobs.run:run", "Run a periodic job of a broker now."),
    "txn list": ("trio_kafka.cli.txn.list:list_ids", "Show the transactional ids of a broker."),
    "txn describe": ("trio_kafka.cli.txn.describe:describe", "Show transactional ids in full."),
    "txn producers": (
        "trio_kafka.cli.txn.producers:list_producers",
        "Show the producers of partitions.",
    ),
    "txn find-hanging": (
        "trio_kafka.cli.txn.find_hanging:find_hanging",
        "Find transactions that no coordinator ends.",
    ),
    "txn abort": ("trio_kafka.cli.txn.abort:abort", "Abort a transaction."),
    "log dump": ("trio_kafka.cli.log.dump:dump", "Print what files of logs hold."),
    "log verify": ("trio_kafka.cli.log.verify:verify", "Find damage in files of logs."),
    "log stats": ("trio_kafka.cli.log.stats:stats", "Measure partitions by their files."),
    "config explain": ("trio_kafka.cli.config.explain:explain", "List, search, explain settings."),
    "config lint": ("trio_kafka.cli.config.lint:lint_files", "Find mistakes in settings."),
    "config get": ("trio_kafka.cli.config.get:get", "Show settings of the cluster."),
    "config set": ("trio_kafka.cli.config.set:set_values", "Change settings of the cluster."),
    "config unset": ("trio_kafka.cli.config.unset:unset_values", "Go back to defaults."),
    "config diff": ("trio_kafka.cli.config.diff:diff", "Compare settings."),
    "profile add": ("trio_kafka.cli.profile.add:add", "Name a cluster."),
    "profile list": ("trio_kafka.cli.profile.list:list_profiles", "Show the named clusters."),
    "profile show": ("trio_kafka.cli.profile.show:show", "Show the settings of a profile."),
    "profile use": ("trio_kafka.cli.profile.use:use", "Choose the profile of all commands."),
    "profile remove": ("trio_kafka.cli.profile.remove:remove", "Remove profiles."),
    "plugin list": ("trio_kafka.cli.plugin.list:list_plugins", "Show the plugins of a broker."),
    "plugin new": ("trio_kafka.cli.plugin.new:new", "Write a package with a new plugin."),
    "plugin check": ("trio_kafka.cli.plugin.check:check", "Check the installed plugins."),
    "plugin reload": ("trio_kafka.cli.plugin.reload:reload", "Reload a plugin of a broker."),
    "completion": ("trio_kafka.cli.completion.command:completion", "Print a script for a shell."),
    "version": ("trio_kafka.cli.version:version", "Print the version."),
}
GROUPS: Final[Mapping[str, str]] = {
    "bench": "Measure how fast a cluster takes and gives records, from this machine.",
    "jobs": "Show the periodic jobs of a broker, and run one now.",
    "txn": "Show transactions, find those that hang, and end them.",
    "log": "Read, check and measure files of logs, without a broker.",
    "config": "Explain, check and compare settings; show and change those of a cluster.",
    "group": "Show groups of consumers and their lag, move and delete them.",
    "cluster": "Show the brokers of a cluster, and whether it is healthy.",
    "acl": "Show, create and delete entries of access control lists.",
    "user": "Show, create and delete users who log in by SCRAM.",
    "token": "Show, create, renew and end delegation tokens, with which others act for a user.",
    "cert": "Make certificates for development.",
    "quota": "Show, set and remove limits of users, client ids and addresses.",
    "client": "Show who is connected to a broker, and what clients measure.",
    "topic": "Show, create, change and delete topics.",
    "partition": "Show where replicas are, move them to other directories and brokers.",
    "profile": "Name clusters, each with its address and settings of clients.",
    "plugin": "Show, check, create and reload plugins.",
}
FIRST_COMMANDS: Final = """\
The commands that most people need; `trio-kafka --help` lists all:

  trio-kafka start --embedded              run a broker to try
  trio-kafka topic list                    show topics
  trio-kafka topic create NAME             create a topic
  trio-kafka topic describe NAME           show its partitions and settings
  trio-kafka topic alter NAME --set A=B    change its settings
  trio-kafka produce TOPIC                 write records, a line each
  trio-kafka consume TOPIC                 read records; --follow waits for new ones
  trio-kafka group lag                     show how far groups are behind
  trio-kafka group seek NAME --to earliest reset a group; --dry-run first
  trio-kafka cluster health                find partitions in trouble

The broker is the one at --bootstrap, else TRIO_KAFKA_BOOTSTRAP, else that of a profile
(`trio-kafka profile add`), else 127.0.0.1:9092."""
