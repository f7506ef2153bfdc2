"""Real functions that are not rational: elementary, trigonometric, activation functions. They enter the table."""

from softfloat_ref.oracle.operations.real_functions import activations, elementary, trigonometric  # noqa: F401
