"""Benchmarks: throughput on this machine, beside the peers that are installed.

`python -m tests.bench NAME` runs one, from the top of a checkout; `--help` lists them.
"""
