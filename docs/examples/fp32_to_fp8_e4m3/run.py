# SPDX-License-Identifier: 0BSD
"""Generate the golden vectors of the example circuit, simulate it on them, and say how it went."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import softfloat_ref as sf

HERE = Path(__file__).resolve().parent
TOP, RECIPE = "tb", "fp32_to_fp8_e4m3_rne"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        vectors, work = Path(folder, "vectors"), Path(folder, "work")
        manifest = sf.generate(sf.vectors(RECIPE), vectors)
        simulator = sf.find_simulator()
        print(f"{manifest['count']} vectors of {RECIPE}, simulated by {simulator.name}")
        run = simulator.run(
            [HERE / "tb.sv", HERE / "fp32_to_fp8_e4m3.sv"],
            TOP,
            include_dirs=[vectors],
            plusargs=[f"+vectors={vectors}"],
            work_dir=work,
        )
    print("\n".join(line for line in run.output.splitlines() if not line.startswith("- ")))
    return 0 if run.passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except sf.Error as error:
        print(error, file=sys.stderr)
        sys.exit(2)
