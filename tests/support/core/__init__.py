"""The samples of test_core."""
