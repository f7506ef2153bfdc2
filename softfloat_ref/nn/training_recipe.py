"""A training recipe: everything a training run depends on, as frozen values, from and to TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from softfloat_ref.base.errors import Error, refuse, unknown
from softfloat_ref.base.names import matches
from softfloat_ref.base.tables import Range, from_table, read_file, to_toml, with_settings
from softfloat_ref.nn.hadamard import check_hadamard
from softfloat_ref.nn.layers import KINDS, Layer
from softfloat_ref.nn.models import check_model
from softfloat_ref.nn.numerics import BLAS, ROLES, Numerics, RunState
from softfloat_ref.nn.optimizers import SGD, Optimizer, read_optimizer
from softfloat_ref.nn.tensor_format import TensorFormat, read_tensor_format
from softfloat_ref.oracle.accumulate import get_accumulator
from softfloat_ref.oracle.policies import get_policy

FOLDER: Final = Path(__file__).parent / "recipes"
PRODUCT_ROLES: Final = ("weight", "activation", "error", "weight_gradient", "function", "vector")
PLACES: Final = ("first", "last")
_PLAIN_TABLES: Final = ("data", "schedule", "loss_scaling", "swa")


@dataclass(frozen=True)
class Training:
    """epochs, batch: of examples (strands of a text); length: symbols of a sequence; log_every: steps; shards: of a
    batch."""

    epochs: Annotated[int, Range(1)] = 10
    batch: Annotated[int, Range(1)] = 32
    seed: Annotated[int, Range(0, (1 << 64) - 1)] = 1
    length: Annotated[int, Range(1)] = 35
    log_every: Annotated[int, Range(1)] = 10
    shards: Annotated[int, Range(1)] = 1

    def __post_init__(self) -> None:
        refuse(
            "[training]",
            (f"shards = {self.shards} must divide batch = {self.batch}", self.batch % self.shards != 0),
        )


@dataclass(frozen=True)
class Override:
    """Other formats for some layers. layers: "first", "last" (of those with products), a kind, or a pattern of names;
    exempt: FP32 and BLAS throughout. None: as the recipe has it."""

    layers: tuple[str, ...]
    formats: Mapping[str, TensorFormat] = field(default_factory=dict)
    accumulator: str | None = None
    hadamard: int | None = None
    exempt: bool = False


@dataclass(frozen=True)
class Recipe:
    """A training run. formats: by role; a role that is left out is FP32 (function: as vector). hadamard: the size of
    the random Hadamard transform of weight gradients' operands, or 0."""

    name: str
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    description: str = ""
    training: Training = Training()
    optimizer: Optimizer = field(default_factory=SGD)
    schedule: Mapping[str, Any] = field(default_factory=dict)
    loss_scaling: Mapping[str, Any] = field(default_factory=dict)
    swa: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, TensorFormat] = field(default_factory=dict)
    accumulator: str = BLAS
    hadamard: int = 0
    overrides: tuple[Override, ...] = ()

    def with_training(self, **changes: int | None) -> Recipe:
        """The recipe with other epochs, seed and so on, where they are not None. Raises Error."""
        settings = {k: v for k, v in changes.items() if v is not None}
        return dataclasses.replace(self, training=from_table(Training, settings, "[training]", self.training))

    def assign(self, network: Layer, run: RunState) -> None:
        """Give every layer of a network its name and its `Numerics`. Raises Error for a pattern that matches no
        layer."""
        layers = list(network.walk())
        working = [name for name, layer in layers if layer.products]
        self._check_patterns(layers)
        for name, layer in layers:
            formats = _Formats(self.formats, self.accumulator, self.hadamard)
            for override in self.overrides:
                if any(_meets(p, name, layer, working) for p in override.layers):
                    formats = _overridden(formats, override)
            hadamard = formats.hadamard if layer.products else 0
            layer.name, layer.numerics = name, Numerics(name, formats.roles, formats.accumulator, run, hadamard)

    def _check_patterns(self, layers: list[tuple[str, Layer]]) -> None:
        names, kinds = [name for name, _ in layers], dict.fromkeys([*KINDS, *(layer.kind for _, layer in layers)])
        for override in self.overrides:
            for pattern in override.layers:
                if pattern not in (*PLACES, *kinds) and not any(matches(n, pattern) for n in names):
                    raise unknown("layer", pattern, [*PLACES, *kinds, *names])

    def to_toml(self) -> str:
        """The recipe as TOML, which `read_recipe` reads."""
        table: dict[str, Any] = {"description": self.description} if self.description else {}
        table |= {"model": dict(self.model), "data": dict(self.data)}
        table["training"], table["optimizer"] = dataclasses.asdict(self.training), dataclasses.asdict(self.optimizer)
        if self.training.shards == 1:  # as before there were shards, so that runs of earlier versions can go on
            del table["training"]["shards"]
        table |= {k: dict(getattr(self, k)) for k in ("schedule", "loss_scaling", "swa") if getattr(self, k)}
        table["formats"] = {k: v.to_value() for k, v in self.formats.items()} | {"accumulator": self.accumulator}
        table["formats"] |= {"hadamard": self.hadamard} if self.hadamard else {}
        table["override"] = [_override_table(o) for o in self.overrides]
        return to_toml(table)


def _override_table(override: Override) -> dict[str, Any]:
    table: dict[str, Any] = {"layers": list(override.layers)}
    table |= {k: v.to_value() for k, v in override.formats.items()}
    table |= {"exempt": True} if override.exempt else {}
    settings = {"accumulator": override.accumulator, "hadamard": override.hadamard}
    return table | {k: v for k, v in settings.items() if v is not None}


def _meets(pattern: str, name: str, layer: Layer, working: list[str]) -> bool:
    if pattern in PLACES:
        return bool(working) and name == working[0 if pattern == "first" else -1]
    return layer.kind == pattern or matches(name, pattern)


class _Formats(NamedTuple):
    """What a layer's numerics are made of."""

    roles: Mapping[str, TensorFormat]
    accumulator: str
    hadamard: int


def _overridden(formats: _Formats, override: Override) -> _Formats:
    if override.exempt:
        return _Formats({k: v for k, v in formats.roles.items() if k not in PRODUCT_ROLES}, BLAS, 0)
    hadamard = formats.hadamard if override.hadamard is None else override.hadamard
    roles = {**formats.roles, **override.formats}
    return _Formats(roles, override.accumulator or formats.accumulator, hadamard)


# -- reading -----------------------------------------------------------------------------------------------------------

KEYS: Final = ("description", "model", "data", "training", "optimizer", "schedule", "loss_scaling", "swa", "policy",
               "formats", "override")  # fmt: skip


def recipe_files() -> dict[str, Path]:
    """The training recipes of the package, by name."""
    return {p.stem: p for p in sorted(FOLDER.glob("*.toml"), key=lambda p: p.stem)}


def load_recipe(name: str, settings: Sequence[str] = ()) -> Recipe:
    """A training recipe of the package, or from a TOML file. settings: values that replace those of the file, each as
    `table.key=value`. Raises Error."""
    path = Path(name) if name.endswith(".toml") else recipe_files().get(name)
    if path is None:
        raise unknown("recipe", name, recipe_files(), " (or FILE.toml)")
    return read_file(path, lambda table: read_recipe(with_settings(table, settings), path.stem))


def read_recipe(table: Mapping[str, Any], name: str = "recipe") -> Recipe:
    """A training recipe from its TOML tables. Raises Error, which names the key and the closest known one."""
    for key in table:
        if key not in KEYS:
            raise unknown("key of a recipe:", str(key), KEYS)
    for key in ("model", "data"):
        if key not in table:
            raise Error(f"[{key}] is missing")
    model = _table(table, "model")
    check_model(model)
    policy = table.get("policy")
    if policy is not None:
        get_policy(policy)
    formats, accumulator, hadamard = _formats(_table(table, "formats"), "formats", policy)
    overrides = table.get("override", [])
    if not isinstance(overrides, list):
        raise Error("override: expected tables [[override]]")
    return Recipe(
        name,
        model,
        description=str(table.get("description", "")),
        training=from_table(Training, _table(table, "training"), "[training]"),
        optimizer=read_optimizer(_table(table, "optimizer")),
        formats=formats,
        accumulator=accumulator or BLAS,
        hadamard=hadamard or 0,
        overrides=tuple(_override(o, i, policy) for i, o in enumerate(overrides, 1)),
        **{key: _table(table, key) for key in _PLAIN_TABLES},
    )


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise Error(f"{key} = {value!r}: expected a table [{key}]")
    return dict(value)


def _formats(
    table: dict[str, Any], where: str, policy: Mapping[str, Any] | str | None
) -> tuple[dict[str, TensorFormat], str | None, int | None]:
    accumulator, hadamard = table.pop("accumulator", None), table.pop("hadamard", None)
    if accumulator is not None and accumulator != BLAS:
        if not isinstance(accumulator, str):
            raise Error(f"{where}: accumulator = {accumulator!r} is not a name")
        get_accumulator(accumulator)
    if hadamard is not None:
        check_hadamard(hadamard, where)
    for role in table:
        if role not in ROLES:
            raise unknown(f"role of {where}:", role, (*ROLES, "accumulator", "hadamard"))
    return {k: read_tensor_format(v, f"{where}: {k}", policy) for k, v in table.items()}, accumulator, hadamard


def _override(table: object, number: int, policy: Mapping[str, Any] | str | None) -> Override:
    where = f"override {number}"
    if not isinstance(table, Mapping):
        raise Error(f"{where}: expected a table [[override]]")
    rest = dict(table)
    layers = rest.pop("layers", None)
    if not isinstance(layers, list) or not layers or not all(isinstance(x, str) for x in layers):
        raise Error(f'{where}: layers = ["first", "last", a kind, or a pattern of names] is missing')
    exempt = rest.pop("exempt", False)
    if not isinstance(exempt, bool) or (exempt and rest):
        raise Error(f"{where}: give either exempt = true or formats by role")
    return Override(tuple(layers), *_formats(rest, where, policy), exempt)
