"""The steps of the GitHub Action (action.yml): install believable, then audit a file and report to GitHub.

This runs with the job's Python and needs only the standard library; believable gets an environment of its own, so that
the packages of the job stay as they are. Inputs arrive as environment variables (INPUT_FILE, ...), and are passed to
the program as a list of arguments, never through a shell.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

BAD_INPUT = 2
PASSED_ANSWER = ("the answer", "passed")
SUMMARY_LIMIT = 1_000_000  # bytes; GitHub refuses a summary of more than 1 MiB
OWN_OPTIONS = {  # options that the action sets itself, and what to use in their place
    "--markdown": "the output report",
    "--json": "the output json",
    "--junit": "the input junit",
}


class UsageError(Exception):
    """An input of the action is invalid."""


def main() -> int:
    """Run a step of the action, and return its exit code."""
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return {"install": install, "audit": audit}[sys.argv[1]]()
    except UsageError as error:
        annotate("error", str(error))
        set_outputs({"exit-code": str(BAD_INPUT)})
        return BAD_INPUT


# --- install ----------------------------------------------------------------------------------------------------------


def install() -> int:
    """Install believable into an environment of its own."""
    if sys.version_info < (3, 11):  # noqa: UP036 — the job may have an older one
        found = sys.version.split()[0]
        raise UsageError(f"believable needs Python 3.11 or newer, and this job has {found}: set python-version: '3.13'")
    version = given("VERSION").strip()
    if not re.fullmatch(r"[0-9A-Za-z.!+-]*", version):
        raise UsageError(f"version must be a version such as 1.2.0, got {version!r}")
    package = f"believable[all]=={version}" if version else f"{os.environ['GITHUB_ACTION_PATH']}[all]"
    venv.create(environment(), with_pip=True, clear=True)
    pip = [str(program("python")), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    return subprocess.run(pip, check=False).returncode


def environment() -> Path:
    """Return the folder of the environment that believable is installed in."""
    return Path(os.environ["RUNNER_TEMP"]) / "believable" / "environment"


def program(name: str) -> Path:
    """Return a program of that environment."""
    folder = environment()
    return folder / "Scripts" / f"{name}.exe" if os.name == "nt" else folder / "bin" / name


# --- audit ------------------------------------------------------------------------------------------------------------


def audit() -> int:
    """Audit the file, and write the summary, the outputs and the annotations."""
    folder = Path(os.environ["RUNNER_TEMP"]) / "believable" / f"audit-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    report, numbers, results = folder / "audit.md", folder / "audit.json", folder / "gates.xml"
    written = ["--markdown", str(report), "--json", str(numbers), "--junit", str(results)]
    command = [str(program("believable")), "audit", *options(), *gates(), *written, "--", *files()]
    junit = junit_path()
    code = run_shown(command)
    if not code and not numbers.exists():
        raise UsageError("options ask for something else than an audit, such as --help: the log shows what")
    cases = list(results_in(results, code))
    if junit is not None and results.exists():
        shutil.copyfile(results, junit)
    answer = json.loads(numbers.read_text(encoding="utf-8"))["verdict"]["answer"] if numbers.exists() else ""
    found = {"report": str(report), "json": str(numbers)} if numbers.exists() else {}
    set_outputs({"answer": answer, "exit-code": str(code)} | found)
    if given("SUMMARY").strip().lower() != "false":
        write_summary(report.read_text(encoding="utf-8") if report.exists() else "", cases)
    for _, outcome, message in cases:
        if outcome != "passed":
            annotate("error", message)
    return code


def files() -> list[str]:
    """Return the files to audit, one per line."""
    found = [line for line in given("FILE").splitlines() if line.strip()]
    if not found:
        raise UsageError("file is empty: name the file to audit")
    return found


def options() -> list[str]:
    """Return the further options, read as a shell would read them, without running anything."""
    try:
        found = shlex.split(re.sub(r"\\\r?\n", " ", given("OPTIONS")))  # a line may end with a backslash
    except ValueError as error:
        raise UsageError(f"options cannot be read: {error} in {given('OPTIONS').strip()!r}") from error
    for option in found:
        name = option.partition("=")[0]
        if name in OWN_OPTIONS:
            raise UsageError(f"options has {name}, which the action sets itself: use {OWN_OPTIONS[name]}")
        if option == "--":
            raise UsageError("options has --, after which no option can follow: name files with the input file")
    return found


def gates() -> list[str]:
    """Return the options of the gates."""
    found = []
    for name in ("FAIL_ON", "FAIL_ABOVE", "FAIL_BELOW"):
        option = f"--{name.lower().replace('_', '-')}"
        for value in given(name).replace(",", " ").split():
            found += [option, value]
    return found


def given(name: str) -> str:
    """Return an input of the action."""
    return os.environ.get(f"INPUT_{name}", "")


def junit_path() -> Path | None:
    """Return where the results of the gates go, unless that is an input."""
    name = given("JUNIT").strip()
    if not name:
        return None
    path = Path(name)
    if path.is_dir() or not path.parent.is_dir() or path.resolve() in [Path(file).resolve() for file in files()]:
        raise UsageError(f"junit must be a new file in a folder that exists, got {name!r}")
    return path


def run_shown(command: list[str]) -> int:
    """Run a command, and show its output, in which GitHub then reads no workflow commands.

    A line such as "::add-mask::x" would be obeyed otherwise, even if it came from the audited file.
    """
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    in_utf8 = os.environ | {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}  # which GitHub reads; Windows has others
    try:  # both streams are read for commands
        return subprocess.run(command, stderr=subprocess.STDOUT, env=in_utf8, check=False).returncode
    finally:
        print(f"\n::{token}::", flush=True)


def results_in(path: Path, code: int) -> Iterator[tuple[str, str, str]]:
    """Yield the name, outcome and message of each gate; if there are none, say that the audit did not run."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):  # such as an option that does not exist, about which nothing is written
        cases = []
    if code and not any(case.find(kind) is not None for case in cases for kind in ("failure", "error")):
        yield "the options", "error", f"believable audit ended with exit code {code}; the log says why"
        return
    for case in cases:
        name = case.get("name", "")
        for kind in ("failure", "error"):
            node = case.find(kind)
            if node is not None:
                yield name, kind, node.get("message", "")
                break
        else:
            yield name, "passed", (case.findtext("system-out") or "").partition("\n")[0]


# --- what GitHub reads ------------------------------------------------------------------------------------------------


def write_summary(report: str, cases: list[tuple[str, str, str]]) -> None:
    """Add the audit to the summary of the job: the answer, then the gates, then the rest of the report."""
    if report:
        heading, answer, rest = report.split("\n\n", 2)
        told = {"the answer": "FAILED: this answer was not to pass."}  # which stands above
        results = [told.get(name, message) for name, outcome, message in cases if (name, outcome) != PASSED_ANSWER]
        text = "\n\n".join([heading, answer, *(["".join(map(listed, results))] if results else []), rest])
    else:
        wrong = "".join(listed(message) for _, outcome, message in cases if outcome != "passed")
        text = f"# Calibration audit\n\n**The input could not be audited.**\n\n{wrong}"
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(fitting(text) + "\n")


def fitting(text: str) -> str:
    """Return as many whole lines of a text as fit into a summary."""
    if len(text.encode()) <= SUMMARY_LIMIT:
        return text
    kept = text.encode()[:SUMMARY_LIMIT].decode(errors="ignore").rpartition("\n")[0]
    return f"{kept}\n\nThe rest does not fit into a summary."


def listed(message: str) -> str:
    """Return a message as a list item, in which nothing is read as markup."""
    one_line = " ".join(message.split())
    escaped = re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", one_line)
    return f"- {escaped}\n"


def set_outputs(values: dict[str, str]) -> None:
    """Set outputs of the step; a random delimiter keeps a value from setting others."""
    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            for name, value in values.items():
                end = f"end-{secrets.token_hex(16)}"
                file.write(f"{name}<<{end}\n{value}\n{end}\n")


def annotate(kind: str, message: str) -> None:
    """Show a message on the page of the run, as text without workflow commands."""
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind} title=Calibration audit::{escaped}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
