"""Commands of Spark, called as `trio-kafka spark` calls them."""

from argparse import ArgumentParser
from importlib import import_module

from trio_kafka_spark.cli.spark import COMMANDS


def run(name: str, *arguments: object) -> int:
    """Run a command in this process and return its exit status."""
    module, _, function = COMMANDS[name][0].partition(":")
    file = import_module(module)
    parser = ArgumentParser(name)
    file.declare(parser)
    return getattr(file, function)(**vars(parser.parse_args([str(one) for one in arguments])))
