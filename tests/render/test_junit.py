"""JUnit XML for servers that know two colours."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from activetest.nouns.report import exit_code
from activetest.render import junit


def read(report) -> ElementTree.Element:
    return ElementTree.fromstring(junit.render(report).encode())


def test_a_document_reads_like_this(judged):
    assert (
        junit.render(replace(judged, gates=judged.gates[::2]))
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1" errors="0" skipped="0">
  <testsuite name="activetest report of digits.parquet" tests="2" failures="1" errors="0" \
skipped="0">
    <testcase classname="activetest" name="error&lt;=0.1">
      <system-out>required: error &lt;= 0.1
group: all items
verdict: PASS
estimate: 0.053
interval: 0.031 to 0.082 (90 %, betting)
labels used: 38</system-out>
    </testcase>
    <testcase classname="activetest" name="error@ink=much&lt;=0.1">
      <failure type="undecided" message="UNDECIDED: The model is wrong on 5.3 % of \
items with ink=much (90 % confidence: 1.7 % to 13.4 %). Required: \
error@ink=much&lt;=0.1">required: error &lt;= 0.1
group: ink=much
verdict: UNDECIDED
estimate: 0.053
interval: 0.017 to 0.134 (90 %, betting)
labels used: 38
labels still expected to be needed: about 130
note: Groups need more labels than the pool.</failure>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


def test_there_is_a_case_for_every_gate_and_only_passing_ones_are_green(judged):
    cases = read(judged).findall("./testsuite/testcase")
    assert [case.get("name") for case in cases] == [gate.requirement for gate in judged.gates]
    assert [case.find("failure") is None for case in cases] == [
        gate.verdict == "pass" for gate in judged.gates
    ]
    assert [case.find("failure").get("type") for case in cases[1:]] == ["fail", "undecided"]


@pytest.mark.parametrize("chosen", [(), (0,), (0, 1), (0, 2), (0, 1, 2)])
def test_a_suite_has_failures_exactly_when_the_exit_code_is_not_zero(judged, chosen):
    chosen_gates = replace(judged, gates=tuple(judged.gates[number] for number in chosen))
    suites = read(chosen_gates)
    assert suites.get("tests") == suites[0].get("tests") == str(len(chosen))
    assert (suites.get("failures") != "0") == (exit_code(chosen_gates.gates) != 0)


def test_whatever_names_hold_the_document_is_well_formed(judged, gate):
    odd = "error@<&\"'=\x00\x1b[2J\ud800\ufffe]]>\n<=0.1"
    odd_report = replace(
        judged,
        pool=odd,
        gates=(gate(requirement=odd, group={odd: odd}, verdict="fail", reason=odd, method="none"),),
    )
    case = read(odd_report).find("./testsuite/testcase")
    assert case.get("name") == "error@<&\"'=\\x00\\x1b[2J\\ud800\\ufffe]]>\\n<=0.1"
    assert "\x1b" not in "".join(case.itertext())


def test_a_gate_without_an_estimate_says_so(judged, gate):
    missing = gate(estimate=None, lower=None, upper=None, verdict="undecided", method="none")
    failure = read(replace(judged, gates=(missing,))).find("./testsuite/testcase/failure")
    assert failure.get("message") == "UNDECIDED: No estimate yet. Required: error<=0.1"


def test_what_is_wholly_known_is_exact(judged, gate):
    known = gate(estimate=0.2, lower=0.2, upper=0.2, verdict="fail", method="exact")
    failure = read(replace(judged, gates=(known,))).find("./testsuite/testcase/failure")
    assert failure.get("message") == (
        "FAIL: The model is wrong on 20 % of items (exact: every answer is known). "
        "Required: error<=0.1"
    )


def test_a_gate_before_its_first_look_says_so(report, gate, nothing):
    none = {name: None for name in nothing if name != "n_eff"}
    waiting = gate(verdict="undecided", look=0, looks=5, labels_to_next_look=40, **none)
    assert "UNDECIDED: No look yet." in junit.render(report(gates=(waiting,)))
    early = gate(verdict="undecided", **none)
    assert "UNDECIDED: No estimate yet." in junit.render(report(gates=(early,)))
