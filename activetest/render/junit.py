"""Gates as JUnit XML: one test case each. An undecided gate does not look green."""

from xml.etree import ElementTree

from activetest.nouns.report import PASS, Gate, Report
from activetest.render.document import words
from activetest.render.sections import gates

SHOWS = ("report",)
NEEDS_GATES = True
SUFFIXES = (".xml",)
MARKS = ("<testsuites ", '<testsuite name="activetest report of ')


def render(report: Report) -> str:
    """One test suite with one case per gate, in the order asked.

    Failed and undecided gates are both a <failure>, with the verdict as its type: servers know no
    third verdict, and an undecided gate must not pass.
    """
    suite = ElementTree.Element("testsuite", name=f"activetest report of {words.pool(report)}")
    for gate in report.gates:
        suite.append(_build_case(gate))
    failures = sum(gate.verdict != PASS for gate in report.gates)
    counts = {"tests": str(len(report.gates)), "failures": str(failures)}
    counts |= {"errors": "0", "skipped": "0"}
    suite.attrib.update(counts)
    suites = ElementTree.Element("testsuites", counts)
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _build_case(gate: Gate) -> ElementTree.Element:
    name = words.plain(gate.requirement.strip())
    case = ElementTree.Element("testcase", classname="activetest", name=name)
    if gate.verdict == PASS:
        result = ElementTree.SubElement(case, "system-out")
    else:
        message = words.plain(gates.verdict(gate))
        result = ElementTree.SubElement(case, "failure", type=gate.verdict, message=message)
    result.text = "\n".join(f"{name}: {words.plain(value)}" for name, value in gates.grounds(gate))
    return case
