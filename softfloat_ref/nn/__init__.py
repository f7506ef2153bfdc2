"""Mixed-precision training: small networks in numpy, every tensor in the format under study."""
