"""Files that a package of any kind has."""

from typing import Final

PYPROJECT: Final = """\
[build-system]
requires = ["hatchling>=1.33"]
build-backend = "hatchling.build"

[project]
name = "@NAME@"
version = "0.1.0"
description = "A plugin for trio-kafka."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["trio-kafka"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."trio_kafka.plugins"]
@NAME@ = "@MODULE@:@MODULE@"

[tool.hatch.build.targets.wheel]
only-include = ["@MODULE@.py"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""
README: Final = """\
# @NAME@

A plugin for trio-kafka. @ABOUT@

    pip install -e .[test]
    pytest
    trio-kafka plugin check
    trio-kafka start --embedded
    trio-kafka plugin list
    trio-kafka plugin reload @NAME@

| Setting | Default | Description |
| --- | --- | --- |
@SETTINGS@

Settings that every plugin has: `enabled`, `order`, `policy` (`isolate`, `restart`, `fatal`),
`deadline.ms`, `limit`, `start.ms`, `drain.ms`, `failures`.
"""
