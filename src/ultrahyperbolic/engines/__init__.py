"""Engines: each advances a batch of runs, and does nothing else."""

from .base import BatchState, Engine, Evaluation, RunSpec, Schedule

__all__ = ["BatchState", "Engine", "Evaluation", "RunSpec", "Schedule"]
