"""The scalar oracle: formats, rounding, operations, blocks, affine integers and dot products, in unbounded integers."""
