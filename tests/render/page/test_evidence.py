"""What numbers rest on, on the page."""

from activetest.nouns.quantity import Quantity
from activetest.nouns.report_details import ConfusionCell, ConfusionTable, WorstItem
from activetest.render.page import evidence


def test_a_matrix_explains_cells_without_an_estimate():
    known = Quantity(0.5, 0.4, 0.6, 0.95, "group-beta")
    unknown = Quantity(None, None, None, 0.95, "none")

    def write(last: Quantity) -> str:
        places = [("a", "a", known), ("a", "b", known), ("b", "a", known), ("b", "b", last)]
        cells = [
            ConfusionCell(quantity=found, predicted=said, truth=right, n_labeled=5)
            for said, right, found in places
        ]
        section = evidence.write_confusion(
            ConfusionTable(("a", "b"), ("a", "b"), tuple(cells), None, ())
        )
        assert section is not None
        return section.inside

    assert "no such item is labelled, or too few" in write(unknown)
    assert "too few" not in write(known)


def test_a_matrix_of_many_classes_names_a_few_of_those_it_leaves_out():
    names = tuple(f"c{k}" for k in range(5000))
    cell = ConfusionCell(
        quantity=Quantity(1.0, 1.0, 1.0, 0.95, "exact"), predicted="a", truth="a", n_labeled=5
    )
    section = evidence.write_confusion(ConfusionTable(("a",), ("a",), (cell,), "others", names))
    assert section is not None
    assert "c19 and 4,980 more" in section.inside and "c20" not in section.inside


def test_the_worst_items_name_who_was_wrong():
    item = WorstItem("a", None, "1", "0", 0.7, 0.7)
    for predictor in ("model", "judge"):
        section = evidence.write_items([item], None, predictor)
        assert section is not None and f"{predictor}: <b>" in section.inside


def test_the_worst_items_say_where_the_answer_is_unlike_others():
    for unlike in (True, False):
        item = WorstItem("a", None, "1", "0", 0.7, 0.7, unlike)
        section = evidence.write_items([item], None)
        assert section is not None
        assert ("unlike the model's answers to similar items" in section.inside) == unlike
