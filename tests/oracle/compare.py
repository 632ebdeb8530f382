"""Compare newly recorded values with the committed ones: ``compare.py COMMITTED NEW``; exit 1 if they differ."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

RELATIVE, ABSOLUTE = 1e-9, 1e-15  # the second only for errors that are zero up to rounding
OF_THE_SYSTEM = ("R", "rms", "lme4")  # nothing here pins their version; their values must agree all the same
ENDED_EARLY = {  # fits where the peer's own search stopped: its last digits hang on how the processor rounds
    "betacal.json": 1e-4,
    "netcal_recalibrators.json": 1e-4,
    "uncertainty_calibration_recalibrators.json": 1e-4,
    "scikit_learn_recalibrators.json": 1e-6,
    "r_recalibrators.json": 1e-6,
    "lme4.json": 1e-4,
}


def same(a: Any, b: Any, relative: float = RELATIVE) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, relative) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], relative) for key in a)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=relative, abs_tol=ABSOLUTE)
    return bool(a == b)


def main(committed: str, new: str) -> int:
    old, now = json.loads(Path(committed).read_text()), json.loads(Path(new).read_text())
    name = Path(committed).name
    differences = []
    for key in sorted((old.keys() | now.keys()) - {"records"}):
        if old.get(key) != now.get(key):
            said = f"{name}: {key}: committed {old.get(key)!r}, now {now.get(key)!r}"
            pinned = key == "version" and old["package"] not in OF_THE_SYSTEM
            if pinned or key in ("package", "inputs_sha256"):
                differences.append(said)
            else:
                print(f"{said} (allowed)")
    before = {(r["input"], r["call"]): r for r in old["records"]}
    after = {(r["input"], r["call"]): r for r in now["records"]}
    for where in before.keys() | after.keys():
        a, b = before.get(where), after.get(where)
        if a is None or b is None:
            differences.append(f"{name}: {': '.join(where)}: only {'committed' if b is None else 'now'}")
        elif not same(a["value"], b["value"], ENDED_EARLY.get(name, RELATIVE)) or a.get("error") != b.get("error"):
            shown = [r.get("error", r["value"]) for r in (a, b)]
            differences.append(f"{name}: {': '.join(where)}: committed {shown[0]}, now {shown[1]}")
    print("\n".join([*sorted(differences), f"{name}: {len(after)} records, {len(differences)} differences"]))
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
