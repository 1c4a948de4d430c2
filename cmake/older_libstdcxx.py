#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""older_libstdcxx.py FILE...: lets ELF files that GCC 12 linked run with the libstdc++ of GCC 11, which RHEL 9 has.

libstdc++ has std::condition_variable::wait in two versions: GLIBCXX_3.4.11 from GCC 4.4 on, and GLIBCXX_3.4.30 from GCC 12
on, which differs for threads cancelled by pthread_cancel alone. A file that needs the newer version for no other symbol is
changed in place to need the older one. Other files stay as they are.
"""
import struct
import sys

WAIT = b"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
NEWER, OLDER = b"GLIBCXX_3.4.30", b"GLIBCXX_3.4.11"
DYNSYM, VERNEED, VERSYM = 11, 0x6FFFFFFE, 0x6FFFFFFF  # types of sections


class Elf:
    """The parts of a 64-bit little-endian file that say which versions its symbols need."""

    def __init__(self, data):
        self.data = data
        begin, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, begin + i * size) for i in range(count)]

    def section(self, kind):
        return next((s for s in self.sections if s[1] == kind), None)

    def string(self, section, offset):
        begin = self.sections[section[6]][4] + offset
        return bytes(self.data[begin:self.data.index(b"\0", begin)])

    def needs(self):
        """The place and the name of each needed version of each library."""
        section = self.section(VERNEED)
        library = section[4] if section else None
        while library is not None:
            _, count, _, first, following = struct.unpack_from("<HHIII", self.data, library)
            place = library + first
            for _ in range(count):
                name, step = struct.unpack_from("<II", self.data, place + 8)
                yield place, self.string(section, name)
                place += step
            library = library + following if following else None

    def symbols_of(self, version):
        """The names of the symbols that need the version of that number."""
        symbols, versions = self.section(DYNSYM), self.section(VERSYM)
        for i in range(symbols[5] // 24):
            number, = struct.unpack_from("<H", self.data, versions[4] + 2 * i)
            if number & 0x7FFF == version:
                name, = struct.unpack_from("<I", self.data, symbols[4] + 24 * i)
                yield self.string(symbols, name)


def with_older_version(data):
    """Whether the data was changed."""
    elf = Elf(data)
    places = {name: place for place, name in elf.needs()}
    if NEWER not in places or OLDER not in places:
        return False
    number, = struct.unpack_from("<H", data, places[NEWER] + 6)
    if set(elf.symbols_of(number)) != {WAIT}:
        return False
    hash_and_name = slice(0, 4), slice(8, 12)
    for part in hash_and_name:
        older = data[places[OLDER] + part.start:places[OLDER] + part.stop]
        data[places[NEWER] + part.start:places[NEWER] + part.stop] = older
    return True


for file in sys.argv[1:]:
    with open(file, "rb") as source:
        content = bytearray(source.read())
    if content[:6] == b"\x7fELF\2\1" and with_older_version(content):
        with open(file, "r+b") as target:
            target.write(content)
