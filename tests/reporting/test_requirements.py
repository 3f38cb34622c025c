"""Meanings of requirements, and verdicts and exit codes that follow from numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.errors import ChoiceError
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import Gate, exit_code
from activetest.reporting import requirements
from activetest.reporting.requirements import Requirement


@pytest.mark.parametrize(
    ("text", "metric", "group", "op", "threshold"),
    [
        ("error<=0.05", "error", None, "<=", 0.05),
        ("recall[fraud]>=0.8", "recall[fraud]", None, ">=", 0.8),
        ("accuracy@region=EU>=0.9", "accuracy", ("region", "EU"), ">=", 0.9),
        ("  f-beta[2,a b] @ A*B = x*y  >=  5e-1 ", "f-beta[2,a b]", ("A*B", "x*y"), ">=", 0.5),
        ("bias>=-1.5", "bias", None, ">=", -1.5),
        # A sample cannot show the difference between > and >=.
        ("error<0.05", "error", None, "<=", 0.05),
        ("recall>.8", "recall", None, ">=", 0.8),
        # Operators, equals signs, at signs and brackets in names.
        ("recall[>50K]>=0.8", "recall[>50K]", None, ">=", 0.8),
        ("recall[a@b=c<=d]>=0.8", "recall[a@b=c<=d]", None, ">=", 0.8),
        ("accuracy@income=>50K>=0.8", "accuracy", ("income", ">50K"), ">=", 0.8),
        ("accuracy@income=<=50K>=0.8", "accuracy", ("income", "<=50K"), ">=", 0.8),
        ("accuracy@age=(20, 30]>=0.8", "accuracy", ("age", "(20, 30]"), ">=", 0.8),
        ("error@mail=a=b@c[<=0.1", "error", ("mail", "a=b@c["), "<=", 0.1),
        ("error@a>b=c<=0.1", "error", ("a>b", "c"), "<=", 0.1),
        ("error@region=<=0.1", "error", ("region", ""), "<=", 0.1),
    ],
)
def test_a_requirement_can_be_read_in_one_way_only(text, metric, group, op, threshold):
    assert requirements.parse_requirement(text) == Requirement(text, metric, group, op, threshold)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has neither >= nor <="),
        ("recall", "has neither >= nor <="),
        ("error==0.1", "has neither >= nor <="),
        ("error=<0.1", "has the operator =<"),
        ("error=>0.1", "has the operator =>"),
        ("error<=", "has no number after its last operator, but ''"),
        ("error<=10%", "has no number after its last operator, but '10%'"),
        ("error<=nan", "has no number after its last operator, but 'nan'"),
        ("error>=-inf", "has no number after its last operator, but '-inf'"),
        ("error<=0.1@region=EU", "has something after its threshold"),
        ("recall[a>=0.1", "has brackets that do not fit together"),
        ("recall[[a]]>=0.1", "has brackets that do not fit together"),
        ("recall[a]b>=0.1", "has brackets that do not fit together"),
        (">=0.1", "names no metric"),
        ("[fraud]>=0.1", "names no metric"),
        ("@region=EU>=0.1", "names no metric"),
        ("error@EU<=0.1", "has no column=value after the @, but 'EU'"),
        ("error@=EU<=0.1", "has no column=value after the @, but '=EU'"),
        ("error@<=0.1", "has no column=value after the @, but ''"),
    ],
)
def test_what_is_no_requirement_says_why(text, problem):
    with pytest.raises(ChoiceError) as raised:
        requirements.parse_requirement(text)
    assert raised.value.problem == f"requirement {text!r} {problem}"
    assert raised.value.hint


NAMES = st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True)
ARGUMENTS = st.text(st.characters(exclude_characters="[]"), max_size=12)
COLUMNS = st.text(st.characters(exclude_characters="="), min_size=1, max_size=12)
VALUES = st.text(max_size=12)
BLANKS = st.sampled_from(["", " ", "  "])


@given(
    name=NAMES,
    argument=st.none() | ARGUMENTS,
    group=st.none() | st.tuples(COLUMNS, VALUES),
    op=st.sampled_from([">=", "<="]),
    threshold=st.floats(allow_nan=False, allow_infinity=False),
    blank=BLANKS,
)
def test_whatever_names_hold_a_requirement_comes_back_as_it_was_written(
    name, argument, group, op, threshold, blank
):
    metric = name if argument is None else f"{name}[{argument}]"
    # Blanks around names are not part of them, and a column has to have a name.
    group = group and tuple(part.strip() for part in group)
    if group and not group[0]:
        group = None
    parts = [metric] + ([f"@{blank}{group[0]}", f"={blank}{group[1]}"] if group else [])
    text = blank.join([*parts, op, repr(threshold)])
    assert requirements.parse_requirement(text) == Requirement(text, metric, group, op, threshold)


@given(st.text(st.sampled_from("ab[]@=<>.1 ,")))
def test_any_other_text_is_refused_with_a_hint(text):
    try:
        read = requirements.parse_requirement(text)
    except ChoiceError as error:
        assert error.hint
    else:
        assert read.op in (">=", "<=") and math.isfinite(read.threshold)
        assert text.replace(" ", "").startswith(read.metric.replace(" ", ""))


AT_LEAST, AT_MOST = (
    requirements.parse_requirement("recall>=0.8"),
    requirements.parse_requirement("error<=0.1"),
)


@pytest.mark.parametrize(
    ("requirement", "lower", "upper", "verdict"),
    [
        (AT_LEAST, 0.81, 0.9, "pass"),
        (AT_LEAST, 0.79, 0.9, "undecided"),
        (AT_LEAST, 0.7, 0.79, "fail"),
        (AT_MOST, 0.01, 0.09, "pass"),
        (AT_MOST, 0.01, 0.2, "undecided"),
        (AT_MOST, 0.11, 0.2, "fail"),
        (AT_MOST, 0.11, math.inf, "fail"),
        (AT_MOST, 0.01, math.inf, "undecided"),
        (AT_LEAST, None, None, "undecided"),
    ],
)
def test_an_interval_decides_once_the_threshold_lies_outside(requirement, lower, upper, verdict):
    assert requirements.decide_by_interval(requirement, lower, upper) == verdict


@pytest.mark.parametrize("text", ["accuracy>=0.1", "accuracy<=0.1"])
def test_a_value_known_to_be_the_threshold_meets_it_whatever_rounding_did(text):
    value = 1 - 0.9
    assert value != 0.1
    assert (
        requirements.decide_by_interval(requirements.parse_requirement(text), value, value)
        == "pass"
    )


@pytest.mark.parametrize("requirement", [AT_LEAST, AT_MOST])
def test_what_is_wholly_known_is_never_undecided(requirement):
    verdicts = [requirements.decide_by_interval(requirement, x / 50, x / 50) for x in range(51)]
    assert set(verdicts) == {"pass", "fail"}


def test_the_wider_interval_of_several_gates_counts_against_failing_only():
    assert requirements.decide_by_interval(AT_MOST, 0.11, 0.2, strict=(0.09, 0.25)) == "undecided"
    assert requirements.decide_by_interval(AT_MOST, 0.14, 0.2, strict=(0.11, 0.25)) == "fail"
    assert requirements.decide_by_interval(AT_MOST, 0.01, 0.09, strict=(0, 0.12)) == "pass"
    assert requirements.decide_by_interval(AT_LEAST, 0.81, 0.9, strict=(0.7, 0.95)) == "pass"


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([], 0),
        (["pass", "pass"], 0),
        (["pass", "undecided"], 3),
        (["undecided", "fail", "pass"], 1),
        (["fail"], 1),
    ],
)
def test_the_exit_code_is_that_of_the_worst_verdict(verdicts, code):
    gates = [
        Gate(
            quantity=Quantity(None, None, None, 0.9, "none"),
            requirement="error<=0.1",
            metric="error",
            op="<=",
            threshold=0.1,
            verdict=verdict,
            n_labeled=10,
        )
        for verdict in verdicts
    ]
    assert exit_code(gates) == code
