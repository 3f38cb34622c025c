"""Classes that are confused: cells without a number, and classes without a row."""

from activetest.nouns.quantity import Quantity
from activetest.nouns.report_details import ConfusionCell, ConfusionTable
from activetest.render.document.blocks import Map
from activetest.render.document.extent import Extent
from activetest.render.sections import confusion


def write(table: ConfusionTable) -> Map:
    found = next(iter(confusion.write(table, None, Extent(paged=True))))
    assert isinstance(found, Map)
    return found


def test_a_matrix_explains_cells_without_an_estimate():
    known = Quantity(0.5, 0.4, 0.6, 0.95, "group-beta")
    unknown = Quantity(None, None, None, 0.95, "none")

    def explain(last: Quantity) -> str:
        places = [("a", "a", known), ("a", "b", known), ("b", "a", known), ("b", "b", last)]
        cells = [
            ConfusionCell(quantity=found, predicted=said, truth=right, n_labeled=5)
            for said, right, found in places
        ]
        return write(ConfusionTable(("a", "b"), ("a", "b"), tuple(cells), None, ())).legend

    assert "no such item is labelled, or too few" in explain(unknown)
    assert "too few" not in explain(known)


def test_a_matrix_of_many_classes_names_a_few_of_those_it_leaves_out():
    names = tuple(f"c{k}" for k in range(5000))
    cell = ConfusionCell(
        quantity=Quantity(1.0, 1.0, 1.0, 0.95, "exact"), predicted="a", truth="a", n_labeled=5
    )
    legend = write(ConfusionTable(("a",), ("a",), (cell,), "others", names)).legend
    assert "c19 and 4,980 more" in legend and "c20" not in legend
