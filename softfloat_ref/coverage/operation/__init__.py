"""Coverage of operations: positions of exact results, classes of operands, and operands from solvers."""
