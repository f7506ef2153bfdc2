"""Everything unrelated to numerics: errors, files, name patterns, .npz archives, executors."""
