"""`ModelWithTemperature`: a classifier whose logits are divided by one number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn

from believable.errors import InputError
from believable.torch.averaging import evaluating
from believable.torch.counting.rows import rows_of
from believable.torch.maps.logits import LogitPiece, checked, piece_entries, refuse_one_hot
from believable.torch.maps.temperature import TemperatureScaling


@final
class ModelWithTemperature(nn.Module):
    """A classifier whose logits are divided by a temperature, fitted on a loader of held-out data.

    The model itself is not changed: its parameters and buffers stay, and each module is afterwards back in its mode,
    training or evaluation, even if the model raises.

    Parameters
    ----------
    model : nn.Module
        Any classifier.
    logits_of : callable, optional
        Extracts the logits from the output of the model, for example `lambda output: output.logits` or
        `lambda output: output[0]`. By default the output is the logits.

    Attributes
    ----------
    model : nn.Module
        The classifier.
    scaling : TemperatureScaling
        Use its `to_numpy()` and `to_json()` to take the temperature out of torch.
    temperature : nn.Parameter of shape (1,)
        The temperature of `scaling`; 1.5 before fitting.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), ICML.

    Examples
    --------
    >>> import torch
    >>> random = torch.Generator().manual_seed(0)
    >>> z = torch.randn(4000, 3, generator=random)
    >>> labels = torch.multinomial(z.softmax(dim=1), 1, generator=random)[:, 0]
    >>> over_confident = torch.nn.Linear(3, 3)
    >>> with torch.no_grad():
    ...     _ = over_confident.weight.copy_(2 * torch.eye(3)), over_confident.bias.zero_()
    >>> scaled = ModelWithTemperature(over_confident)
    >>> round(scaled.fit(zip(z.split(500), labels.split(500))), 1)
    2.0
    >>> scaled(z).softmax(dim=1).shape
    torch.Size([4000, 3])
    """

    def __init__(self, model: nn.Module, *, logits_of: Callable[[Any], Tensor] | None = None) -> None:
        super().__init__()
        if not isinstance(model, nn.Module):
            raise InputError(
                "{argument} must be a torch.nn.Module, got a {got}", argument="model", got=type(model).__name__
            )
        self.model = model
        self.logits_of = logits_of
        self.scaling = TemperatureScaling(device=_device_of(model))

    @property
    def temperature(self) -> Tensor:
        """The temperature T."""
        return self.scaling.temperature

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """Return the scaled logits of the model."""
        return self.scaling(self._logits(self.model(*inputs, **named)))

    def fit(self, loader: Iterable[Any], device: Any = None, *, ignore_index: int | None = None) -> float:
        """Fit T to batches of inputs and labels.

        This takes one pass over the loader. Logits are moved to the CPU batch by batch, in their own type, and read
        from there in pieces of a few million, so that the device holds one batch or one piece at a time.

        Parameters
        ----------
        loader : iterable of (inputs, labels)
            A DataLoader, or any iterable of batches, of held-out data that the model was not trained on. Inputs are a
            tensor, or tensors in a list, a tuple or a mapping, passed to the model as one argument.
        device : optional
            The device for the inputs and the search for T; by default that of the model. The model is not moved.
        ignore_index : int, optional
            Rows with this label are left out.

        Returns
        -------
        float
            T, as `TemperatureScaling.fit` returns it for all logits at once.
        """
        where = torch.device(device) if device is not None else _device_of(self.model)
        entries = piece_entries(where)
        gathered = _Gathered([], [], [])
        with torch.no_grad(), evaluating(self.model):
            for number, batch in enumerate(loader):
                inputs, labels = _pair(batch, number)
                logits = self._logits(self.model(_moved(inputs, where)))
                gathered.add(logits, torch.as_tensor(labels), ignore_index, number, entries)
        with torch.no_grad():
            pieces = gathered.finished()
            if not pieces:
                raise InputError("the loader gave no rows with a label: there is nothing to fit")
            return self.scaling._fit_pieces(pieces, pieces[0].width, where)

    set_temperature = fit

    def _logits(self, output: Any) -> Tensor:
        logits = output if self.logits_of is None else self.logits_of(output)
        if not isinstance(logits, Tensor):
            raise InputError(
                f"the model must return logits in a tensor, got {type(logits).__name__}; pass logits_of, as in "
                "ModelWithTemperature(model, logits_of=lambda output: output.logits)"
            )
        return logits


class _Gathered(NamedTuple):
    """Logits and labels on the CPU: complete pieces, and batches that wait to be merged into one."""

    pieces: list[LogitPiece]
    logits: list[Tensor]
    labels: list[Tensor]

    def add(self, logits: Tensor, labels: Tensor, ignore_index: int | None, number: int, entries: int) -> None:
        """Add a batch, as rows."""
        if number == 0:
            refuse_one_hot(logits, labels)
        rows = rows_of(logits, labels.to(logits.device), from_logits=True, ignore_index=ignore_index)
        scores = rows.scores.reshape(-1, 1) if rows.scores.ndim == 2 else rows.scores.movedim(1, 2).flatten(0, 1)
        known = (self.pieces[0].logits if self.pieces else self.logits[0]) if self.pieces or self.logits else scores
        if known.shape[1] != scores.shape[1]:
            raise InputError(
                f"batch {number} of the loader has logits of {scores.shape[1]} classes, those before {known.shape[1]}"
            )
        labels, keep = rows.labels.flatten(), slice(None)
        if ignore_index is not None:
            keep = labels != ignore_index
        if len(labels[keep]):
            checked(rows)
        # Copies, because the model or the loader may reuse the memory.
        self.logits.append(scores[keep].to("cpu", copy=True))
        self.labels.append(labels[keep].to("cpu", copy=True))
        if sum(part.numel() for part in self.logits) >= entries:
            self._close()

    def finished(self) -> list[LogitPiece]:
        """Return all pieces."""
        self._close()
        return [piece for piece in self.pieces if len(piece.labels)]

    def _close(self) -> None:
        if self.logits:
            logits, labels = torch.cat(self.logits), torch.cat(self.labels)[:, None]
            self.pieces.append(LogitPiece(logits if logits.shape[1] == 1 else logits[:, :, None], labels, None))
            self.logits.clear()
            self.labels.clear()


def _pair(batch: Any, number: int) -> tuple[Any, Any]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        what = f"a {type(batch).__name__}" + (f" of {len(batch)}" if isinstance(batch, (tuple, list)) else "")
        raise InputError(
            f"the loader must give pairs (inputs, labels), batch {number} is {what}; pass a "
            "generator such as ((batch['x'], batch['y']) for batch in loader)"
        )
    return batch[0], batch[1]


def _moved(inputs: Any, device: torch.device) -> Any:
    """Move tensors to the device, also inside lists, tuples and mappings."""
    if isinstance(inputs, Tensor):
        return inputs.to(device)
    if isinstance(inputs, Mapping):
        return {name: _moved(value, device) for name, value in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        moved = [_moved(value, device) for value in inputs]
        return type(inputs)(*moved) if hasattr(inputs, "_fields") else type(inputs)(moved)
    return inputs


def _device_of(model: nn.Module) -> torch.device:
    """Return the device of the model's first parameter or buffer; the CPU if it has none."""
    for tensor in (*model.parameters(), *model.buffers()):
        return torch.device(tensor.device)
    return torch.device("cpu")
