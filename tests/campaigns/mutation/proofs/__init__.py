"""Proofs of the example circuits: how long each takes beside its goal; of each small bug, a counterexample or a proof
that it changes nothing.

`python -m tests.campaigns.mutation.proofs --help`, from the top of a checkout.
"""
