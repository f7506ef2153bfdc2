"""Estimates of reciprocals and roots, their refinement steps, and approximations, as processors have them."""

from __future__ import annotations

from softfloat_ref.oracle.operations.estimates import amd, arm, nvidia, riscv, x86  # noqa: F401  (they enter the table)
