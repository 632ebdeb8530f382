"""JUnit XML of the gates (--junit), which Jenkins, GitLab and other CI systems show as the results of tests.

The file agrees with the exit code: it has a failure if and only if a gate failed (exit code 1), and an error if the
input could not be audited (exit code 2).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

import click

from believable.cli._common import STANDARD_STREAM, said
from believable.cli._outputs import check_outputs
from believable.errors import BelievableError

if TYPE_CHECKING:
    from believable.auditing.gates import Result
    from believable.report import Verdict

# XML 1.0 cannot hold control characters or half of a surrogate pair, not even escaped.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "believable"


@dataclass(frozen=True, slots=True)
class Case:
    """A test case: a gate, the verdict, or the input that could not be audited.

    Attributes
    ----------
    name : str
        What was tested.
    outcome : {"passed", "failure", "error"}
    message : str
        The result in one sentence.
    details : str
        The evidence.
    kind : str
        The kind of failure or error.
    """

    name: str
    outcome: Literal["passed", "failure", "error"]
    message: str
    details: str = ""
    kind: str = ""


@dataclass(slots=True)
class Junit:
    """What the JUnit file will say: filled by the command, written when it ends."""

    title: str
    cases: list[Case] = field(default_factory=list)

    def add(self, verdict: Verdict, results: Sequence[Result]) -> None:
        """Add a test case for the verdict, and one for each gate on a metric.

        The verdict fails only if a gate on the answer failed.
        """
        evidence = "\n".join(verdict.lines())
        on_answer = [result for result in results if result.name == "the answer"]
        failed = any(not result.kept for result in on_answer)
        self.cases.append(
            Case("the answer", "failure" if failed else "passed", verdict.headline, evidence, "AnswerGate")
        )
        for result in results:
            if result not in on_answer:
                outcome: Literal["passed", "failure"] = "passed" if result.kept else "failure"
                self.cases.append(Case(result.name, outcome, str(result), evidence, "Gate"))

    def to_xml(self, seconds: float, at: datetime) -> str:
        """Return the file; all time is counted for the first test case, because gates only compare numbers."""
        totals = {
            "name": SUITE,
            "tests": str(len(self.cases)),
            "failures": str(sum(case.outcome == "failure" for case in self.cases)),
            "errors": str(sum(case.outcome == "error" for case in self.cases)),
            "time": f"{seconds:.3f}",
        }
        suites = ElementTree.Element("testsuites", totals)
        suite = ElementTree.SubElement(
            suites,
            "testsuite",
            totals | {"name": plain(self.title), "skipped": "0", "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S")},
        )
        class_name = f"{SUITE}.{plain(self.title).replace('.', '_')}"  # Jenkins reads dots as packages
        for i, case in enumerate(self.cases):
            taken = f"{0.0 if i else seconds:.3f}"
            of_case = {"name": plain(case.name), "classname": class_name, "time": taken}
            node = ElementTree.SubElement(suite, "testcase", of_case)
            if case.outcome != "passed":
                why = ElementTree.SubElement(
                    node, case.outcome, {"message": plain(case.message), "type": plain(case.kind)}
                )
                why.text = plain("\n".join(filter(None, [case.message, case.details])))
            else:
                ElementTree.SubElement(node, "system-out").text = plain(
                    "\n".join(dict.fromkeys(filter(None, [case.message, *case.details.split("\n")])))
                )
        ElementTree.indent(suites)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def plain(words: str) -> str:
    """Replace characters that XML cannot hold."""
    return NOT_IN_XML.sub("�", words)


@contextmanager
def junit_written(path: Path | None, inputs: Sequence[Path | None], title: str) -> Iterator[Junit]:
    """Yield what the command fills in, and write it to a file if a path is given.

    If the input cannot be audited, the file has that error. Only a path that cannot be written is checked before.
    """
    report, started, at = Junit(title), time.perf_counter(), datetime.now(UTC)
    if path is None:
        yield report
        return
    check_outputs({"junit": path}, [*inputs])
    try:
        yield report
    except BrokenPipeError:  # the reader of the output has stopped: this is no error of the input
        raise
    except (BelievableError, OSError) as error:
        report.cases = [Case("the input", "error", said(error), kind=type(error).__name__)]
        _write(path, report.to_xml(time.perf_counter() - started, at))
        raise
    _write(path, report.to_xml(time.perf_counter() - started, at))


def _write(path: Path, text: str) -> None:
    from believable._write import write_beside

    if path == STANDARD_STREAM:
        click.echo(text, nl=False)
        return
    with write_beside(path) as beside:
        beside.write_text(text, encoding="utf-8")
