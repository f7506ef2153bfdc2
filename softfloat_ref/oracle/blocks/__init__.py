"""Blocks, whose elements share a scale: formats, profiles, scale rules, and the quantization of one block."""
