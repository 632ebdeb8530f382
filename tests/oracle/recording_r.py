"""The recorder of what is computed in R: the calls are R, evaluated by ``record_r.R`` in one run of Rscript."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from recording import Recorder


def literal(value: Any) -> str:
    """As R writes it."""
    return {True: "TRUE", False: "FALSE"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)


class RRecorder(Recorder):
    """Collects calls, evaluates them all when written."""

    def __call__(self, name: str, call: str, quantity: str, **args: Any) -> None:
        """Keep the call, with ``{name}`` replaced by the value of that argument."""
        for key, value in args.items():
            call = call.replace(f"{{{key}}}", literal(value))
        self.records.append({"input": name, "call": call, "quantity": quantity, "args": args})

    def versions(self) -> dict[str, str]:
        """Those R says itself."""
        mine = self.found["R" if self.package == "R" else self.package]
        return {"version": mine, **{name: self.found[name] for name in self.also}}

    def write(self) -> None:
        """Run R on all calls, then write."""
        with tempfile.TemporaryDirectory() as folder:
            data, calls = Path(folder) / "inputs", Path(folder) / "calls"
            data.write_text(
                "".join(
                    f"{name}\t{letter}\t{' '.join(float(x).hex() for x in column)}\n"
                    for name, given in self.on.items()
                    if given.p.ndim == 1
                    for letter, column in given._asdict().items()
                    if column is not None
                )
            )
            calls.write_text("".join(f"{r['input']}\t{r['call']}\n" for r in self.records))
            script = Path(__file__).with_name("record_r.R")
            command = ["Rscript", "--vanilla", str(script), str(data), str(calls)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        *answers, self.found = map(json.loads, done.stdout.splitlines())
        for record, answer in zip(self.records, answers, strict=True):
            record.update(answer)
        super().write()
