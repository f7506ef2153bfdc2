"""Limits of the files that are read. docs/commands.md has them as a table, which a test compares."""

from __future__ import annotations

from typing import Final

MIB: Final = 1 << 20
GIB: Final = 1 << 30

TOML: Final = 2 * MIB  # a file of definitions, a recipe, a suite, a port map, waivers
YAML: Final = MIB // 4  # Bender.yml, Bender.lock, a .core file
JSON: Final = 16 * MIB  # a manifest, a certificate, a report, and others that this package writes
LOG: Final = 64 * MIB  # a log with one JSON object per line, of training or of a proof
NUMBERS: Final = 64 * MIB  # numbers as text
SOURCE: Final = 256 * MIB  # HDL, a file list, and what a tool writes: logs, netlists, results kept between runs
DATA: Final = GIB  # a file of a data set, unpacked if it is a .gz
MODEL: Final = 2 * GIB  # an ONNX model or a safetensors checkpoint, read whole
LISTS: Final = 10_000  # file lists that are read, one that is named twice counted twice
SEARCHED: Final = 1_000_000  # files and folders, among which .core files are searched
LINE: Final = 32 * MIB  # a line of a log of results or of vectors: a matrix product has a million codes
DEPTH: Final = 64  # tables and lists in each other, also by a dotted key
INTEGER: Final = 1 << 1023  # an integer of TOML or JSON is smaller: it fits float64
DIRECTORY: Final = 8 * MIB  # the directory of a zip archive
MEMBERS: Final = 100_000  # of a zip archive
UNPACKED: Final = 64 * MIB  # compressed members may become this, in total,
EXPANSION: Final = 16  # or this many times the archive's size, if that is more
ARRAY_HEADER: Final = 10_000  # of .npy, in bytes
TENSOR_HEADER: Final = 16 * MIB  # of safetensors
PICKLE: Final = 64 * MIB  # data.pkl of a PyTorch file
INSTRUCTIONS: Final = 5_000_000  # of a pickle
TABLES: Final = 20  # tables and lists in each other, in a PyTorch file
VALUES: Final = 10_000_000  # of a PyTorch file: entries of its tables, and characters of their names
TENSORS: Final = 100_000  # of a model
KEY: Final = 10_000  # characters of a name of a tensor or table
