"""Titanic passengers, Kaggle's columns: who survived."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from math import fsum, sqrt
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softfloat_ref.base.errors import Error
from softfloat_ref.nn.data.files import digest, find_file, read_utf8
from softfloat_ref.nn.data.model import SPLIT, Dataset, permutation

COLUMNS: Final = ("Survived", "Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked")
_CHOICES: Final = {
    "Survived": ("0", "1"),
    "Pclass": ("1", "2", "3"),
    "Sex": ("male", "female"),
    "Embarked": ("S", "C", "Q"),
}
_NUMBERS: Final = ("Age", "SibSp", "Parch", "Fare")
_LARGEST: Final = 1e12  # of a number: squares and sums stay in FP32's range
_MISSING: Final = ("Age", "Fare", "Embarked")  # columns that may be empty


class Passenger(NamedTuple):
    """A passenger: survived; the numbers (None: not known); of each choice, which."""

    survived: int
    numbers: tuple[float | None, ...]
    choices: tuple[int | None, ...]


def titanic(*, seed: int, root: Path, test: int = 20) -> Dataset:
    """train.csv of Kaggle's, x (passengers, 13); `test` per cent of the rows, chosen by the seed, are for the test.

    Features: class and port one-hot, female, and age, siblings and spouses, parents and children and fare, less their
    mean over their standard deviation in the rows for training; then whether the age is known. A missing number is the
    median, a missing port none. Raises Error with the line that is wrong.
    """
    path = find_file(root, "train.csv")
    content = read_utf8(path)
    rows = list(_rows(path, content))
    order = permutation(seed, SPLIT, 0, len(rows)).tolist()
    held = len(rows) * test // 100
    if not 0 < held < len(rows):
        raise Error(f"{path}: {len(rows)} passengers; a test of {test} per cent leaves one part empty")
    known = [rows[i] for i in order[held:]]
    scalers = [_Scaler([r.numbers[k] for r in known]) for k in range(len(_NUMBERS))]
    x = np.array([_features(rows[i], scalers) for i in order], np.float32)
    y: NDArray[np.int64] = np.array([rows[i].survived for i in order], np.int64)
    source = f"Titanic, {len(rows)} passengers, {digest(content.encode())}"
    return Dataset(x[held:], y[held:], x[:held], y[:held], "classes", 2, source)


def _rows(path: Path, content: str) -> Iterator[Passenger]:
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    try:
        missing = [c for c in COLUMNS if c not in (reader.fieldnames or ())]
        if missing:
            raise Error(f"{path}:1: no column {missing[0]}; Kaggle's train.csv has {', '.join(COLUMNS)}")
        for record in reader:
            where = f"{path}:{reader.line_num}"
            numbers = tuple(_number(where, column, record[column]) for column in _NUMBERS)
            survived, *choices = (_choice(where, column, record[column]) for column in _CHOICES)
            yield Passenger(int(survived or 0), numbers, tuple(choices))
    except csv.Error as e:
        raise Error(f"{path}:{reader.line_num}: not CSV: {e}") from None


def _number(where: str, column: str, cell: str | None) -> float | None:
    if _empty(where, column, cell):
        return None
    try:
        number = float(cell or "")
    except ValueError:
        number = float("nan")
    if not abs(number) <= _LARGEST:  # nor if it is NaN
        raise Error(f"{where}: {column} {str(cell)[:40]!r} is not a number, or is beyond {_LARGEST:g}")
    return number


def _choice(where: str, column: str, cell: str | None) -> int | None:
    if _empty(where, column, cell):
        return None
    if cell not in _CHOICES[column]:
        raise Error(f"{where}: {column} {str(cell)[:40]!r} is not one of {', '.join(_CHOICES[column])}")
    return _CHOICES[column].index(cell)


def _empty(where: str, column: str, cell: str | None) -> bool:
    if cell is None:
        raise Error(f"{where}: the row ends before column {column}")
    if not cell and column not in _MISSING:
        raise Error(f"{where}: {column} is empty")
    return not cell


class _Scaler:
    """Median, mean and standard deviation of the numbers for training; sums are exact, so no order changes them."""

    def __init__(self, values: Iterable[float | None]) -> None:
        values = list(values)
        known = [x for x in values if x is not None]
        self.median = median(known) if known else 0.0
        filled = [self.median if x is None else x for x in values]
        self.mean = fsum(filled) / len(filled)
        variance = fsum((x - self.mean) * (x - self.mean) for x in filled) / len(filled)
        self.deviation = sqrt(variance) or 1.0

    def __call__(self, x: float | None) -> float:
        return ((self.median if x is None else x) - self.mean) / self.deviation


def _features(row: Passenger, scalers: list[_Scaler]) -> list[float]:
    one_hot: Callable[[int | None, str], list[float]] = lambda chosen, column: [  # noqa: E731
        float(chosen == i) for i in range(len(_CHOICES[column]))
    ]
    level, sex, port = row.choices
    numbers = [scale(x) for scale, x in zip(scalers, row.numbers, strict=True)]
    female = float(sex == _CHOICES["Sex"].index("female"))
    return [*one_hot(level, "Pclass"), female, *numbers, *one_hot(port, "Embarked"), float(row.numbers[0] is not None)]
