"""Dot products for many candidates: the results of an accumulator's steps are cached by their terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from softfloat_ref.diagnosis.hypotheses import Inputs, Model, Output
from softfloat_ref.oracle.accumulate.dots import accumulate, products
from softfloat_ref.oracle.accumulate.evaluate import TreeEvaluator, TreeRounding
from softfloat_ref.oracle.accumulate.terms import Term
from softfloat_ref.oracle.accumulate.trees import Node, To
from softfloat_ref.units import DotUnit

_QUESTIONS: Final = 2048  # number of questions whose products are cached
_STEPS: Final = 8192  # number of cached steps of an accumulator
Memo = dict[tuple[Term, ...], tuple[list[Term], int, int]]
Products = dict[tuple[Any, ...], list[Term]]


@dataclass
class RememberedTree(TreeEvaluator):
    """A tree that looks up its terms in a cache. memo: for the terms of a step, the tree's result, code and flags."""

    memo: Memo = field(default_factory=dict)

    def terms(self, node: Node) -> list[Term]:
        if node is not self.accumulator.root:
            return super().terms(node)
        key = (*self.products, self.running)
        found = self.memo.get(key)
        if found is None:
            before, self.flags = self.flags, 0
            found = super().terms(node), self.code, self.flags
            self.flags = before
            if len(self.memo) >= _STEPS:
                self.memo.clear()
            self.memo[key] = found
        result, self.code, flags = found
        self.flags |= flags
        return result


def dot_model(unit: DotUnit, kept: Products) -> Model:
    """The dot product as a model. kept: cached products of questions, shared by accumulators that multiply alike."""
    setting, accumulator = unit.setting, unit.accumulator
    alike = accumulator.flush_inputs, accumulator.product_limit, accumulator.product_exponent
    memo: Memo = {}
    roundings: dict[To, TreeRounding] = {}
    make = partial(RememberedTree, memo=memo, roundings=roundings)

    def model(inputs: Inputs) -> Output | None:
        codes = tuple(inputs)
        key = (codes, *alike)
        terms = kept.get(key)
        if terms is None:
            if len(kept) >= _QUESTIONS:
                kept.clear()
            a, b, _ = unit.sides(codes)
            terms = kept[key] = [x._replace(label="") for x in products(setting, a, b)]
        return accumulate(setting, terms, codes[-1], make=make)

    return model
