"""Compiled loops over arrays: the scalar oracle's own rounding functions, run by Numba on 64-bit integers."""
