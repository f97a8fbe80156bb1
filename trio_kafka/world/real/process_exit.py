"""The end of a process that cannot end by itself."""

import logging
import os
import sys
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """End it now, whatever still runs in it; what was written to streams and logs is not lost."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
