"""Proofs of the example circuits: how long each takes beside its goal, and of each small bug a counterexample or a proof
that it changes nothing.

`python -m tests.campaigns.proofs --help`, from the top of a checkout.
"""
