"""How a library is built and installed: make, CMake, pkg-config; and its licence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from softfloat_ref import __version__
from softfloat_ref.export.plan import wrap_line

_MAKEFILE: Final = """\
# SPDX-License-Identifier: 0BSD
CC ?= cc
AR ?= ar
CFLAGS ?= -O3
PREFIX ?= /usr/local
OBJECTS = {objects}

all: lib{name}.a

lib{name}.a: $(OBJECTS)
	rm -f $@
	$(AR) crs $@ $(OBJECTS)

$(OBJECTS) test_{name}.o: {headers}

.c.o:
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

test_{name}: test_{name}.o lib{name}.a
	$(CC) $(CFLAGS) $(LDFLAGS) test_{name}.o lib{name}.a -o $@

check: test_{name}
	./test_{name}

install: all
	mkdir -p $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	cp {public} $(DESTDIR)$(PREFIX)/include
	cp lib{name}.a $(DESTDIR)$(PREFIX)/lib
	sed "s|@PREFIX@|$(PREFIX)|" {name}.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/{name}.pc

clean:
	rm -f lib{name}.a test_{name} test_{name}.o $(OBJECTS)

.PHONY: all check install clean
"""
_CMAKE: Final = """\
# SPDX-License-Identifier: 0BSD
cmake_minimum_required(VERSION 3.14)
project({name} VERSION {version} LANGUAGES C)
include(GNUInstallDirs)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} {sources})
add_library({name}::{name} ALIAS {name})
set_target_properties({name} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}>
  $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}>)

set(PREFIX ${{CMAKE_INSTALL_PREFIX}})
configure_file({name}.pc.in {name}.pc @ONLY)
install(TARGETS {name} EXPORT {name}Config)
install(FILES {public} DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {name}Config NAMESPACE {name}:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/pkgconfig)

enable_testing()
add_executable(test_{name} test_{name}.c)
target_link_libraries(test_{name} {name})
add_test(NAME {name} COMMAND test_{name})
"""
_PKG_CONFIG: Final = """\
# SPDX-License-Identifier: 0BSD
prefix=@PREFIX@

Name: {name}
Description: Floating point in software, by softfloat-ref export --library
Version: {version}
Cflags: -I${{prefix}}/include
Libs: -L${{prefix}}/lib -l{name}
"""
_LICENCE: Final = """\
Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
"""


def build_files(name: str, sources: Sequence[str], headers: Sequence[str], public: Sequence[str]) -> dict[str, str]:
    """The files. name: of the library. sources: without the test program. public: the headers that are installed."""
    objects = " ".join(source.replace(".c", ".o") for source in sources)
    values = {
        "name": name,
        "version": __version__,
        "objects": " \\\n  ".join(wrap_line(objects, "")),
        "sources": " ".join(sources),
        "headers": " ".join(headers),
        "public": " ".join(public),
    }
    texts = {"Makefile": _MAKEFILE, "CMakeLists.txt": _CMAKE, f"{name}.pc.in": _PKG_CONFIG, "LICENSE": _LICENCE}
    return {file: text.format(**values) for file, text in texts.items()}
