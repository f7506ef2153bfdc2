"""Producers of quantized models, run beside the profiles of their names: `python -m tests.campaigns.producers`."""
