"""Mutation testing of the core: small changes of its source, each of which the core suite must notice.

`python -m tests.campaigns.mutants [MODULE...]` runs it; see docs/testing.md. (tests/campaigns/mutation
is another campaign: bugs in the example circuits, which vectors must show.)
"""
