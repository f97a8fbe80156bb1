import subprocess
import sys

import pytest

from trio_kafka.install_hint import install_command
from trio_kafka.records import columnar


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout


def test_columnar_package_defines_every_name_in_its_all_list() -> None:
    assert all(hasattr(columnar, name) for name in columnar.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["numpy", "pyarrow"])
def test_missing_library_raises_an_error_with_the_install_command(missing: str) -> None:
    said = run(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "try:\n"
        "    import trio_kafka.records.columnar\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )

    assert f"need {missing}" in said
    assert install_command("trio-kafka[columnar]") in said


@pytest.mark.slow
def test_other_missing_module_is_not_attributed_to_the_columnar_extra() -> None:
    said = run(
        "import sys; sys.modules['crc32c'] = None\n"
        "try:\n"
        "    import trio_kafka.records.columnar\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error)\n"
    )

    assert "crc32c" in said
    assert "pip" not in said


@pytest.mark.slow
def test_columnar_package_imports_neither_trio_nor_pandas() -> None:
    said = run(
        "import sys\n"
        "from trio_kafka.records.columnar import decode, encode, scan\n"
        "from trio_kafka.model import TopicPartition\n"
        "from trio_kafka.records.batch import Record, encode_batch\n"
        "log = encode_batch([Record(key=b'k'), Record(value=b'v', headers=[('h', None)])])\n"
        "rows, = decode(log, at=TopicPartition('t', 0))\n"
        "scan(log), encode(rows, timestamp_ms=0)\n"
        "from trio_kafka.records.columnar.lines import join_lines\n"
        "join_lines(rows)\n"
        "print({'trio', 'pandas', 'pyspark'} & set(sys.modules))\n"
    )

    assert said == "set()\n"
