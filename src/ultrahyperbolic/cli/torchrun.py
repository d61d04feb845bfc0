"""What ``torchrun`` tells a process of itself; nothing heavy is imported to find that out."""

import os


def started_by_torchrun() -> bool:
    """Whether this is one of several processes of a training."""
    return "MASTER_ADDR" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first() -> bool:
    """Whether this process decides, reads and writes."""
    return not started_by_torchrun() or int(os.environ.get("RANK", "0")) == 0


def was_restarted() -> bool:
    """Whether torchrun has started the processes again, because one of them was gone."""
    return started_by_torchrun() and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
