"""Explains a result step by step, and finds the other choices that give a device's answer."""
