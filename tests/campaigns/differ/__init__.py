"""Fast paths against the scalar oracle, on whatever is drawn at random."""
