# SPDX-License-Identifier: 0BSD
"""A classifier of handwritten digits (scikit-learn's, 8 x 8 pixels) in PyTorch. Run it to train digits.pt anew."""

from __future__ import annotations

from pathlib import Path

import torch

from softfloat_ref.nn import load_dataset

FILE = Path(__file__).with_name("digits.pt")


def network() -> torch.nn.Module:
    """64 pixels, two layers of 32, 10 digits."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


def examples() -> list[torch.Tensor]:
    """Images and digits to train with, images and digits to test with."""
    d = load_dataset("digits", seed=1)
    x, y, test_x, test_y = (torch.tensor(v) for v in (d.train_x, d.train_y, d.test_x, d.test_y))
    return [x.flatten(1), y, test_x.flatten(1), test_y]


def train(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epochs: int, rate: float) -> None:
    """Stochastic gradient descent, in batches of 48."""
    optimizer, order = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9), torch.Generator().manual_seed(1)
    model.train()
    for _ in range(epochs):
        for part in torch.randperm(len(x), generator=order).split(48):
            loss = torch.nn.functional.cross_entropy(model(x[part]), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def accuracy(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """The share of images whose digit is found."""
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).double().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    plain = network()
    x, y, *test = examples()
    train(plain, x, y, epochs=20, rate=0.05)
    torch.save(plain.state_dict(), FILE)
    print(f"{accuracy(plain, *test):.1%} right")
