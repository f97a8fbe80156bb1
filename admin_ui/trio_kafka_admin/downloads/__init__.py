"""Files that a viewer can keep: each is one module with a `Download`."""

from typing import Final

from trio_kafka_admin.downloads.snapshot import SNAPSHOT
from trio_kafka_admin.downloads.trace import TRACE

DOWNLOADS: Final = {download.name: download for download in (SNAPSHOT, TRACE)}
