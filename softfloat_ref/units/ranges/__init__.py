"""Operand ranges: `a is normal and exponent(b) in 119..134`."""

from __future__ import annotations
