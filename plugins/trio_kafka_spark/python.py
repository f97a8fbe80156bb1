"""Choose the interpreter of Spark's workers: this one, with pyspark as it is installed.

Spark puts `pyspark.zip` before all else on the path of its workers. The archive holds sources
alone, so each process compiles what it imports, which takes half a second. On one machine a script
takes the archive off the path and becomes this interpreter.
"""

import os
import sys
import sysconfig
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trio_kafka_spark.launchers import launcher_home, write_launcher

VARIABLE: Final = "PYSPARK_PYTHON"
_LAUNCHER: Final = """#!/bin/sh
# Takes Spark's archives of sources off the path: the same packages are installed, and compiled.
set -f
IFS=:
kept=
for entry in $PYTHONPATH; do
  case $entry in
    */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
    *) kept=$kept${kept:+:}$entry ;;
  esac
done
unset IFS
PYTHONPATH=$kept exec "{python}" "$@"
"""


def worker_python(variables: Mapping[str, str], *, local: bool) -> str:
    """Return the program that PYSPARK_PYTHON should name.

    variables: the environment of Spark; an interpreter that it names is kept, unless it is this
    one. local: workers run on this machine alone.
    """
    launcher = launcher_home("python") / "bin" / "python"
    named = variables.get(VARIABLE, sys.executable)
    if named not in (sys.executable, str(launcher)):
        return named
    if not local or os.name != "posix" or not _is_installed(variables.get("SPARK_HOME")):
        return sys.executable
    try:
        write_launcher(launcher, _LAUNCHER.replace("{python}", sys.executable))
    except OSError:  # a home that cannot be written
        return sys.executable
    return str(launcher)


def _is_installed(home: str | None) -> bool:
    """Tell whether workers find pyspark without the archive, and it is that of Spark's `home`."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return False
    package = Path(spec.origin).parent
    site = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    return package.parent in site and (home is None or Path(home) == package)
