import subprocess
import sys

END = """
import logging, threading
from trio_kafka.world.real.process_exit import end_process
threading.Thread(target=threading.Event().wait).start()  # would keep the process
print("said")
end_process(7)
"""


def test_a_process_ends_with_its_status_and_what_it_said() -> None:
    done = subprocess.run(
        [sys.executable, "-c", END], capture_output=True, text=True, timeout=30, check=False
    )

    assert (done.returncode, done.stdout) == (7, "said\n")
