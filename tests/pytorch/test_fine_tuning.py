"""Fine-tuning with fake quantization recovers what quantization after training loses, on scikit-learn's digits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from softfloat_ref.nn import data

pytestmark = [pytest.mark.extra("torch"), pytest.mark.extra("sklearn")]
torch = pytest.importorskip("torch")
st: Any = pytest.importorskip("softfloat_ref.torch")


class Digits(NamedTuple):
    x: Any
    y: Any
    test_x: Any
    test_y: Any


@pytest.fixture(scope="module")
def digits() -> Digits:
    d = data.load("digits", seed=1)
    x, y, test_x, test_y = (torch.from_numpy(np.array(v)) for v in (d.train_x, d.train_y, d.test_x, d.test_y))
    return Digits(x.permute(0, 3, 1, 2), y, test_x.permute(0, 3, 1, 2), test_y)


def train(model: Any, d: Digits, epochs: int, rate: float) -> list[float]:
    """The mean loss of each epoch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    order, losses = torch.Generator().manual_seed(1), []
    model.train()
    for _ in range(epochs):
        steps = []
        for part in torch.randperm(len(d.x), generator=order).split(48):
            loss = torch.nn.functional.cross_entropy(model(d.x[part]), d.y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps.append(loss.item())
        losses.append(float(np.mean(steps)))
    return losses


def accuracy(model: Any, d: Digits) -> float:
    model.eval()
    with torch.no_grad():
        return float((model(d.test_x).argmax(1) == d.test_y).double().mean())


def mlp() -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


def cnn() -> Any:
    nn = torch.nn
    first = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(64, 10))


STOCHASTIC = {"format": "mxfp8_e5m2", "policy": {"rounding": "sr", "sr_bits": 8}}
TWO_BITS = {"weight": "qint2", "activation": "mxfp4", "error": STOCHASTIC}


@pytest.mark.parametrize(
    ("make", "epochs", "recipe", "gain"),
    [(mlp, 20, TWO_BITS, 0.05), (cnn, 10, {"weight": "qint2", "activation": "qint4"}, 0.05)],
)
def test_fine_tuning_is_better_than_quantization_after_training(
    make: Any, epochs: int, recipe: dict[str, Any], gain: float, digits: Digits
) -> None:
    torch.manual_seed(0)
    plain = make()
    train(plain, digits, epochs, 0.05)
    before = accuracy(plain, digits)
    model = st.quantized(plain, recipe)
    after_training = accuracy(model, digits)
    losses = train(model, digits, 3, 0.01)
    tuned = accuracy(model, digits)
    assert losses[-1] < 0.8 * losses[0]
    assert after_training + gain < tuned
    assert after_training + gain < before
    assert accuracy(plain, digits) == before
