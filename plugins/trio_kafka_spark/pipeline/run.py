"""`trio-kafka pipeline run`: run a declarative pipeline by pyspark's own `spark-pipelines`.

The process becomes `spark-pipelines`, so signals and the exit status are its own. Spark starts a
Connect server inside the process where no remote one is named.
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

from trio_kafka.cli.broker_options import VARIABLE, declare_cluster
from trio_kafka.cli.cluster_address import SERVERS, Bootstrap
from trio_kafka_spark import python
from trio_kafka_spark.java import JavaError, java_home

FAILED: Final = 1
SPECS: Final = ("spark-pipeline.yml", "spark-pipeline.yaml")
LOCAL: Final = "local[2]"
# Settings that the specification comes too late for. `metastore_db` keeps the names of tables: by
# default they last for one run, and the next one would find only their files.
_ON_ONE_MACHINE: Final[Mapping[str, str]] = {
    "spark.sql.catalogImplementation": "hive",
    "spark.ui.enabled": "false",
}
# Spark 4.3 hands settings to its Connect server in groups of ten and keeps only the last group.
# Six are its own; there is no order to rely on.
_ROOM: Final = 4


def declare(parser: ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.add_argument(
        "directory", nargs="?", default=".", help="the pipeline's directory (default: this one)"
    )
    declare_cluster(parser, purpose="the broker to read from")
    parser.add_argument(
        "--remote", default=LOCAL, help=f"where Spark runs: {LOCAL} (the default), or sc://HOST"
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of Spark; may be repeated",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="check the pipeline, and read no record"
    )
    parser.add_argument(
        "--full-refresh-all", action="store_true", help="compute all tables anew from the start"
    )


def run(
    *,
    directory: str,
    bootstrap: str,
    remote: str,
    conf: Sequence[str],
    dry_run: bool,
    full_refresh_all: bool,
) -> int:
    """Bring the tables of a declarative pipeline up to date, and end."""
    spec = next((name for name in SPECS if Path(directory, name).is_file()), None)
    if spec is None:
        return _fail(
            f"{directory} has no {SPECS[0]}: `trio-kafka pipeline init NAME` writes a pipeline"
        )
    wrong = next((setting for setting in conf if not setting.partition("=")[1]), None)
    if wrong is not None:
        return _fail(f"--conf {wrong}: expected NAME=VALUE")
    room = _ROOM - len(_ON_ONE_MACHINE)
    if is_local(remote) and len(conf) > room:
        return _fail(
            f"{len(conf)} times --conf with {remote}: Spark loses settings beyond {room}; "
            f"put those that a session may change under `configuration:` in {spec}"
        )
    if names := settings_left_out(bootstrap):
        print(
            f"trio-kafka: warning: the pipeline gets the address of the cluster only: put"
            f" {', '.join(names)} into it as kafka.* options",
            file=sys.stderr,
        )
    home = spark_home(os.environ)
    try:
        java = java_home()
    except JavaError as error:
        return _fail(str(error))
    command = command_line(
        home, spec, remote=remote, conf=conf, dry_run=dry_run, full_refresh_all=full_refresh_all
    )
    if not os.access(command[0], os.X_OK):
        return _fail(f"{command[0]} cannot be run: set SPARK_HOME to Spark 4.1 or later")
    os.chdir(directory)
    local = {"SPARK_LOCAL_IP": "127.0.0.1"} if is_local(remote) else {}
    variables = environment(
        os.environ, home=home, java=java, bootstrap=bootstrap, local=is_local(remote)
    )
    return _become(command, {**local, **variables})


def settings_left_out(bootstrap: str) -> list[str]:
    """Return the names of settings of a Bootstrap; a variable has room for its address alone."""
    if not isinstance(bootstrap, Bootstrap):
        return []
    return sorted({*bootstrap.settings, *bootstrap.properties} - {SERVERS})


def is_local(remote: str) -> bool:
    """Tell whether Spark runs in this process."""
    return remote.startswith("local")


def _become(command: Sequence[str], variables: Mapping[str, str]) -> NoReturn:
    sys.stdout.flush()
    os.execve(command[0], [*command], {**variables})  # noqa: S606 - the user's own command


def spark_home(variables: Mapping[str, str]) -> str:
    """Return the directory of Spark: SPARK_HOME, or that of pyspark's wheel.

    Raises ModuleNotFoundError if pyspark is not installed.
    """
    home = variables.get("SPARK_HOME")
    if home:
        return home
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("pyspark is not installed", name="pyspark")
    return str(Path(spec.origin).parent)


def command_line(
    home: str,
    spec: str,
    *,
    remote: str,
    conf: Sequence[str],
    dry_run: bool,
    full_refresh_all: bool,
) -> list[str]:
    """Return the command; settings of the caller come after ours, and win."""
    settings = [f"{name}={value}" for name, value in _ON_ONE_MACHINE.items()]
    all_settings = [*(settings if is_local(remote) else []), *conf]
    options = [word for setting in all_settings for word in ("--conf", setting)]
    refresh = ["--full-refresh-all"] if full_refresh_all and not dry_run else []
    action = "dry-run" if dry_run else "run"
    # The first word is the command: what follows it, spark-submit and the pipeline share.
    return [
        f"{home}/bin/spark-pipelines",
        action,
        "--remote",
        remote,
        *options,
        "--spec",
        spec,
        *refresh,
    ]


def environment(
    variables: Mapping[str, str], *, home: str, java: str | None, bootstrap: str, local: bool
) -> dict[str, str]:
    """Return the variables of the command: workers run this interpreter, whatever the PATH has."""
    child_variables = {**variables, "SPARK_HOME": home}
    child_variables[python.VARIABLE] = python.worker_python(child_variables, local=local)
    if java is not None:
        child_variables["JAVA_HOME"] = java
    child_variables[VARIABLE] = bootstrap
    return child_variables


def _fail(reason: str) -> int:
    print(f"trio-kafka: {reason}", file=sys.stderr)
    return FAILED
