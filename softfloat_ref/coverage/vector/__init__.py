"""Coverage of functions of vectors: classes of operands, shapes of vectors, results and how they round."""
