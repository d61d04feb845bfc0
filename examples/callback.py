"""Write down a training as it goes on: a callback that adds a line to a CSV file after every chunk
of iterations.

    python examples/callback.py

A chunk takes at most 0.2 s. With ``torch.utils.tensorboard`` it would be
``SummaryWriter.add_scalar`` that is called.
"""

import csv

import ultrahyperbolic as uh
from ultrahyperbolic.engines.base import BatchState
from ultrahyperbolic.loop import Progress

with open("losses.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow(["iteration", "seconds", "loss"])

    def write(progress: Progress[BatchState]) -> None:
        table.writerow([progress.iteration, f"{progress.seconds:.2f}", *progress.loss.tolist()])

    embedding = uh.embed("lesmis", callback=write, quiet=True)

print(f"losses.csv has the losses of {embedding}; the lowest is {embedding.run['best_loss']:.4g}")
