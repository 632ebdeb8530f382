"""Mixup: train on mixtures of pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor, nn

from believable import _check
from believable.errors import InputError
from believable.torch.losses.base import times
from believable.torch.losses.label_smoothing import smooth_labels
from believable.torch.targets import widened

MAX_ALPHA = 1e300  # all draws are 1/2 then, and NumPy overflows beyond


class Mixed(NamedTuple):
    """A batch whose rows are mixtures of two rows.

    Attributes
    ----------
    x : Tensor
        lam x + (1 - lam) x[partner].
    y_a, y_b : Tensor
        The labels of the row and of its partner.
    lam : Tensor of shape () or (N,)
        The weight of the row itself.
    """

    x: Tensor
    y_a: Tensor
    y_b: Tensor
    lam: Tensor

    @property
    def y(self) -> Tensor:
        """The soft labels lam y_a + (1 - lam) y_b; the labels must be rows of probabilities."""
        if not self.y_a.is_floating_point():
            raise InputError("class numbers cannot be mixed: pass num_classes to mixup, or use MixupLoss")
        return _mixture(self.y_a, self.y_b, self.lam)


def mixup(
    x: Tensor,
    y: Tensor,
    alpha: float = 0.2,
    *,
    per_row: bool = False,
    num_classes: int | None = None,
    generator: torch.Generator | None = None,
) -> Mixed:
    """Mix each row with another of the batch: x' = lam x + (1 - lam) x[partner], lam from Beta(alpha, alpha).

    The partners are a random permutation of the rows. lam is one number for the batch, as in the authors' code, or one
    per row. Networks trained this way are less over-confident; a large alpha makes them under-confident.

    Parameters
    ----------
    x : Tensor of shape (N, ...)
        The inputs, as floats; not modified.
    y : Tensor of shape (N, ...)
        Class numbers, or soft labels as floats.
    alpha : float
        At least 0. With 0 nothing is mixed: lam = 1, and every row is its own partner.
    per_row : bool
        Draw one lam for each row.
    num_classes : int, optional
        Turn class numbers into one-hot rows of this many classes, in the type of x, so that the mixture `y` of the
        result can be passed to `torch.nn.CrossEntropyLoss`.
    generator : torch.Generator, optional
        The random generator; by default torch's own on the CPU. With one on a GPU, the CPU waits for it.

    Returns
    -------
    Mixed
        The fields (x, y_a, y_b, lam), for `MixupLoss`, and the soft labels `y`.

    References
    ----------
    Zhang, Cisse, Dauphin, Lopez-Paz (2018), ICLR. Thulasidasan et al. (2019), NeurIPS (mixup and calibration).

    Examples
    --------
    >>> import torch
    >>> x, y = torch.eye(3), torch.tensor([0, 1, 2])
    >>> mixed = mixup(x, y, alpha=1.0, num_classes=3, generator=torch.Generator().manual_seed(0))
    >>> bool((mixed.x == mixed.y).all())  # here the inputs are the one-hot labels themselves
    True
    """
    alpha = _check.number(alpha, "alpha", 0)
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise InputError(
            "{argument} must be a tensor of floats, got {got}; convert it first",
            argument="x",
            got=getattr(x, "dtype", type(x).__name__),
        )
    if not isinstance(y, Tensor) or x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
        raise InputError(
            "{argument} and y must have one entry per row, got shapes {of_x} and {of_y}",
            argument="x",
            of_x=tuple(x.shape),
            of_y=_shape(y),
        )
    if num_classes is not None:
        y = smooth_labels(y, num_classes, 0.0, dtype=x.dtype)
    _check.flag(per_row, "per_row")
    shares = x.new_ones(len(x) if per_row else (), dtype=widened(x[:0]).dtype)
    if alpha == 0 or len(x) == 0:
        return Mixed(x, y, y, shares)
    place = torch.device("cpu") if generator is None else generator.device
    partner = torch.randperm(len(x), generator=generator, device=place)
    drawn = _beta(alpha, len(x) if per_row else 1, generator, place)
    # the copy to a GPU does not block
    lam = torch.from_numpy(drawn).to(shares, non_blocking=True) if per_row else shares.fill_(float(drawn[0]))
    partner_x, partner_y = (rows[partner.to(rows.device, non_blocking=True)] for rows in (x, y))
    return Mixed(_mixture(x, partner_x, lam), y, partner_y, lam)


@final
class MixupLoss(nn.Module):
    """The loss of a mixed batch: lam loss(out, y_a) + (1 - lam) loss(out, y_b).

    Parameters
    ----------
    loss : callable
        Any loss of (outputs, labels), such as `torch.nn.CrossEntropyLoss()` or `FocalLoss()`. It defines the class
        weights, `ignore_index` and the reduction. One lam per row needs `reduction="none"`; the result is then one
        value per row, of which you take the mean.

    References
    ----------
    Zhang, Cisse, Dauphin, Lopez-Paz (2018), ICLR.

    Examples
    --------
    >>> import torch
    >>> x, y = torch.tensor([[4.0, 0.0], [1.0, 2.0]]), torch.tensor([0, 1])
    >>> mixed = mixup(x, y, alpha=0.4, generator=torch.Generator().manual_seed(1))
    >>> model, criterion = torch.nn.Identity(), MixupLoss(torch.nn.CrossEntropyLoss())
    >>> loss = criterion(model(mixed.x), mixed.y_a, mixed.y_b, mixed.lam)
    >>> loss.shape
    torch.Size([])
    """

    def __init__(self, loss: Callable[..., Tensor]) -> None:
        super().__init__()
        if not callable(loss):
            raise InputError(f"loss must be a loss such as torch.nn.CrossEntropyLoss(), got {loss!r}")
        self.loss = loss

    def forward(
        self, outputs: Tensor, y_a: Tensor, y_b: Tensor, lam: Tensor | float, *, sample_weight: Any = None
    ) -> Tensor:
        """Return the loss of the batch.

        Parameters
        ----------
        outputs : Tensor
            The output of the model for the mixed x.
        y_a, y_b, lam
            The fields that `mixup` returns.
        sample_weight : Tensor, optional
            Weights of the mixed rows, passed to the loss if it takes them, as those of this package do.
        """
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        a, b = self.loss(outputs, y_a, **more), self.loss(outputs, y_b, **more)
        shares = lam.to(a) if isinstance(lam, Tensor) else a.new_full((), lam)
        if shares.ndim and (a.ndim == 0 or len(a) != len(shares)):
            raise InputError(
                f"one lam per row ({len(shares)} of them) needs one loss per row, got losses of shape "
                f'{tuple(a.shape)}; make the loss with reduction="none" and take the mean of what comes out'
            )
        return _mixture(a, b, shares)


def _mixture(a: Tensor, b: Tensor, lam: Tensor) -> Tensor:
    """Return lam a + (1 - lam) b in the type of a; a lam per row is broadcast, and 0 times anything is 0."""
    lam = lam.reshape(lam.shape + (1,) * (a.ndim - lam.ndim)) if lam.ndim else lam
    return (times(widened(a), lam) + times(widened(b), 1 - lam)).to(a.dtype)


def _beta(alpha: float, n: int, generator: torch.Generator | None, place: torch.device) -> Any:
    """Draw from Beta(alpha, alpha) with a NumPy generator seeded from torch's, whose Beta takes no generator."""
    seed = torch.randint(2**62, (), generator=generator, device=place)
    alpha = min(alpha, MAX_ALPHA)
    return np.random.default_rng(int(seed)).beta(alpha, alpha, n)


def _shape(y: Any) -> Any:
    return tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
