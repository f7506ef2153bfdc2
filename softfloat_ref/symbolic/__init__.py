"""The oracle's functions on symbolic integers: what a unit computes, as terms of bit vectors, for all inputs."""
