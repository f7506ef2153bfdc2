"""Small networks trained in numpy with every tensor in the format under study."""
