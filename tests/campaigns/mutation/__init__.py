"""A mutation campaign: how many cases it takes until each of some hundreds of small bugs in the example circuits shows.

A bug is a text of a circuit and what an engineer might have written in its place (tables/CIRCUIT.toml), or one that the
circuit's own input `defect` selects. `python -m tests.campaigns.mutation --help`, from the top of a checkout.
"""
