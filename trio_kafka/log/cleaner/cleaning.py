"""One cleaning run. Interface only, so far."""

from trio_kafka.log.cleaner.job import Cleaning, CleaningJob
from trio_kafka.world.protocols import Directory


def clean(directory: Directory, job: CleaningJob) -> Cleaning:
    """Clean the segments of `job` in the directory of a partition.

    Raises CleaningError for damage, OSError. Then the caller removes the new files.
    """
    raise NotImplementedError
