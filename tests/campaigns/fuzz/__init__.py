"""Fuzzing of every reader: broken input gives one line of the library's own, in bounded time and memory.

`python -m tests.campaigns.fuzz [READER...] [-n COUNT]` from the top of a checkout; see docs/testing.md.
"""
