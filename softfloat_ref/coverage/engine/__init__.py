"""Shared by every kind of coverage: settings, models, directed cases, reports, waivers."""
