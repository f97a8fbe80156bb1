"""`trio-kafka config lint`: all that is wrong with a configuration, and what is merely odd."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli.machine import Machine
from trio_kafka.cli.settings import REFUSED, declare_settings, in_order, read_file
from trio_kafka.config.report.lint import Finding, Level, lint, repeated
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.environment import environment


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    parser.add_argument(
        "--no-env",
        dest="env",
        action="store_false",
        help="leave out the environment's variables KAFKA_…, which `start` takes into account",
    )


def lint_files(*, files: Sequence[str], config: Sequence[str], env: bool) -> int:
    """Say what is wrong with the configuration that `start` would have, and what is odd.

    Ends with status 2 if a broker would not start with it. Nothing is started.
    """
    machine = Machine()
    findings: list[Finding] = []
    try:
        named = [(file, read_file(file)) for file in files]
        variables, warnings = environment(machine.variables if env else {})
        layers = in_order(((file, dict(pairs)) for file, pairs in named), variables, config)
    except ConfigError as error:
        findings.append(Finding(Level.ERROR, error.where, f"{error.name}: {error.reason}"))
    else:
        findings += [Finding(Level.WARNING, None, warning) for warning in warnings]
        for _, pairs in named:
            findings += repeated(pairs)
        findings += lint(layers, machine)
    for finding in findings:
        print(finding)
    return REFUSED if any(one.level is Level.ERROR for one in findings) else 0
