"""Estimates of reciprocals and reciprocal square roots, as processors specify them, and their refinement steps."""

from __future__ import annotations

from softfloat_ref.oracle.operations.estimates import amd, arm, riscv, x86  # noqa: F401  (they enter the table)
