"""Entry point of `python -m trio_kafka`, equivalent to the command `trio-kafka`."""

import sys

from trio_kafka.cli import main

sys.exit(main())
