"""Readers of models' tensors, and of what proofs and builds keep."""

from __future__ import annotations

import importlib.util
import io
import json
import struct
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
import state_dicts

from fuzz import structures
from fuzz.mutate import json_tree, npy_header, npz_members
from fuzz.reader import Reader, in_file, instead
from softfloat_ref.app import plot_tensors
from softfloat_ref.base import disk_cache
from softfloat_ref.base.disk_cache import stamp
from softfloat_ref.base.errors import HIDDEN, Error
from softfloat_ref.nn.model_files import tensors
from softfloat_ref.nn.model_files.layouts import layout_table
from softfloat_ref.proof import certificate, prove
from softfloat_ref.proof.engine import Tactics
from softfloat_ref.proof.outcome import macro_lines
from softfloat_ref.proof.stimuli import literals
from softfloat_ref.rtl.draft.design import _macros
from softfloat_ref.rtl.sources import read_sources

ONES: Final = np.ones((4, 6), np.float32)
WORDS: Final = ("torch._utils", "_rebuild_tensor_v2", "FloatStorage", "storage", "data.pkl", "m/", "cpu", "0")
CERTIFICATE: Final = {
    "schema": certificate.SCHEMA,
    "tool": "softfloat-ref",
    "sha256": "0",
    "version": "0.1.0",
    "reading": {"files": [{"path": "x.sv", "role": "source", "sha256": "0"}], "tools": {}},
    "solvers": {},
    "second_opinion": {"difference": None},
    "simulated_text": None,
    "cases": [
        {
            "name": "all",
            "verdict": "proved",
            "assumption": "#b1",
            "queries": [
                {"how": "whole", "sha256": "0", "result": "unsat", "seconds": 0.1, "confirmed": {"z3": "unsat"}}
            ],
        }
    ],
    "later": {"verdict": "proved", "said": ""},
    "inputs": {"a": 8, "b": 8},
    "assumption": "#b1",
}
REPORT: Final = {
    "models": ["m.npz"],
    "formats": ["mxfp8_e4m3"],
    "rows": [{"tensor": "w", "format": "mxfp8_e4m3", "values": 24, "sqnr_db": 31.5}],
    "totals": [],
    "skipped": [],
}
SOURCE: Final = b"""package p; typedef enum {A, B} e; endpackage
`define WIDTH 8 // bits
module m import p::*; (input logic [`WIDTH-1:0] a, output logic [7:0] r);
  /* a comment */ wire s = "text" == 1;
  assign r = p::A;
endmodule
"""
LIST: Final = b"+incdir+. // here\n+define+A=1\n-f y.f\nx.sv -D B\n/* none */ -v x.sv\n+libext+.sv -y .\n"


def _use(path: str, _: Path) -> None:
    """The values of small tensors are read; names are fit to be shown."""
    for x in tensors(path):
        assert not HIDDEN.search(x.name + x.type + x.skipped + x.problem), x
        if not x.skipped and x.size < 10_000:
            x.read(0, x.size)


def _npz() -> bytes:
    out = io.BytesIO()
    np.savez(out, w=ONES, h=ONES.astype(np.float16), f=np.asfortranarray(ONES), n=np.arange(3))
    return out.getvalue()


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _pt() -> bytes:
    state = {
        "model": {"w": state_dicts.whole(ONES), "n": state_dicts.whole(np.arange(4))},
        "views": [state_dicts.Tensor(ONES.reshape(-1), (6, 4), (1, 6))],
        "note": ("a", 1.5, None, True, 1 << 70, 3),
    }
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        state_dicts.save(Path(folder) / "m.pt", state, patch)
        return (Path(folder) / "m.pt").read_bytes()


def _safetensors() -> bytes:
    table = {
        "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [2], "data_offsets": [24, 28]},
        "__metadata__": {"format": "pt"},
    }
    head = json.dumps(table).encode()
    return struct.pack("<Q", len(head)) + head + bytes(28)


def _onnx() -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    tensors = [numpy_helper.from_array(ONES, "w"), helper.make_tensor("b", TensorProto.BFLOAT16, [2], [1.5, -2.0])]
    data: bytes = helper.make_model(helper.make_graph([], "g", [], [], tensors)).SerializeToString()
    return data


def _tensors_of(members: dict[str, tuple[str, list[int], int]]) -> bytes:
    """A safetensors file: type, shape, bytes of each tensor."""
    table, end = {}, 0
    for name, (kind, shape, size) in members.items():
        table[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    head = json.dumps(table).encode()
    return struct.pack("<Q", len(head)) + head + bytes(range(1, 120)) * (end // 100 + 1)


def _quantized() -> list[bytes]:
    """Weights of several layouts."""
    files = (
        {
            "a.weight": ("U8", [2, 16], 32),
            "a.weight_scale": ("F8_E4M3", [2, 2], 4),
            "a.weight_scale_2": ("F32", [], 4),
        },
        {
            "b.weight_packed": ("I32", [2, 4], 32),
            "b.weight_scale": ("BF16", [2, 1], 4),
            "b.weight_shape": ("I64", [2], 16),
        },
        {"c_blocks": ("U8", [2, 3, 1, 16], 96), "c_scales": ("U8", [2, 3, 1], 6), "c_bias": ("BF16", [3], 6)},
        {"d.weight": ("F8_E4M3", [4, 6], 24), "d.weight_scale_inv": ("F32", [1, 1], 4), "d": ("F4", [2, 4], 4)},
    )
    whole = [_tensors_of(x) for x in files]
    size = [8 + int.from_bytes(x[:8], "little") for x in whole]
    ends = [max(t["data_offsets"][1] for t in json.loads(x[8:n]).values()) for x, n in zip(whole, size, strict=True)]
    return [x[: n + end] for x, n, end in zip(whole, size, ends, strict=True)]


def _gguf() -> bytes:
    def text(x: str) -> bytes:
        return struct.pack("<Q", len(x)) + x.encode()

    entries = text("general.alignment") + struct.pack("<II", 4, 32)
    entries += text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bb")
    infos = text("w") + struct.pack("<IQQIQ", 2, 32, 2, 39, 0) + text("f") + struct.pack("<IQIQ", 1, 4, 0, 64)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 2) + entries + infos
    return head + bytes(-len(head) % 32) + bytes(range(34)) + bytes(30) + bytes(16)


def _flax() -> bytes:
    body = b"\x93\x92\x02\x03\xa7float32\xc4\x18" + ONES[:2, :3].tobytes()
    inner = b"\x82\xa1w\xc7" + bytes([len(body)]) + b"\x01" + body + b"\xa1b\xc7" + bytes([len(body)]) + b"\x01" + body
    return b"\x83\xa6params" + inner + b"\xa4step\xcd\x01\x00\xa4rate\xcb" + bytes(8)


def _dequantized() -> bytes:
    from onnx import TensorProto, helper

    parts = [
        TensorProto(name="q", data_type=TensorProto.FLOAT4E2M1, dims=(2, 32), raw_data=bytes(32)),
        TensorProto(name="s", data_type=TensorProto.FLOAT8E4M3FN, dims=(2, 2), raw_data=bytes((56, 57, 58, 59))),
        helper.make_tensor("t", TensorProto.FLOAT, [], [0.5]),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["s", "t"], ["d"]),
        helper.make_node("DequantizeLinear", ["q", "d"], ["y"], axis=1, block_size=16),
        helper.make_node("Constant", [], ["k"], value=helper.make_tensor("", TensorProto.FLOAT, [2], [1.0, 2.0])),
    ]
    inner = helper.make_graph(nodes, "then", [], [], parts)
    choice = helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=helper.make_graph([], "else", [], []))
    data: bytes = helper.make_model(helper.make_graph([choice], "g", [], [], parts)).SerializeToString()
    return data


LAYOUTS: Final = b"""[layouts.mine]
codes = { name = "kernel", formats = ["u8"] }
scales = { name = "*_scale", formats = ["fp8_e4m3"] }
elements = "fp4_e2m1"
packing = "low-first"
block = [1, 16]
[layouts.other]
like = "fp8"
zero_point = 3
[companions]
names = ["x"]
"""


def _certificate(path: str, folder: Path) -> None:
    """Neither the files that it names are read, nor a solver asked."""
    asked = (certificate, "answer_text", lambda *_: SimpleNamespace(result="unsat"))
    with instead((certificate, "list_changes", lambda reading, folder: iter(())), asked):
        table = certificate.read_certificate(path)
        lines = list(certificate.problems(table, folder))
        list(certificate.other_versions(table))
    if any("changed after" not in x for x in lines):
        raise Error(lines[0])


def _results(path: str, folder: Path) -> None:
    journal = prove._Journal(SimpleNamespace(hash="q"), folder / "proof")  # type: ignore[arg-type]
    if journal.known("all", Tactics(1.0)) is None:
        raise Error("not decided")


def _result_lines() -> bytes:
    decided = {"case": "all", "verdict": "proved", "queries": [], "seconds": 0.1, "counterexample": None}
    other = {"inputs": [1], "expected": [2], "got": [3], "story": ["x"]}
    line = {"key": f"q {stamp(prove.__name__)}", "limit_s": 1.0, "cut": True, "apart": True, "confirm": ""}
    both = [{**line, "decided": decided}, {**line, "decided": {**decided, "case": "b", "counterexample": other}}]
    return b"".join(json.dumps(x).encode() + b"\n" for x in both)


def _cached(path: str, _: Path) -> None:
    if disk_cache.load(Path(path)) is None:
        raise Error("not kept")


def _sources(path: str, folder: Path) -> None:
    sources = read_sources([path]).in_order()
    list(_macros(sources.files))
    list(macro_lines(("SYNTHESIS", "YOSYS"), sources.files))
    literals(sources.files)


def _in_list(path: str, folder: Path) -> None:
    read_sources(file_lists=[path])


def readers(folder: Path) -> list[Reader]:
    """Those of models, proofs and builds; folder: where they may put files beside."""
    (folder / "proof").mkdir()
    (folder / "x.sv").write_bytes(SOURCE)
    (folder / "y.f").write_text("-D C\n")
    result = {"sha256": disk_cache._hash([1, {"a": [2]}]), "result": [1, {"a": [2]}]}
    readers = [
        Reader("model_npz", [_npz()], in_file("m.npz", _use), mutator=npz_members, structure=structures.npz),
        Reader(
            "model_npy",
            [_npy(ONES), _npy(np.asfortranarray(ONES.astype(">f8")))],
            in_file("m.npy", _use),
            mutator=npy_header,
            structure=structures.npy,
        ),
        Reader("model_pt", [_pt()], in_file("m.pt", _use), WORDS, mutator=npz_members, structure=structures.pt),
        Reader(
            "certificates",
            [json.dumps(CERTIFICATE).encode()],
            in_file("x.json", _certificate),
            mutator=json_tree,
            structure=structures.json_text,
        ),
        Reader(
            "proof_results",
            [_result_lines()],
            in_file(f"proof/{prove.RESULTS}", _results),
            mutator=structures.json_line,
            structure=structures.json_line,
        ),
        Reader(
            "report_json",
            [json.dumps(REPORT).encode()],
            in_file("x.json", lambda p, _: plot_tensors._ratios(p)),
            mutator=json_tree,
            structure=structures.json_text,
        ),
        Reader(
            "kept_results",
            [json.dumps(result).encode()],
            in_file("x.json", _cached),
            mutator=json_tree,
            structure=structures.json_text,
        ),
        Reader("sources", [SOURCE], in_file("s.sv", _sources), ("`define", "package", "//"), structure=structures.text),
        Reader(
            "file_lists", [LIST], in_file("x.f", _in_list), ("-f", "-F", "x.f", "+define+"), structure=structures.text
        ),
    ]
    np.savez(folder / "shard.npz", w=ONES)
    index = {"metadata": {"total_size": 4}, "weight_map": {"w": "shard.npz"}}
    readers += [
        Reader("model_gguf", [_gguf()], in_file("m.gguf", _use), ("GGUF", "w", "tokens"), structure=structures.gguf),
        Reader("model_flax", [_flax()], in_file("m.msgpack", _use), ("float32", "w")),
        Reader(
            "model_index",
            [json.dumps(index).encode()],
            in_file("m.index.json", _use),
            mutator=json_tree,
            structure=structures.json_text,
        ),
        Reader(
            "layouts",
            [LAYOUTS],
            in_file("x.toml", lambda path, _: layout_table([path])),
            ("codes", "name", "formats", "like", "block"),
            others=True,
            structure=structures.toml,
        ),
    ]
    if importlib.util.find_spec("safetensors"):
        readers.append(
            Reader("model_quantized", _quantized(), in_file("q.safetensors", _use), structure=structures.safetensors)
        )
        readers.append(
            Reader(
                "model_safetensors", [_safetensors()], in_file("m.safetensors", _use), structure=structures.safetensors
            )
        )
    if importlib.util.find_spec("onnx"):
        readers.append(Reader("model_dequantized", [_dequantized()], in_file("d.onnx", _use)))
        readers.append(Reader("model_onnx", [_onnx()], in_file("m.onnx", _use), structure=structures.onnx))
    return readers
