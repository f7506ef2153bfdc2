"""Golden traces: every tensor of a training step, and the operations between them, each recomputed when verified."""
