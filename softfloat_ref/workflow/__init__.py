"""The steps of a user's work, from a name to an answer: a unit, its vectors, a check, an explanation, a proof. The
commands and `softfloat_ref`'s functions of these names are made of them."""
