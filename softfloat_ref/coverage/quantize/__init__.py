"""Coverage of block quantization: the scale's thresholds, elements and their rounding, lanes."""
