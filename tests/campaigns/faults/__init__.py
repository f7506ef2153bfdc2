"""The faults planted in the example small_fpu, one to three at a time: which of them the diagnosis names."""
