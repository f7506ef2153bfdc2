"""Constant expressions drawn at random: both front ends of Yosys beside slang and Icarus."""
