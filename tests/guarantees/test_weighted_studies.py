"""Studies of items with weights, and of labels with prices."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError, PoolChanged
from activetest.render import html
from activetest.study.study import Study
from tests.makers import write_pool

SIZE = 40


@pytest.fixture
def weighted(folder):
    """The address of a pool with traffic and prices."""
    table = pq.read_table(write_pool(folder / "plain.parquet", SIZE)).to_pydict()
    table |= {"traffic": np.arange(SIZE) + 1.0, "cost": np.where(np.arange(SIZE) % 2, 0.25, 4.0)}
    pq.write_table(pa.table(table), folder / "pool.parquet")
    return "pool.parquet"


def label(batch):
    """Every item of a batch is a cat."""
    return dict.fromkeys(batch.ids, "cat")


def test_a_study_with_weights_reports_weighted_numbers_and_says_so_once(weighted, folder):
    study = Study.create(weighted, weight="traffic", groups="place", seed=1)
    for _ in range(4):
        study.ingest(label(study.next(10)))
    report = study.report(metrics=["error"])
    table = pq.read_table(folder / weighted).to_pydict()
    probs = np.column_stack([table[f"prob_{name}"] for name in ("cat", "dog", "owl")])
    wrong, traffic = probs.argmax(axis=1) != 0, np.array(table["traffic"])
    assert report.headline.estimate == pytest.approx(traffic @ wrong / traffic.sum())
    for value in ("barn", "tree"):
        here = traffic * (np.array(table["place"]) == value)
        (row,) = (each for each in report.estimates if each.group == {"place": value})
        assert row.estimate == pytest.approx(here @ wrong / here.sum())
    assert str(report).count("weighted by traffic") == 1
    assert report.to_markdown().count("weighted by traffic") == 1
    assert json.loads(report.to_json())["weight"] == "traffic"


def test_before_the_first_draw_an_empty_name_takes_weights_and_prices_away(weighted):
    study = Study.create(weighted, weight="traffic", price="cost", seed=1)
    schema = study.change(price="").schema
    assert (schema.weight, schema.price) == ("traffic", None)
    schema = study.change(weight="").schema
    assert (schema.weight, schema.price) == (None, None)
    study.change(weight="traffic")
    study.next(2)
    with pytest.raises(ChoiceError, match="`weight` stays"):
        study.change(weight="")


def test_a_study_without_weights_says_nothing_of_them(folder):
    write_pool(folder / "pool.parquet", SIZE)
    study = Study.create("pool.parquet", seed=1)
    study.ingest(label(study.next(10)))
    assert "weight" not in str(study.report())
    document = json.loads(study.report().to_json())
    assert document["weight"] is None
    assert document["counts"]["spent"] is None
    assert "weight" not in (folder / ".activetest" / "study.toml").read_text()


@pytest.mark.parametrize("role", ["weight", "price"])
def test_weights_and_prices_are_fixed_after_the_first_draw(weighted, role):
    Study.create(weighted, seed=1)
    study = Study.create(weighted, **{role: "traffic"})
    assert study.setup.schema.to_dict()[role] == "traffic"
    study.next(5)
    study.change(metric="f1")
    assert Study.open().setup.schema.to_dict()[role] == "traffic"
    with pytest.raises(ChoiceError, match=f"`{role}` stays after the first draw.*traffic"):
        study.change(**{role: "cost"})


def test_a_pool_whose_weights_were_edited_is_another_pool(weighted, folder):
    study = Study.create(weighted, weight="traffic", seed=1)
    study.next(5)
    table = pq.read_table(folder / weighted).to_pydict()
    table["traffic"][3] = 99.0
    pq.write_table(pa.table(table), folder / weighted)
    with pytest.raises(PoolChanged):
        Study.open().report()


@pytest.mark.parametrize("role", ["weight", "price"])
def test_questions_about_groups_know_no_weights(weighted, role):
    with pytest.raises(ChoiceError, match=f"questions about groups count labels.*`{role}`"):
        Study.create(weighted, question="identify", **{role: "traffic"})


def test_the_population_of_weighted_items_adds_the_pools_own_variance(weighted):
    study = Study.create(weighted, weight="traffic", seed=1)
    study.ingest(label(study.next(20)))
    pool, population = (study.report(metrics=["error"], population=each) for each in (False, True))
    assert population.headline.estimate == pool.headline.estimate
    assert population.headline.lower < pool.headline.lower
    assert population.headline.upper > pool.headline.upper


def test_with_weights_a_missing_answer_ends_what_estimates_use(weighted):
    study = Study.create(weighted, weight="traffic", seed=1)
    for _ in range(2):
        study.ingest(label(study.next(10)))
    before = study.report(metrics=["error"]).headline
    answers = label(study.next(10))
    answers.popitem()
    study.ingest(answers)
    after = study.report(metrics=["error"]).headline
    assert after.estimate == before.estimate
    assert after.lower >= before.lower


def test_the_options_of_the_command_line(weighted, capsys):
    assert main(["init", weighted, "--weight", "traffic", "--price", "cost", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "weights: column 'traffic'; every number is the weighted one" in shown
    assert "prices of labels: column 'cost'" in shown
    assert main(["init", weighted, "--weight", "trafic"]) == 2
    assert "did you mean 'traffic'?" in capsys.readouterr().err
    assert main(["init", weighted, "--weight", "place"]) == 2
    assert "weights and prices are numbers" in capsys.readouterr().err


# --- money


def test_a_budget_with_prices_is_money(weighted, capsys):
    study = Study.create(weighted, price="cost", budget=7.5, seed=1)
    batch = study.next(6)
    prices = {id: 0.25 if int(id.split("-")[1]) % 2 else 4.0 for id in batch.ids}
    study.ingest(label(batch) | {"item-0": "cat"})
    spent = sum(({"item-0": 4.0} | prices).values())
    counts = study.status().counts
    assert (counts.budget, counts.spent) == (7.5, pytest.approx(spent))
    assert main(["status"]) == 0
    shown = capsys.readouterr().out
    assert f"{spent:g} for labels" in shown
    assert "7.5, " in shown


def test_a_report_says_what_was_spent_and_what_it_saved_of_the_money(weighted):
    study = Study.create(weighted, price="cost", groups="place", seed=1)
    for _ in range(3):
        batch = study.next(8)
        study.ingest({id: "cat" if number else "dog" for number, id in enumerate(batch.ids)})
    report = study.report(metrics=["error"])
    saving, spent = report.headline.quantity.saving, report.counts.spent
    assert saving.spent == pytest.approx(spent) == study.status().counts.spent
    # A random label costs 0.25 or 4, as often.
    assert saving.price == pytest.approx(2.125)
    assert saving.ratio == pytest.approx(saving.random * 2.125 / spent)
    groups = [row for row in report.estimates if row.group]
    assert sum(row.quantity.saving.spent for row in groups) == pytest.approx(spent)
    row = json.loads(report.to_json())["estimates"][0]
    assert row["labels_saved"] == pytest.approx(saving.ratio)
    assert row["spent"] == pytest.approx(spent)
    for written in (str(report), report.to_markdown()):
        assert f"{spent:g} for labels" in written
        assert f"random labels, which cost about {saving.cost:,.2f}".rstrip("0") in written
    assert "spent, for labels" in html.render(report)


def test_a_declined_item_was_paid_for_as_well(weighted):
    study = Study.create(weighted, price="cost", seed=1)
    batch = study.next(2)
    study.ingest([{"id": id, "label": "", "status": "declined"} for id in batch.ids])
    assert study.status().counts.spent == sum(
        0.25 if int(id.split("-")[1]) % 2 else 4.0 for id in batch.ids
    )


def test_a_second_annotators_answer_costs_as_much(weighted):
    study = Study.create(weighted, price="cost", seed=1)
    study.ingest([{"id": "item-0", "label": "cat", "annotator": name} for name in "ab"])
    assert study.status().counts.spent == 8.0


def test_a_budget_that_pending_labels_use_up_is_used_up(weighted):
    study = Study.create(weighted, price="cost", budget=1, seed=1)
    assert "used up" not in str(study.status())
    study.next(20)
    assert "the budget of 1 is used up" in str(study.status())


def test_a_budget_without_prices_is_a_number_of_labels(weighted):
    with pytest.raises(ChoiceError, match="budget is 7.5") as error:
        Study.create(weighted, budget=7.5)
    assert "whole number of labels" in error.value.hint
    assert Study.create(weighted, budget=9.0).choices.budget == 9


def test_cheap_items_are_drawn_more_often(weighted):
    drawn = [
        Study.create(weighted, name, seed=1, **settings).next(10).ids
        for name, settings in (("priced", {"price": "cost"}), ("plain", {}))
    ]
    priced, plain = (sum(int(id.split("-")[1]) % 2 for id in ids) for ids in drawn)
    assert priced > plain


@pytest.mark.parametrize("settings", [{"floor": 1}, {"acquisition": "uniform"}])
def test_random_draws_are_random_whatever_labels_cost(weighted, settings):
    study = Study.create(weighted, price="cost", seed=1, **settings)
    study.next(1)
    (row,) = study.export()
    assert row.probability == pytest.approx(1 / SIZE)


def test_init_says_what_share_of_the_money_the_floor_takes(weighted):
    """Of draws at equal scores, by hand: 40 items, half of them for 4 and half for 0.25."""
    prices, share = np.repeat([0.25, 4.0], SIZE // 2), 0.35
    weight = np.sqrt((1 - share**2) / prices / np.mean(1 / prices) + share**2)
    part = share * prices.mean() / (weight @ prices / weight.sum())
    setup = Study.create(weighted, price="cost", seed=1).setup
    (said,) = (each for each in setup.notices if each.startswith("prices: "))
    assert "the floor of 0.35 makes every item, however dear, at least 0.35 times as" in said
    assert f"That takes about {100 * part:.0f} % of the money" in said
    study = Study.open()
    assert said in study.setup.notices
    for quiet in ({"floor": 1}, {"floor": 0}, {"price": ""}):
        assert "of the money" not in str(study.change(**quiet).notices)
