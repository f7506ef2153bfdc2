"""Coverage of vectors: models with named bins, cases that hit them by construction, and reports."""
