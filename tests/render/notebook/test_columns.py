"""Reports and simulations as columns."""

import json as plain_json

import pytest

from activetest.nouns.report import SimulatedStrategy
from activetest.pool.frames import KINDS, write_frame
from activetest.render import json
from activetest.render.notebook.columns import list_estimates, list_strategies


def test_a_row_per_estimate_with_the_keys_of_the_json(whole):
    """But for those that are null in every row of a study with one model."""
    columns, types = list_estimates(whole)
    document = plain_json.loads(json.render(whole))["estimates"]
    for row in document:
        assert {row.pop(key) for key in json.DIMENSIONS} == {None}
    assert list(columns) == list(types) == list(document[0])
    assert {len(values) for values in columns.values()} == {len(document)}
    for place, row in enumerate(document):
        for key, value in row.items():
            found = columns[key][place]
            if isinstance(value, dict):
                assert found == ", ".join(f"{name}={each}" for name, each in value.items())
            elif value is not None:
                assert found == value
    assert columns["group"] == [None, None, None, "ink=little", "ink=much"]
    assert columns["headline"] == [True, False, False, False, False]
    assert columns["labels_saved"][0] == 3.1


def test_a_difference_names_both_groups(row, report):
    rows = row(group={"ink": "much", "page": "1"}, against={"ink": "little", "page": "1"})
    columns, _ = list_estimates(report(rows))
    assert columns["group"] == ["ink=much, page=1"]
    assert columns["against"] == ["ink=little, page=1"]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_keep_their_types_where_all_values_are_missing(kind, report, row, nothing):
    pytest.importorskip(kind)
    empty = row(**nothing | {"max_weight_share": None})
    for rows in ((empty,), ()):
        columns, types = list_estimates(report(*rows))
        frame = write_frame(columns, kind, types=types)
        assert len(frame) == len(rows)
    table = write_frame(columns, "pyarrow", types=types)
    found = {field.name: str(field.type) for field in table.schema}
    assert found["estimate"] == found["n_eff"] == found["shrunk"] == "double"
    assert found["class"] == found["group"] == found["reason"] == "string"
    assert (found["n_pool"], found["headline"]) == ("int64", "bool")


def test_a_row_per_simulated_strategy(result):
    strategy = SimulatedStrategy(**result | {"quartiles": tuple(result["quartiles"])})
    columns, types = list_strategies([strategy])
    assert list(columns) == list(types)
    quartiles = result.pop("quartiles")
    assert [columns.pop(name) for name in ("lower_quartile", "upper_quartile")] == [
        [value] for value in quartiles
    ]
    assert columns == {key: [value] for key, value in result.items()}
    assert (types["budget"], types["surrogate"], types["coverage"]) == (int, str, float)
