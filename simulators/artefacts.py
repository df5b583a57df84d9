"""What a rehearsal leaves behind for machines: JUnit, ``report.json``, and a bundle for every case that failed."""

import json
import platform
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement

from controller.software import software
from simulators import coverage, faulted
from simulators.verdict import Broken, Case, Exit, unstruck

TAGS = {"failed": "failure", "error": "error", "wrong": "error", "skipped": "skipped"}
"""Whose mistake it was: ``failure`` is the product's, ``error`` the rig's or the script's."""
KEPT = (
    *("capture.pcapng*", "feltd.log", "table.toml", "chips.*", "*.csv"),
    *("ledger", "ledger.signing-key.pub", "disk/ledger", "disk/ledger.signing-key.pub"),
)
"""What of a stage's folder goes into a bundle. Never a private key: a ledger's closed cards stay closed."""
XML_FORBIDS = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def properties(rig: str) -> dict[str, str]:
    """What the results of all cases depend on."""
    about = software()
    return {
        "rig": rig,
        "software": about["version"],
        "software_sha256": about["sha256"],
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def junit(cases: Sequence[Case], path: Path, about: Mapping[str, str], broken: Broken | None = None) -> None:
    """Write JUnit XML: a suite for each scenario file, a case for each variant of it.

    A rehearsal that was broken off has an error of its own: what was not played is not shown.
    """
    root = Element("testsuites")
    suites: dict[str, Element] = {}
    for case in cases:
        name = case.name.partition("[")[0]
        if name not in suites:
            suites[name] = SubElement(root, "testsuite", name=name)
            _listed(suites[name], about)
        made = SubElement(suites[name], "testcase", classname=name, name=case.name, time=f"{case.ms / 1000:.3f}")
        of_case = {"seed": str(case.seed), "profile": case.profile}
        _listed(made, of_case | {f"device.{name}": who for name, who in case.devices.items()})
        if case.outcome in TAGS:
            told = SubElement(made, TAGS[case.outcome], message=_xml(case.lines[0] if case.lines else case.outcome))
            told.text = _xml("\n".join([*case.lines, f"again: {case.command}"]))
    if broken:
        whole = SubElement(root, "testsuite", name="rehearsal", tests="1", errors="1")
        made = SubElement(whole, "testcase", classname="rehearsal", name="all cases were played")
        SubElement(made, "error", message=_xml(str(broken)))
    for name, suite in suites.items():
        own = [case for case in cases if case.name.partition("[")[0] == name]
        suite.set("tests", str(len(own)))
        suite.set("time", f"{sum(case.ms for case in own) / 1000:.3f}")
        for counted, outcomes in (("failures", ("failed",)), ("errors", ("error", "wrong")), ("skipped", ("skipped",))):
            suite.set(counted, str(sum(case.outcome in outcomes for case in own)))
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _listed(element: Element, properties: Mapping[str, str]) -> None:
    given = {name: value for name, value in properties.items() if value}
    listed = SubElement(element, "properties") if given else element
    for name, value in given.items():
        SubElement(listed, "property", name=name, value=_xml(value))


def report(
    cases: Sequence[Case],
    path: Path,
    about: Mapping[str, str],
    code: Exit,
    budgets: Sequence[Mapping[str, Any]] = (),
    broken: Broken | None = None,
) -> None:
    """Write everything as one JSON document, with what was covered by the events really seen."""
    struck = {case.fault for case in cases if case.fault}
    document: dict[str, Any] = {
        "exit": int(code),
        "properties": dict(about),
        "cases": [case.as_json() | _performed(case) | {"again": case.command} for case in cases],
        "unstruck": unstruck(cases),
        "coverage": coverage.as_json(cases),
    }
    if budgets:
        document["budgets"] = list(budgets)
    if struck:
        document["faults"] = faulted.as_json(cases)
    if broken:
        document["broken_off"] = broken.as_json()
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _performed(case: Case) -> dict[str, Any]:
    """Steps and expectations of a scenario; a recorded hand has none."""
    if not case.steps:
        return {}
    drawn: dict[str, list[dict[str, int]]] = {}
    for step, name, ms in case.drawn:
        drawn.setdefault(step, []).append({name: ms})
    steps = [{**one, "drawn": drawn[one["step"]]} if one["step"] in drawn else one for one in case.steps]
    return {"steps": steps, "expectations": case.met, "answers_ms": case.answers_ms}


def bundle(case: Case, script: Path, events: Sequence[bytes], stage: Path | None, bundles: Path) -> Path:
    """Put into one folder all that is needed to look into a case that failed, and the line that plays it again.

    ``stage`` is the folder the table ran in, where it did run in one.
    """
    folder = bundles / re.sub(r"[^\w.-]+", "_", case.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.jsonl").write_bytes(b"".join(body + b"\n" for body in events))
    shutil.copy(script, folder / script.name)
    for pattern in KEPT if stage is not None else ():
        assert stage is not None
        for file in stage.glob(pattern):
            shutil.copy(file, folder / file.name)
    again = case.command
    if script.suffix == ".phh":
        # A recorded hand is one file; a scenario may name others, so it is played where it stands.
        again = again.replace(shlex.quote(str(script.absolute())), f'"$(dirname "$0")"/{shlex.quote(script.name)}')
    (folder / "again.sh").write_text(f"#!/bin/sh\nexec {again}\n", encoding="utf-8")
    (folder / "again.sh").chmod(0o755)
    return folder


def judged(case: Case, folder: Path) -> None:
    """Put into a bundle what became of its case: it is known only after the table has gone."""
    (folder / "case.json").write_text(json.dumps(case.as_json() | _performed(case), indent=1) + "\n", encoding="utf-8")


def _xml(text: str) -> str:
    """Text as XML 1.0 takes it."""
    return XML_FORBIDS.sub("?", text)
