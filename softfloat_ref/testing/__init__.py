"""A device under test: adapters, comparison, reports."""
