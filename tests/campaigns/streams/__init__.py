"""Circuits behind a handshake, drawn at random: what `prove` says beside a bench that stalls at random."""
