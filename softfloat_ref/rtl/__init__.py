"""Vectors into RTL: test benches, port maps and the simulators that run them."""
