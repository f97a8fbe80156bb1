"""Exit of a process whose threads do not end."""

import logging
import os
import sys
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """Exit at once, whatever still runs, after flushing logs and streams."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
