"""The steps of a user's work, from a name to an answer: a unit, its vectors, a check, an explanation, a proof; for the
commands, and as `softfloat_ref`'s functions of these names."""
