"""A C library: SoftFloat's functions for formats of ours, around one core in C99 (core/), as the files of a folder."""

from softfloat_ref.export.library.folder import library_files, write_library
from softfloat_ref.export.library.policies import SPECIALIZATIONS, LibraryPolicy, library_policy, specialization
from softfloat_ref.export.library.tables import TABLE_WIDTH

__all__ = [
    "SPECIALIZATIONS",
    "TABLE_WIDTH",
    "LibraryPolicy",
    "library_files",
    "library_policy",
    "specialization",
    "write_library",
]


def __dir__() -> list[str]:
    return sorted(__all__)
