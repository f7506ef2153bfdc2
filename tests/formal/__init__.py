"""Proofs of this project's own code: statements about the scalar model and the compiled loops, decided by solvers.

`python -m tests.formal` proves them, from the top of a checkout; docs/proved.md lists them.
"""
