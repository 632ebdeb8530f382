"""Averaged probabilities of several models, or of one model with dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from believable import _check
from believable.errors import InputError
from believable.torch.targets import readable, widened

Activation = Literal["softmax", "sigmoid", "none"]
Layers = tuple[type[nn.Module], ...]


def ensemble_predict(
    models: Iterable[Callable[[Any], Tensor]],
    x: Any,
    *,
    activation: Activation = "softmax",
    average: bool = True,
    grad: bool = False,
) -> Tensor:
    """Return the mean of the models' probabilities, (1/M) sum_m p_m(x): probabilities are averaged, not logits.

    Every model is called once as model(x), in evaluation mode; afterwards each of its modules is back in its mode.
    Models are called one after the other, so an iterator that loads them needs the memory of one.

    Parameters
    ----------
    models : iterable of modules or functions
        The models, at least one.
    x : Any
        The input of the models.
    activation : {"softmax", "sigmoid", "none"}
        How outputs become probabilities; this is never guessed. Use softmax over dimension 1 for outputs (N, K, ...),
        sigmoid for one event or independent labels, none if the models return probabilities.
    average : bool
        If False, keep the probabilities of the members along a new first dimension, to see where they disagree.
    grad : bool
        Keep the graph for gradients.

    Returns
    -------
    Tensor of the shape of an output, or (M, *shape) for `average=False`
        At least float32.

    References
    ----------
    Lakshminarayanan, Pritzel, Blundell (2017), NeurIPS.

    Examples
    --------
    >>> import torch
    >>> def sure(x): return torch.tensor([[20.0, 0.0]])
    >>> def unsure(x): return torch.tensor([[0.0, 0.0]])
    >>> ensemble_predict([sure, unsure], None)
    tensor([[0.7500, 0.2500]])
    """
    if isinstance(models, nn.Module) and not isinstance(models, nn.ModuleList):
        raise InputError(
            "{argument} must be a list of models, got one {got}: pass [model]",
            argument="models",
            got=type(models).__name__,
        )

    def members() -> Iterator[Tensor]:
        for model in models:
            with evaluating(model):
                output = model(x)
            yield _probabilities(output, activation)

    return _averaged(members(), activation, average, grad)


def mc_dropout_predict(
    model: nn.Module,
    x: Any,
    samples: int = 30,
    *,
    activation: Activation = "softmax",
    average: bool = True,
    also: Layers = (),
    generator: torch.Generator | None = None,
    grad: bool = False,
) -> Tensor:
    """Return the mean of the probabilities of several passes with dropout switched on (Monte Carlo dropout).

    Only layers with dropout are in training mode: dropout layers of every kind, and recurrent and attention layers with
    dropout inside. Everything else, notably batch norm, is in evaluation mode. Afterwards each module is back in its
    mode, even after an error. Calls of `torch.nn.functional.dropout` in your own modules cannot be detected: name the
    class of the module in `also`.

    Parameters
    ----------
    model : Module
        A model with at least one dropout layer.
    x : Any
        The input of the model.
    samples : int
        The number of passes.
    activation : {"softmax", "sigmoid", "none"}
        How outputs become probabilities; this is never guessed. Use softmax over dimension 1 for outputs (N, K, ...),
        sigmoid for one event or independent labels, none if the model returns probabilities.
    average : bool
        If False, keep the probabilities of the passes along a new first dimension.
    also : tuple of classes
        Further classes of layers to put into training mode.
    generator : torch.Generator, optional
        Makes the passes reproducible. Dropout takes no generator, so torch's global generators are seeded from this one
        during the call, and restored afterwards. Without it they advance, as in training.
    grad : bool
        Keep the graph for gradients.

    Returns
    -------
    Tensor of the shape of an output, or (samples, *shape) for `average=False`
        At least float32.

    References
    ----------
    Gal, Ghahramani (2016), ICML.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Flatten())
    >>> x = torch.tensor([[0.0, 5.0]])
    >>> passes = mc_dropout_predict(model, x, 4, average=False, generator=torch.Generator().manual_seed(0))
    >>> passes.shape
    torch.Size([4, 1, 2])
    """
    _check.positive_integer(samples, "samples")
    if not isinstance(model, nn.Module):
        raise InputError(
            "{argument} must be a torch.nn.Module, got a {got}", argument="model", got=type(model).__name__
        )
    sampled = sampled_modules(model, also)

    def members() -> Iterator[Tensor]:
        for _ in range(samples):
            yield _probabilities(model(x), activation)

    with evaluating(model, sampled), _seeded(generator, _gpus(model, x)):
        return _averaged(members(), activation, average, grad)


def _averaged(members: Iterator[Tensor], activation: Activation, average: bool, grad: bool) -> Tensor:
    _check.choice(activation, ("softmax", "sigmoid", "none"), "activation")
    kept: list[Tensor] = []
    total: Any = None
    count, shape = 0, None
    _check.flag(average, "average")
    with nullcontext() if _check.flag(grad, "grad") else torch.no_grad():
        for member in members:
            if shape is not None and member.shape != shape:
                raise InputError(f"the models give different shapes: {tuple(shape)} and {tuple(member.shape)}")
            shape, count = member.shape, count + 1
            if average:
                total = member if total is None else total + member
            else:
                kept.append(member)
        if count == 0:
            raise InputError("there are no models to average")
        return total / count if average else torch.stack(kept)


def _probabilities(output: Any, activation: Activation) -> Tensor:
    if not isinstance(output, Tensor):
        raise InputError(
            f"a model must return a tensor, got a {type(output).__name__}; wrap it in a function that does"
        )
    output = widened(output)
    if activation == "sigmoid":
        return output.sigmoid()
    if activation == "none":
        if readable(output) and not bool(((output >= 0) & (output <= 1)).all()):
            raise InputError('activation="none" needs outputs in [0, 1]; pass "softmax" or "sigmoid" for logits')
        return output
    if output.ndim < 2 or output.shape[1] < 2:
        raise InputError(
            f"softmax needs outputs of shape (N, K, ...) with K >= 2, got {tuple(output.shape)}; pass "
            'activation="sigmoid" for one event'
        )
    return output.softmax(dim=1)


def _gpus(model: nn.Module, x: Any) -> list[int]:
    """Return the GPUs on which dropout may be drawn."""
    tensors = [*model.parameters(), *model.buffers(), *([x] if isinstance(x, Tensor) else [])]
    return sorted({tensor.device.index for tensor in tensors if tensor.device.type == "cuda"})


@contextmanager
def _seeded(generator: torch.Generator | None, gpus: list[int]) -> Iterator[None]:
    """Seed torch's global generators from this one, and restore them afterwards."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            torch.cuda.default_generators[gpu].manual_seed(seed)
        yield


# --- modules in evaluation mode for a while, except dropout if requested ----------------------------------------------


@contextmanager
def evaluating(model: object, sampled: set[nn.Module] | frozenset[nn.Module] = frozenset()) -> Iterator[None]:
    """Put every module but those sampled into evaluation mode, and restore each afterwards, even after an error.

    The flags are set one by one, because `train()` and `eval()` may be overridden, and reach all children.
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
    """Return the modules whose training mode switches dropout on and changes nothing else."""
    drops = {module for module in model.modules() if isinstance(module, also) or _drop_rate(module) > 0}
    if not drops:
        raise InputError(
            "the model has no dropout layer with p > 0, so all samples would be the same; name your own kinds of "
            "layers in also=(...,), or average several models with ensemble_predict"
        )
    # In evaluation mode these use a fused path that skips the dropout layers inside them.
    fused = {module for module in model.modules() if isinstance(module, nn.TransformerEncoderLayer)}
    return drops | {module for module in fused if not drops.isdisjoint(module.modules())}


def _drop_rate(module: nn.Module) -> float:
    """Return the dropout rate of a layer; recurrent and attention layers have dropout inside."""
    if isinstance(module, _DropoutNd):
        return module.p
    if isinstance(module, nn.RNNBase):
        return module.dropout if module.num_layers > 1 else 0.0
    return module.dropout if isinstance(module, nn.MultiheadAttention) else 0.0
