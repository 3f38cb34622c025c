"""A study that an earlier version made opens, goes on and has the same numbers."""

import json

import pytest

from tests.guarantees.kept_study import EXPECTED, STUDIES, STUDY, describe_copy, write_kept_study
from tests.guarantees.test_recorded_numbers import find_differences

KEPT = sorted(path.name for path in STUDIES.glob("*/"))


def compare_with_expected(folder) -> None:
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    assert expected["next"] and expected["before"][0]["gates"]
    differences = list(find_differences(expected, describe_copy(folder)))
    assert not differences, "\n".join([*differences[:20], f"{len(differences)} differences"])


@pytest.mark.parametrize("version", KEPT)
def test_a_study_of_an_earlier_version_goes_on_with_the_same_numbers(version):
    compare_with_expected(STUDIES / version)


def test_a_study_of_this_version_can_be_kept(tmp_path):
    folder = tmp_path / "kept"
    write_kept_study(folder)
    kept = sorted(path.name for path in (folder / STUDY).iterdir())
    assert kept == ["ledger.db", "study.toml"]
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 200_000
    compare_with_expected(folder)
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    expected["before"][0]["estimates"][0]["estimate"] += 1e-4
    (folder / EXPECTED).write_text(json.dumps(expected), encoding="utf-8")
    with pytest.raises(AssertionError, match="/before/0/estimates/0/estimate"):
        compare_with_expected(folder)
