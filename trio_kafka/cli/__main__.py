"""`python -m trio_kafka.cli` is the command `trio-kafka`."""

import sys

from trio_kafka.cli import main

sys.exit(main())
