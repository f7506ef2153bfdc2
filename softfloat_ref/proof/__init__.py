"""Proofs that a circuit gives the oracle's answer to every input, and counterexamples where it does not."""
