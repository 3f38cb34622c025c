"""JSON for programs: documented keys, numbers or null."""

import json
import math
import sys
from dataclasses import fields

import numpy as np

from activetest.nouns.quantity import Quantity
from activetest.nouns.report import EstimateRow, Gate, exit_code
from activetest.render import json as as_json

DIMENSIONS = ("model", "part", "criterion", "repeat")

OF_DECLINED = ("answered", "least", "most")


def test_the_report_has_the_documented_keys(whole):
    document = json.loads(as_json.render(whole))
    assert document["schema_version"] == 3
    assert {"estimates", "gates", "notes", "counts"} < set(document)
    assert list(document["estimates"][0]) == [
        *DIMENSIONS,
        "metric",
        "class",
        "group",
        "against",
        "estimator",
        "estimate",
        "lower",
        "upper",
        "level",
        "method",
        "kind",
        "n_draws",
        "n_labeled",
        "n_answers",
        "n_pool",
        "n_eff",
        "labels_saved",
        "labels_saved_kind",
        "spent",
        "max_weight_share",
        "variance_inflated",
        "headline",
        "reason",
        "shrunk",
        "surrogate_std",
        "from_outputs",
        "reliable",
        *OF_DECLINED,
        "assumptions",
    ]
    assert document["estimates"][0]["group"] is None
    assert document["estimates"][3]["group"] == {"ink": "little"}


def test_gates_are_objects_in_the_order_asked(judged):
    gates = json.loads(as_json.render(judged))["gates"]
    assert list(gates[0]) == [
        *DIMENSIONS,
        "requirement",
        "metric",
        "class",
        "group",
        "against",
        "op",
        "threshold",
        "verdict",
        "level",
        "method",
        "n_draws",
        "n_labeled",
        "n_answers",
        "estimate",
        "lower",
        "upper",
        "e_pass",
        "e_fail",
        "more_labels",
        "reason",
        "decided_round",
        "look",
        "looks",
        "labels_to_next_look",
        "p_pass",
        *OF_DECLINED,
        "assumptions",
    ]
    assert [gate["verdict"] for gate in gates] == ["pass", "fail", "undecided"]
    assert gates[1]["class"] == "cat"
    assert gates[2]["group"] == {"ink": "much"}
    assert (gates[0]["more_labels"], gates[2]["more_labels"]) == (None, 128)


def test_nothing_that_a_row_or_a_gate_knows_is_left_out(judged):
    document = json.loads(as_json.render(judged))
    # The variance is there for savings, which are shown.
    numbers = {field.name for field in fields(Quantity)} - {"saving", "declined", "variance"}
    numbers |= {"n_answers", *OF_DECLINED}
    for kind, key in ((EstimateRow, "estimates"), (Gate, "gates")):
        names = {field.name.replace("class_name", "class") for field in fields(kind)}
        # Models and parts are in the dimensions, and in those of the other side; compared is in
        # rows of two models.
        others = {"quantity", "models", "parts", "since_added", "compared"}
        expected = (names | numbers | set(DIMENSIONS)) - others
        # Verdicts of gates that are not reliable are undecided, and say why.
        expected = expected - {"reliable"} if kind is Gate else expected | _SAVING
        # When the interval of an estimate holds is said by its kind.
        expected = (expected | {"kind"} if kind is EstimateRow else expected) - {"one_look"}
        assert set(document[key][0]) == expected


_SAVING = {"n_eff", "labels_saved", "labels_saved_kind", "spent"}


def test_the_exit_code_can_be_told_from_the_verdicts_in_the_document(judged):
    verdicts = {gate["verdict"] for gate in json.loads(as_json.render(judged))["gates"]}
    assert "fail" in verdicts and exit_code(judged.gates) == 1


def test_there_is_null_where_a_number_is_not_finite_and_numbers_where_numpy_had_them(row, report):
    odd = report(row(estimate=np.float32(0.5), lower=math.nan, upper=np.inf, n_labeled=np.int64(3)))
    first = json.loads(as_json.render(odd))["estimates"][0]
    assert (first["estimate"], first["lower"], first["upper"]) == (0.5, None, None)
    assert first["n_labeled"] == 3


def test_evidence_beyond_all_bounds_is_a_number_and_no_evidence_is_null(gate, report):
    sure = report(gates=(gate(e_pass=np.float64(np.inf)), gate(e_pass=None, e_fail=None)))
    first, second = json.loads(as_json.render(sure))["gates"]
    assert first["e_pass"] == sys.float_info.max
    assert second["e_pass"] is second["e_fail"] is None


def test_a_simulation_and_a_status(whole, result):
    assert json.loads(as_json.simulation([result])) == {
        "schema_version": 3,
        "results": [dict.fromkeys(DIMENSIONS) | result],
        "answers": [],
    }
    status = json.loads(as_json.status(whole.counts, "next draws"))
    assert status["counts"]["pending"] == 2
    assert status["next"] == "next draws"
