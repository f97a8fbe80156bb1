"""`trio-kafka config lint`: every error in a configuration, and warnings."""

from argparse import ArgumentParser
from collections.abc import Sequence

from trio_kafka.cli import REJECTED
from trio_kafka.cli.machine import Machine
from trio_kafka.cli.output import declare_json, print_json_line
from trio_kafka.cli.settings import declare_settings, in_order, read_file
from trio_kafka.config.report.lint import Finding, Level, lint, repeated
from trio_kafka.config.setting import ConfigError
from trio_kafka.config.sources.environment import environment


def declare(parser: ArgumentParser) -> None:
    declare_settings(parser)
    parser.add_argument(
        "--no-env",
        dest="env",
        action="store_false",
        help="ignore environment variables KAFKA_…, which `start` reads",
    )
    declare_json(parser, "one JSON object a line for each finding: `level`, `where`, `text`")


def lint_files(*, files: Sequence[str], config: Sequence[str], env: bool, json: bool) -> int:
    """Find errors and warnings in the configuration that `start` would have.

    Ends with status 2 if a broker would not start with it. Starts nothing.
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
        if json:
            level, where, text = finding.level.value, finding.where, finding.text
            print_json_line({"level": level, "where": where, "text": text})
        else:
            print(finding)
    return REJECTED if any(finding.level is Level.ERROR for finding in findings) else 0
