"""A package, since ``benchmarks`` has a module of this name."""
