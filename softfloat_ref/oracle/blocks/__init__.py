"""Blocks: elements that share a scale. The formats, the profiles, the scale rules, one block at a time."""
