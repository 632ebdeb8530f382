"""Modules in evaluation mode for a while, dropout excepted where that is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from believable.errors import InputError

Layers = tuple[type[nn.Module], ...]


@contextmanager
def evaluating(model: object, sampled: set[nn.Module] | frozenset[nn.Module] = frozenset()) -> Iterator[None]:
    """Every module in evaluation mode but those sampled; afterwards each is as it was, after an error too.

    The flags are set one by one: `train()` and `eval()` of a model may be overridden, and would reach all children.
    """
    modes = [(module, module.training) for module in model.modules()] if isinstance(model, nn.Module) else []
    try:
        for module, _ in modes:
            module.training = module in sampled
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def sampled_modules(model: nn.Module, also: Layers) -> set[nn.Module]:
    """The modules whose training mode draws the dropout, and does nothing else."""
    drops = {module for module in model.modules() if isinstance(module, also) or _drop_rate(module) > 0}
    if not drops:
        raise InputError(
            "the model has no dropout layer with p > 0, so all samples would be the same; name your own kinds of "
            "layers in also=(...,), or average several models with ensemble_predict"
        )
    # In evaluation mode these take a fused path that skips the dropout layers inside them.
    fused = {module for module in model.modules() if isinstance(module, nn.TransformerEncoderLayer)}
    return drops | {module for module in fused if not drops.isdisjoint(module.modules())}


def _drop_rate(module: nn.Module) -> float:
    """The share that a layer drops in training; recurrent and attention layers have dropout inside."""
    if isinstance(module, _DropoutNd):
        return module.p
    if isinstance(module, nn.RNNBase):
        return module.dropout if module.num_layers > 1 else 0.0
    return module.dropout if isinstance(module, nn.MultiheadAttention) else 0.0
