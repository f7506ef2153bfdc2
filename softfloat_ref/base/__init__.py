"""Everything that is not numerics: errors, files, name patterns, archives of arrays, executors."""
