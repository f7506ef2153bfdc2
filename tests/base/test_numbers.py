"""Counts, sizes and times that a user gives: refused in a line where they are none; numpy's integers are integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
import pytest

import softfloat_ref as sf
from softfloat_ref import affine, arrays, blocks
from softfloat_ref.app.main import cli
from softfloat_ref.base.errors import Error
from softfloat_ref.base.executors import workers
from softfloat_ref.base.numbers import integer, seconds
from softfloat_ref.golden.sets import VectorSet
from softfloat_ref.oracle.sources import Philox
from softfloat_ref.testing.check import check_command
from softfloat_ref.testing.dialogue import Dialogue
from softfloat_ref.units import MixedUnit, OperationUnit, make_unit

X = np.linspace(-3, 3, 64, dtype=np.float32).reshape(8, 8)
SR = sf.Policy(rounding="sr", sr_bits=8)
SET = VectorSet.make("abs", "i8", 5)
Call = Callable[[Any], object]


def worked(jobs: Any) -> None:
    with workers(jobs):
        pass


# Whatever way an array goes: by a table, compiled or not, empty, in a stochastic rounding.
THREADS: dict[str, Call] = {
    "encode": lambda n: arrays.encode(X, "fp8_e4m3", threads=n),
    "encode fp64": lambda n: arrays.encode(X.astype(np.float64), "fp16", threads=n),
    "encode of a slab": lambda n: arrays.encode(X[:, ::2], "fp16", threads=n),
    "encode sr": lambda n: arrays.encode(X, "fp8_e4m3", SR, "philox:seed=1", threads=n),
    "decode": lambda n: arrays.decode(np.arange(9, dtype=np.uint8), "fp8_e4m3", threads=n),
    "decode fp32": lambda n: arrays.decode(np.arange(9, dtype=np.uint32), "fp32", threads=n),
    "quantize": lambda n: arrays.quantize(X, "fp8_e4m3", threads=n),
    "quantize nothing": lambda n: arrays.quantize(X[:0], "fp16", threads=n),
    "blocks": lambda n: blocks.encode(X, "mxfp8", threads=n),
    "blocks of FP64": lambda n: blocks.encode(X.astype(np.float64), "nvfp4", threads=n),
    "values of blocks": lambda n: blocks.quantize(X, "mxfp4", threads=n),
}
COUNTS: dict[str, Call] = {
    **THREADS,
    "jobs": worked,
    "sr_bits": lambda n: sf.Policy(rounding="sr", sr_bits=n),
    "count": lambda n: VectorSet.make("abs", "i8", n),
    "count of a level": lambda n: SET.at_level("0", n),
    "another count": SET.of_count,
    "k": lambda n: make_unit("dot", "fp8_e4m3", k=n),
    "length": lambda n: make_unit("softmax", "fp16", length=n),
    "m": lambda n: make_unit("matmul", "fp8_e4m3", m=n, n=2, k=4),
    "n": lambda n: make_unit("matmul", "fp8_e4m3", m=2, n=n, k=4),
}
FROM_ZERO: dict[str, Call] = {
    "seed": lambda n: VectorSet.make("abs", "i8", 4, seed=n),
    "another seed": SET.of_seed,
    "philox": Philox,
    "width": lambda n: MixedUnit((OperationUnit.make("add", "fp16"), OperationUnit.make("mul", "fp16")), width=n),
    "shape": lambda n: blocks.unpack(np.zeros(32, np.uint8), "mxfp8", (n, 32), scales=np.zeros(1, np.uint8)),
}
AXES: dict[str, Call] = {
    "axis of blocks": lambda n: blocks.encode(X, "mxfp8", axis=n),
    "axis of channels": lambda n: affine.encode(X, "qint8", axis=n),
}
ALL = {**COUNTS, **FROM_ZERO, **AXES}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value", [1.5, 2.0, True, np.True_, "2", math.nan, None, [2], np.float32(2)], ids=repr)
def test_other_objects_are_refused(name: str, value: Any) -> None:
    if value is None and name not in THREADS:
        return  # a default
    with pytest.raises(Error, match="an integer"):
        ALL[name](value)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [0, -1, np.int64(-3)], ids=repr)
def test_counts_begin_at_one(name: str, value: Any) -> None:
    with pytest.raises(Error, match=r"an integer (from 1 to|of 1 or more)"):
        COUNTS[name](value)


@pytest.mark.parametrize("name", FROM_ZERO)
def test_negative_numbers_are_refused(name: str) -> None:
    with pytest.raises(Error, match=r"integer|array of shape|up to 1024 bits"):
        FROM_ZERO[name](-1)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int16])
def test_integers_of_numpy_are_integers(name: str, kind: Any) -> None:
    by_numpy, plain = ALL[name](kind(1)), ALL[name](1)
    assert np.array_equal(by_numpy, plain) if isinstance(by_numpy, np.ndarray) else repr(by_numpy) == repr(plain)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "3", None, True], ids=repr)
def test_times_are_above_zero(value: Any) -> None:
    for call in (lambda: check_command(SET, "cat", timeout_s=value), lambda: Dialogue("cat", value)):
        with pytest.raises(Error, match=r"timeout_s = .*: a number of seconds above 0"):
            call()
    assert seconds(np.float32(0.5), "t") == 0.5


def test_a_range_is_named() -> None:
    for least, most, wanted in ((1, 8, "an integer from 1 to 8"), (0, None, "an integer of 0 or more")):
        with pytest.raises(Error, match=f"^x = -9: {wanted}$"):
            integer(-9, "x", least, most)
    assert integer(np.uint8(7), "x", 1, 8) == 7


def options(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Parameter]]:
    """The options of every command that take a number."""
    if isinstance(command, click.Group):
        for word in command.list_commands(click.Context(command)):
            subcommand = command.get_command(click.Context(command), word)
            assert subcommand is not None
            yield from options(subcommand, f"{name} {word}")
    for p in command.params:
        if isinstance(p.type, (type(click.INT), type(click.FLOAT), click.IntRange, click.FloatRange)):
            yield f"{name} {p.opts[0]}", p


# Of these, negative ones have a meaning, or the library refuses them with the reason.
SIGNED = {"--axis", "--from", "--to", "--scale", "--sr-bits", "--word"}


@pytest.mark.parametrize(("name", "option"), list(options(cli)))
def test_numbers_of_options(name: str, option: click.Parameter) -> None:
    context = click.Context(cli)
    times = isinstance(option.type, click.FloatRange)
    wrong = ["two", "", *(["nan", "inf", "-inf"] if times else ["1.5", "nan"])]
    wrong += [] if option.opts[0] in SIGNED else ["-1"]
    for text in wrong if option.opts[0] != "--scale" else wrong[:2]:
        with pytest.raises(click.BadParameter):
            option.type.convert(text, option, context)
