"""The same work over many sessions: on all cores of a machine, or on a Ray cluster."""

from kedgeline.batch.job import BatchJob, Done, map, run
from kedgeline.batch.tasks import TASKS

__all__ = ["TASKS", "BatchJob", "Done", "map", "run"]
