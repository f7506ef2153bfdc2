"""Producers of quantized models, run beside the profiles that have their names: `python -m tests.campaigns.producers`."""
