"""Circuits in whatever style, drawn at random: what `prove` says beside two simulators that ran their sources."""
