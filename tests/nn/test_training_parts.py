"""What surrounds a training: schedules, loss scaling, weight averaging, observers, checkpoints, the log."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.checkpoint import load, save
from softfloat_ref.nn.loss_scaling import loss_scaler
from softfloat_ref.nn.observers import Observer
from softfloat_ref.nn.quantizers import SharedQuantizer, quantizer
from softfloat_ref.nn.runlog import RunLog, read_log
from softfloat_ref.nn.schedules import schedule
from softfloat_ref.nn.swa import Averager
from softfloat_ref.nn.tensor_format import TensorFormat
from softfloat_ref.oracle.affine import choose
from softfloat_ref.oracle.codec import to_value

# -- schedules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, [1, 1, 1]),
        ("constant", [1, 1, 1]),
        ({"kind": "step", "at": [2, 4]}, [1, 1, 0.1, 0.1, 0.01, 0.01]),
        ({"kind": "step", "at": [1], "divide": 4}, [1, 0.25]),
        ({"kind": "exponential"}, [1] * 6 + [0.8, 0.8 * 0.8, 0.8 * 0.8 * 0.8]),
        ({"kind": "exponential", "base": 0.5, "after": 1}, [1, 0.5, 0.25]),
        ({"kind": "cyclical"}, [1, 0.5, 0.25, 1, 0.5, 0.25, 1]),
    ],
)
def test_schedules(spec: dict | None, expected: list[float]) -> None:
    factor = schedule(spec)
    assert [factor(i) for i in range(len(expected))] == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"kind": "steps"}, "did you mean step"),
        ({"kind": "step", "att": [3]}, "did you mean at"),
        ({"kind": "step", "at": 3}, "at = 3 is not of type tuple"),
        ({"kind": "step", "at": [3, 3]}, "at must be a rising list of epochs"),
        ({"kind": "step", "at": [3], "divide": 0}, "divide must be above 0"),
        ({"kind": "exponential", "base": True}, "base = True is not of type float"),
        ({"kind": "cyclical", "factors": []}, "numbers above 0"),
        ({"kind": "cyclical", "factors": [10**400]}, "factors has an integer that does not fit float64"),
        ({"kind": "exponential", "base": 10**400}, "base has an integer that does not fit float64"),
    ],
)
def test_bad_schedules(spec: dict, message: str) -> None:
    with pytest.raises(Error, match=message):
        schedule(spec)


# -- loss scaling ----------------------------------------------------------------------------------------------------


def test_no_and_constant_scaling_take_every_step() -> None:
    for spec, scale in ((None, 1), ({"kind": "constant", "scale": 131072}, 131072)):
        scaler = loss_scaler(spec)
        assert scaler.update(False)
        assert scaler.update(True)
        assert scaler.scale == scale


def test_dynamic_scaling() -> None:
    scaler = loss_scaler({"kind": "dynamic", "scale": 16, "interval": 3, "largest": 32, "smallest": 2})
    taken, scales = [], []
    for finite in "1101111111110000000":
        taken.append(scaler.update(finite == "1"))
        scales.append(scaler.scale)
    assert taken == [True] * 2 + [False] + [True] * 9 + [False] * 7
    assert scales == [16, 16, 8, 8, 8, 16, 16, 16, 32, 32, 32, 32, 16, 8, 4, 2, 2, 2, 2]
    assert (scaler.steps, scaler.skipped) == (19, 8)


def test_enhanced_scaling_has_a_rising_floor() -> None:
    scaler = loss_scaler({"kind": "enhanced", "scale": 4, "interval": 100, "floors": [[3, 8], [5, 64]]})
    scales = []
    for _ in range(8):
        assert not scaler.update(False)
        scales.append(scaler.scale)
    assert scales == [2, 1, 8, 8, 64, 64, 64, 64]


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 40))
def test_a_scaler_goes_on_from_its_state(steps: list[bool], cut: int) -> None:
    spec = {"kind": "enhanced", "interval": 2, "scale": 64, "floors": [[10, 16]]}
    whole, first, second = (loss_scaler(spec) for _ in range(3))
    taken = [whole.update(x) for x in steps]
    updates = [first.update(x) for x in steps[:cut]]
    second.restore(json.loads(json.dumps(first.state())))
    updates += [second.update(x) for x in steps[cut:]]
    assert (updates, second.scale, second.state()) == (taken, whole.scale, whole.state())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"kind": "dynamc"}, "did you mean dynamic"),
        ({"kind": "constant", "scale": 0}, "a number above 0"),
        ({"kind": "none", "scale": 2.0}, "has no scale"),
        ({"kind": "dynamic", "scale": float("inf")}, "smallest <= scale <= largest"),
        ({"kind": "dynamic", "factor": 1.0}, "factor must be above 1"),
        ({"kind": "enhanced", "floors": [[5, 8], [3, 9]]}, "rising pairs"),
        ({"kind": "enhanced", "floors": [[5, 8], [7, 4]]}, "rising pairs"),
        ({"kind": "enhanced", "floors": [5, 8]}, "rising pairs"),
    ],
)
def test_bad_scaling(spec: dict, message: str) -> None:
    with pytest.raises(Error, match=message):
        loss_scaler(spec)
    with pytest.raises(Error, match="scale must be above 0"):
        loss_scaler(None).restore({"scale": 0, "good": 0, "steps": 0, "skipped": 0})
    with pytest.raises(Error, match="lacks the loss scaler's scale, good"):
        loss_scaler(None).restore({"scale": 1})


# -- weight averaging ------------------------------------------------------------------------------------------------


def run(averager: Averager, epochs: int) -> list[float | None]:
    """What is put in place after each epoch, of weights that are 0, 1, 4, 9, ... squares of the epoch."""
    placed = [averager.epoch_end(i, {"w": np.array([i * i], np.float32)}) for i in range(epochs)]
    return [None if x is None else float(x["w"][0]) for x in placed]


def test_averaging_after_training() -> None:
    averager = Averager({"kind": "after", "apart": 2, "count": 3}, epochs=7)
    assert run(averager, 7) == [None] * 7
    averaged = averager.average()
    assert averaged is not None
    assert averaged["w"].dtype == np.float32
    assert averaged["w"].tolist() == [np.float32((4 + 16 + 36) / 3)]
    begun = Averager({"kind": "after", "apart": 2, "count": 3, "begin": 3})
    assert run(begun, 9) == [None] * 9
    assert begun.average() == averaged


def test_averaging_during_training() -> None:
    assert run(Averager(None), 3) == [None] * 3
    assert Averager(None).average() is None
    once = Averager({"kind": "once", "at": 4, "begin": 2}, epochs=6)
    assert run(once, 6) == [None, None, None, np.float32(14 / 3), None, None]
    assert once.average() is None
    every = Averager({"kind": "every", "begin": 3}, epochs=5)
    assert run(every, 5) == [None, None, 4, 6.5, np.float32(29 / 3)]
    assert every.average() is None


def test_the_running_form_is_the_mean() -> None:
    """w_swa <- (w_swa n + w) / (n + 1), in float64, rounded once: within one float32 ulp of the exact mean."""
    random = np.random.default_rng(1)
    weights = random.normal(size=(20, 50)).astype(np.float32)
    averager = Averager({"kind": "after", "count": 20}, epochs=20)
    for i, w in enumerate(weights):
        averager.epoch_end(i, {"a": w, "b": w.reshape(5, 10)})
    averaged = averager.average()
    assert averaged is not None
    exact = [float(sum(map(Fraction, column)) / 20) for column in weights.T.tolist()]
    assert np.abs(averaged["a"] - np.array(exact, np.float32)).max() <= 2**-24
    assert (averaged["b"].reshape(-1) == averaged["a"]).all()


def test_an_average_goes_on_from_its_state(tmp_path: Path) -> None:
    spec = {"kind": "every", "begin": 2}
    whole, first, second = (Averager(spec) for _ in range(3))
    expected = run(whole, 6)
    placed = [first.epoch_end(i, {"w": np.array([i * i], np.float32)}) for i in range(3)]
    save(tmp_path / "c.npz", first.state(), {})
    second.restore(load(tmp_path / "c.npz")[0])
    placed += [second.epoch_end(i, {"w": np.array([i * i], np.float32)}) for i in range(3, 6)]
    assert [None if x is None else float(x["w"][0]) for x in placed] == expected
    with pytest.raises(Error, match="in names or shapes"):
        second.epoch_end(9, {"w": np.zeros(2, np.float32)})
    with pytest.raises(Error, match="lacks the average's count"):
        second.restore({})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"count": np.array(1.5)}, "lacks the average's count"),
        ({"count": np.array(0)}, "an average of 1 weights, but its count is 0"),
        ({"mean/w": np.zeros(1, np.float32)}, "mean in float64"),
        ({"mean/v": np.zeros(1)}, "or its type, for some weight"),
        ({"type/w": np.zeros(0, np.int32)}, "or its type, for some weight"),
    ],
)
def test_damaged_averages(damage: dict, message: str) -> None:
    averager = Averager("every")
    run(averager, 2)
    with pytest.raises(Error, match=message):
        averager.restore(averager.state() | damage)
    with pytest.raises(Error, match="an average of 0 weights, but its count is -2"):
        averager.restore({"count": np.array(-2)})


@pytest.mark.parametrize(
    ("spec", "epochs", "message"),
    [
        ({"kind": "after"}, None, "give begin, or the epochs"),
        (
            {"kind": "after", "apart": 5, "count": 5},
            20,
            "5 checkpoints 5 apart need 21 epochs, not 20; train longer",
        ),
        ({"kind": "after", "begin": 7, "count": 5}, 10, "5 checkpoints 1 apart need 11 epochs, not 10"),
        ({"kind": "after", "begin": 0}, 10, "begin must be at least 1"),
        ({"kind": "once", "at": 2, "begin": 3}, None, "1 <= begin <= at"),
        ({"kind": "every", "begin": 0}, None, "begin must be at least 1"),
        ({"kind": "all"}, None, "unknown swa"),
    ],
)
def test_bad_averaging(spec: dict, epochs: int | None, message: str) -> None:
    with pytest.raises(Error, match=message):
        Averager(spec, epochs)


# -- observers -------------------------------------------------------------------------------------------------------


def test_observers_of_tensors_and_channels() -> None:
    x = np.array([[1.0, -2.0, np.nan], [np.inf, 0.5, 3.0]], np.float32)
    whole, rows = Observer("minmax", None), Observer("minmax", axis=0)
    for o in (whole, rows):
        o.observe(x)
        o.observe(x / 4)
    assert [float(e) for e in whole.range()] == [-2, 3]
    assert [e.tolist() for e in rows.range()] == [[-2, 0.125], [1, 3]]
    scale, zero = rows.parameters("qint8")
    expected = [choose(to_value(a, 0), to_value(b, 0), "qint8") for a, b in ((-2.0, 1.0), (0.125, 3.0))]
    assert scale.view(np.uint32).tolist() == [p.scale for p in expected]
    assert zero.tolist() == [p.zero_point for p in expected]
    average = Observer("moving-average", momentum=0.25)
    average.observe(np.array([-1, 2.0]))
    average.observe(np.array([-3, 1.0]))
    average.observe(np.array([np.nan]))
    assert [float(e) for e in average.range()] == [-1.5, 1.75]
    copy = Observer("moving-average", momentum=0.25)
    copy.restore(average.state())
    assert [float(e) for e in copy.range()] == [-1.5, 1.75]


def test_bad_observers() -> None:
    with pytest.raises(Error, match="did you mean minmax"):
        Observer("min-max")
    with pytest.raises(Error, match="above 0 and at most 1"):
        Observer("moving-average", momentum=0)
    with pytest.raises(Error, match="has not seen a finite value"):
        Observer("minmax").range()
    with pytest.raises(Error, match="axis 2 of an observer is out of range for an array of 1 dim"):
        Observer("minmax", 2).observe(np.ones(3))
    seen = Observer("minmax", 0)
    seen.observe(np.ones((3, 2)))
    with pytest.raises(Error, match="of 3 channels was given 4"):
        seen.observe(np.ones((4, 2)))
    with pytest.raises(Error, match="lacks an observer's low or high"):
        seen.restore({"low": np.zeros(3)})
    with pytest.raises(Error, match="not in order"):
        seen.restore({"low": np.ones(3), "high": np.zeros(3)})


@pytest.mark.extra("torch")
def test_observers_are_torchs_bit_for_bit() -> None:
    import torch

    random = np.random.default_rng(2)
    batches = [(random.normal(size=(4, 6)) * 10.0**i).astype(np.float32) for i in (0, 1, -1, 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.ao.quantization import observer as peers

        pairs = [
            (Observer("minmax", None), peers.MinMaxObserver(dtype=torch.qint8)),
            (Observer("moving-average", None, 0.01), peers.MovingAverageMinMaxObserver(dtype=torch.qint8)),
            (Observer("minmax", 1), peers.PerChannelMinMaxObserver(ch_axis=1, dtype=torch.qint8)),
            (
                Observer("moving-average", 0, 0.3),
                peers.MovingAveragePerChannelMinMaxObserver(0.3, 0, dtype=torch.qint8),
            ),
        ]
        for mine, peer in pairs:
            for x in batches:
                mine.observe(x)
                peer(torch.from_numpy(x))
            low, high = mine.range()
            assert low.tobytes() == peer.min_val.numpy().tobytes()
            assert high.tobytes() == peer.max_val.numpy().tobytes()
            scale, zero = mine.parameters("qint8", "torch")
            expected = peer.calculate_qparams()
            assert scale.reshape(-1).tobytes() == expected[0].numpy().astype(np.float32).tobytes()
            assert zero.reshape(-1).tolist() == expected[1].tolist()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(2, 8), st.integers(0, 7))
def test_a_shared_bias_is_the_smallest_that_holds_the_largest(x: float, e: int, m: int) -> None:
    """By its definition in rationals."""
    by = quantizer(TensorFormat(f"flexfp_e{e}m{m}"))
    assert isinstance(by, SharedQuantizer)
    fmt = by.tensor_format(np.array([0.0, x, -x / 2], np.float32))
    if fmt is None:  # zeros, or beyond FP32's range
        return
    b = (1 << (e - 1)) - 1 - fmt.bias
    top = Fraction(2) ** ((1 << (e - 1)) - 1) * (2 - Fraction(1, 1 << m))
    amax = abs(Fraction(x))
    assert amax <= top * Fraction(2) ** b or b == 127
    assert amax > top * Fraction(2) ** (b - 1) or b == -127


# -- checkpoints -----------------------------------------------------------------------------------------------------

ARRAYS = {
    "layers/0.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "file": np.array(5, np.int64),
    "codes": np.array([[1, 255]], np.uint8),
    "wide": np.array([1e300, np.nan, -0.0]),
    "none": np.zeros((0, 4), np.float16),
}
KINDS = ["npz", pytest.param("safetensors", marks=pytest.mark.extra("safetensors"))]


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"c.{kind}"
    meta = {"step": 7, "scaler": {"scale": 0.1}, "name": "\u00e9", "losses": [[float("inf"), -float("inf")]]}
    save(path, ARRAYS, meta)
    once = path.read_bytes()
    arrays, loaded_meta = load(path)
    assert loaded_meta == meta
    assert list(arrays) == list(ARRAYS) or kind == "safetensors"
    for name, x in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (x.dtype, x.shape)
        assert arrays[name].tobytes() == x.tobytes()
    save(path, ARRAYS, meta)
    assert path.read_bytes() == once
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_every_cut_checkpoint_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"c.{kind}"
    save(path, ARRAYS, {"step": 7})
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:size])
        with pytest.raises(Error, match=f"c.{kind}: (not a|incomplete or damaged)"):
            load(path)


def test_bad_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"kind of checkpoint 'c.pt'"):
        save(tmp_path / "c.pt", {}, {})
    with pytest.raises(Error, match="checkpoints hold numbers"):
        save(tmp_path / "c.npz", {"x": np.array([{}], object)}, {})
    with pytest.raises(Error, match="may not be called 'meta'"):
        save(tmp_path / "c.npz", {"meta": np.zeros(1)}, {})
    with pytest.raises(Error, match="No such file"):
        load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(Error, match="it has no array 'meta'"):
        load(tmp_path / "other.npz")
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object), meta=np.zeros(1, np.uint8))
    with pytest.raises(Error, match="an array of object, not of numbers"):
        load(tmp_path / "objects.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with pytest.raises(Error, match="not a"):
        load(tmp_path / "array.npz")
    assert not (tmp_path / "c.npz").exists()


# -- the log ---------------------------------------------------------------------------------------------------------


def test_a_log_goes_on_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with RunLog(path) as log:
        log.write(event="run", recipe="demo", formats={"weight": "mxfp8"})
        for step in range(5):
            log.write(step=step, loss=np.float32(1) / (step + 1), ok=True)
            if step == 2:
                log.write(event="epoch", epoch=0)
        assert len(read_log(path)) == 7  # each line is there at once
    with open(path, "ab") as stream:
        stream.write(b'{"step": 5, "lo')
    assert len(read_log(path)) == 7
    log = RunLog(path)
    log.truncate_after(2)
    log.write(step=3, loss=float("nan"), worst=[float("-inf")], where=tmp_path)
    log.close()
    entries = read_log(path)
    assert [x.get("step") for x in entries] == [None, 0, 1, 2, None, 3]
    assert entries[0]["formats"] == {"weight": "mxfp8"}
    assert np.isnan(entries[-1]["loss"])
    assert json.loads(path.read_text().splitlines()[-1])["worst"] == ["-inf"]
    log.truncate_after(-1)
    assert len(read_log(path)) == 1


def test_bad_logs(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"step": 1}\nstep 2\n{"step": 3}\n')
    with pytest.raises(Error, match=r"a.jsonl:2: not a line of a log"):
        read_log(tmp_path / "a.jsonl")
    with pytest.raises(Error, match=r"a\.jsonl: No such file"):
        RunLog(tmp_path / "none" / "a.jsonl").write(step=1)
    with pytest.raises(Error, match="No such file"):
        read_log(tmp_path / "b.jsonl")
    RunLog(tmp_path / "c.jsonl").truncate_after(3)  # nothing to cut
