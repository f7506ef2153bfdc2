"""Mutation testing of the core: small changes of its source, each of which the core suite must notice.

`python -m tests.mutants [MODULE...]` from the top of a checkout; docs/testing.md says how. (tests/mutation is another
thing: bugs in the example circuits, which vectors must show.)
"""
