"""The compiled engine of the CPU."""
