"""A program that `test_lightning` starts: it trains with Lightning's Trainer and saves what each process counted and read.

    python -m tests.torch.lightning_job FOLDER PROCESSES

With several processes, Lightning starts this program again for each of the others.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytorch_lightning as lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from believable.torch import CalibrationError, CalibrationMeter

METRICS = ["ece", "brier", "nll"]
N_BINS = 15
PRECISIONS = ("32-true", "bf16-mixed")
EPOCHS = 2


class Bare(lightning.LightningModule):
    """A network, without anything that counts."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 3)

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5)


class Classifier(Bare):
    """The same with a meter, as the documentation shows it, and a metric that is logged; it keeps what they saw."""

    def __init__(self, persistent=False):
        super().__init__()
        self.meter = CalibrationMeter(3, from_logits=True, persistent=persistent)
        self.ece = CalibrationError("ece", n_bins=N_BINS, n_classes=3, from_logits=True)
        self.rows, self.epochs = [], []

    def validation_step(self, batch, index):
        x, y = batch
        logits = self.net(x)
        self.meter.update(logits, y)
        self.ece.update(logits, y)
        self.log("val_ece", self.ece)
        self.rows.append((logits, y))

    def on_validation_epoch_end(self):
        values = self.meter.compute(METRICS, n_bins=N_BINS)
        self.log_dict(values)
        logits, labels = (torch.cat(parts) for parts in zip(*self.rows, strict=True))
        self.epochs.append({"logits": logits, "labels": labels, "values": dict(values), "n": self.meter.n})
        self.meter.reset()
        self.rows.clear()


def data(n, seed):
    """Rows of three classes, in batches that do not divide them."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=generator)
    y = (2 * x[:, :3] + torch.randn(n, 3, generator=generator)).argmax(dim=1)
    return DataLoader(TensorDataset(x, y), batch_size=16)


def train(model, processes, precision):
    """Two epochs on the CPU, each with a validation."""
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=processes,
        strategy="ddp" if processes > 1 else "auto",
        precision=precision,
        max_epochs=EPOCHS,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data(60, 0), data(101, 1))
    return trainer


def main(folder, processes):
    """Train in each precision, and save what this process counted, read and logged."""
    torch.set_num_threads(1)
    for precision in PRECISIONS:
        lightning.seed_everything(0, verbose=False)
        model = Classifier()
        trainer = train(model, processes, precision)
        types = {str(tensor.dtype) for tensor in model.meter.state_dict().values()}
        logged = {name: value.item() for name, value in trainer.callback_metrics.items()}
        trainer.save_checkpoint(folder / f"{precision}.ckpt")
        found = {"epochs": model.epochs, "logged": logged, "types": types}
        torch.save(found, folder / f"{precision}-{trainer.global_rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
