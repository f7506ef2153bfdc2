"""Images of memories with one word per case, for FPGA tools: .coe of AMD (Xilinx), .mif of Intel (Altera), and Intel
.hex as Quartus reads it, with an address per word. The words are those for $readmemh, without `_`."""

from __future__ import annotations

from collections.abc import Sequence

from softfloat_ref.base.errors import Error
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.golden.writers.batch import LICENSE, Batch, Data, Facts, word_width
from softfloat_ref.golden.writers.writer import LineWriter

MAX_RECORDS = 1 << 16  # that a .hex file has addresses for without further records
_MAX_BYTES = 255  # of a record


def _digits(vectors: VectorSet) -> int:
    return word_width(vectors.fields) // 4


class _MemoryWriter(LineWriter):
    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        return [bytes(memoryview(batch.words)).replace(b"_", b"")]


class CoeWriter(_MemoryWriter):
    """NAME.coe."""

    key = "coe"
    suffix = ".coe"
    trim = len(",\n")

    def opening(self, vectors: VectorSet) -> bytes:
        names = "_".join(f.name if f.lanes == 1 else f"{f.name}[{f.lanes - 1}:0]" for f in vectors.fields)
        text = f"; {LICENSE}\n; {vectors.name}: {names}, each in whole digits\n"
        return f"{text}memory_initialization_radix=16;\nmemory_initialization_vector=\n".encode("ascii")

    def part(self, vectors: VectorSet, batch: Batch) -> list[Data]:
        return [super().part(vectors, batch)[0].replace(b"\n", b",\n")]

    def foot(self, vectors: VectorSet, facts: Facts) -> bytes:
        return b";\n"

    def record(self, vectors: VectorSet, stream: int) -> int:
        return _digits(vectors) + 2


class MifWriter(_MemoryWriter):
    """NAME.mif."""

    key = "mif"
    suffix = ".mif"

    def head(self, vectors: VectorSet, facts: Facts) -> bytes:
        settings = {"WIDTH": 4 * _digits(vectors), "DEPTH": facts.count, "ADDRESS_RADIX": "HEX", "DATA_RADIX": "HEX"}
        text = "".join(f"{name} = {value};\n" for name, value in settings.items())
        return f"-- {LICENSE}\n-- {vectors.name}\n{text}CONTENT BEGIN\n".encode("ascii")

    def placed(self, vectors: VectorSet, data: Sequence[Data], first: int) -> list[Data]:
        words = bytes(data[0]).split()
        return [b"".join(b"%X : %b;\n" % (first + i, word) for i, word in enumerate(words))]

    def foot(self, vectors: VectorSet, facts: Facts) -> bytes:
        return b"END;\n"


class HexWriter(_MemoryWriter):
    """NAME.hex."""

    key = "ihex"
    suffix = ".hex"

    def check(self, vectors: VectorSet, count: int) -> None:
        if count > MAX_RECORDS:
            raise Error(f"{vectors.name}: {count} vectors; a .hex file holds at most {MAX_RECORDS}: choose mif or coe")
        if self._bytes(vectors) > _MAX_BYTES:
            raise Error(f"{vectors.name}: words of {self._bytes(vectors)} bytes; a .hex file has at most {_MAX_BYTES}")

    def placed(self, vectors: VectorSet, data: Sequence[Data], first: int) -> list[Data]:
        size = self._bytes(vectors)
        lines = []
        for i, word in enumerate(bytes(data[0]).decode("ascii").split(), first):
            record = bytes([size]) + i.to_bytes(2, "big") + b"\0" + bytes.fromhex(word.zfill(2 * size))
            lines.append(f":{record.hex()}{-sum(record) & 0xFF:02x}\n".upper())
        return ["".join(lines).encode("ascii")]

    def foot(self, vectors: VectorSet, facts: Facts) -> bytes:
        return b":00000001FF\n"

    def record(self, vectors: VectorSet, stream: int) -> int:
        return 2 * self._bytes(vectors) + 12

    @staticmethod
    def _bytes(vectors: VectorSet) -> int:
        return -(-_digits(vectors) // 2)
