"""Coverage of dot products: alignment, cancellation, order, ties, lanes, cases on which accumulators differ."""
