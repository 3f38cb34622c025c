"""Simulated strategies, and answers to a question, as blocks."""

from collections.abc import Collection, Sequence

from activetest.render.document import words
from activetest.render.document.blocks import Block, Bullets, Columns, Table, tabulate


def list_simulation_blocks(results: Sequence[dict], answers: Sequence[dict]) -> list[Block]:
    """Answers to a question, one row per strategy, metric and budget, and what columns mean."""
    budgets = {result["budget"] for result in results}
    return [
        *tabulate_answers(answers, budgets),
        *([tabulate_strategies(results)] if results else []),
        Bullets(explain_answers(answers) + explain_strategies(results)),
    ]


def tabulate_answers(answers: Sequence[dict], budgets: Collection[int]) -> list[Table]:
    """Answers after as many labels as budgets name, and how many labels answers took.

    answers   fields of SimulatedAnswer, a dict each; without any there is no table
    """
    if not answers:
        return []
    first = answers[0]
    strategy: Columns = {"acquisition": words.drawing}
    if len({each["surrogate"] for each in answers}) > 1:
        strategy["surrogate"] = lambda answer: answer["surrogate"]
    looks = [answer | look for answer in answers for look in find_looks(answer, budgets)]
    looks.sort(key=lambda look: look["budget"])
    columns: Columns = {"budget": lambda look: words.count(look["budget"]), **strategy}
    if has_end(first):
        columns |= {
            "right": lambda look: _write_share(look["right"]),
            "decided": lambda look: _write_share(look["decided"]),
            "decided wrongly": lambda look: _write_share(look["decided_wrong"]),
        }
    if any(look["reciprocal_rank"] is not None for look in looks):
        columns["mrr"] = lambda look: words.figure(look["reciprocal_rank"], 0.01)
    if of_groups(first):
        columns |= {
            "weighted rmse": lambda look: words.short(look["weighted_rmse"]),
            "rmse": lambda look: words.short(look["rmse"]),
            "coverage": lambda look: _write_share(look["coverage"]),
        }
    else:
        columns["regret"] = lambda look: words.short(look["regret"])
    columns["runs"] = lambda look: words.count(look["runs"])
    kept = ("right", "decided", "decided wrongly") if has_end(first) else ("weighted rmse",)
    whole = "`.answers` has all"
    found = [tabulate(words.plain(first["goal"]), columns, looks, kept=kept, whole=whole)]
    if not has_end(first):
        return found
    waits: Columns = strategy | {
        "right for good": lambda answer: write_wait(answer["until_right"]),
        "right and decided": lambda answer: write_wait(answer["until_sure"]),
        "decided": lambda answer: write_wait(answer["until_decided"]),
        "wrong then": lambda answer: _write_share(answer["first_wrong"]),
        "runs": lambda answer: words.count(answer["runs"]),
    }
    kept = ("right for good", "right and decided", "decided")
    found.append(tabulate("labels until the answer is", waits, answers, kept=kept, whole=whole))
    return found


def explain_answers(answers: Sequence[dict]) -> list[str]:
    """The meaning of the tables' columns."""
    if not answers:
        return []
    rmse = (
        "rmse: error of the groups' values, which count alike; weighted rmse: they count by their "
        "items."
        if of_groups(answers[0])
        else "regret: how much worse than the best model the named one is, on average. mrr: mean "
        "of 1 over the place of the best model."
    )
    if not has_end(answers[0]):
        return [rmse]
    level = f"{answers[0]['level']:g}"
    found = [
        f"decided: the answer has a probability of at least {level}; decided wrongly: and it is "
        "not right. wrong then: of the studies that were ever decided, those that were wrong when "
        "they were decided first.",
    ]
    waits = [answer[name] for answer in answers for name in ("until_right", "until_sure")]
    waits += [answer["until_decided"] for answer in answers]
    if any(wait["share"] < 1 for wait in waits):
        found.append(
            "labels after >: in the other studies it did not come to that; they count with the "
            "labels that they had in the end."
        )
    return [*found, rmse]


def tabulate_strategies(results: Sequence[dict]) -> Table:
    """Simulated strategies, by metric and budget; labels only where they are not the budget."""
    columns: Columns = {
        "metric": lambda result: words.plain(result["metric"]),
        "budget": lambda result: words.count(result["budget"]),
        "acquisition": words.drawing,
        "surrogate": lambda result: result["surrogate"],
        "estimator": lambda result: result["estimator"],
        "labels": lambda result: words.count(result["n_labeled"]),
        "mse ratio": lambda result: words.times(result["mse_ratio"]),
        "+-": lambda result: words.figure(result["mse_ratio_se"], 0.1),
        "surrogate alone": lambda result: words.times(result["surrogate_mse_ratio"]),
        "saved": lambda result: words.times(result["labels_saved"]),
        "coverage": lambda result: words.figure(result["coverage"], 0.01),
        "width": lambda result: words.short(result["width"]),
        "rmse": lambda result: words.short(result["rmse"]),
        "median": lambda result: words.short(result["median"]),
        "bias": lambda result: words.short(result["bias"]),
        "runs": lambda result: words.count(result["runs"]),
    }
    # With replacement, the same item may be drawn twice: fewer labels than the budget.
    if all(result["n_labeled"] == result["budget"] for result in results):
        del columns["labels"]
    if all(result["surrogate_mse_ratio"] is None for result in results):
        del columns["surrogate alone"]
    # Strategies for the same metric and budget under each other; metrics as they came.
    metrics = list(dict.fromkeys(result["metric"] for result in results))
    ordered = sorted(
        results, key=lambda result: (metrics.index(result["metric"]), result["budget"])
    )
    kept = ("mse ratio", "+-")
    return tabulate("", columns, ordered, kept=kept, gaps=True, whole="`.to_frame()` has all")


def explain_strategies(results: Sequence[dict]) -> list[str]:
    """Savings of random draws with the same surrogate, and strategies whose runs are one study."""
    remarks = []
    if any(result["surrogate_mse_ratio"] is not None for result in results):
        remarks.append(
            "surrogate alone: the mse ratio of random draws with the same surrogate "
            "(doubly-robust); what is above it, active draws add."
        )
    without = (result for result in results if result["coverage"] is None)
    if names := dict.fromkeys(map(words.drawing, without)):
        remarks.append(
            f"{', '.join(names)}: nothing in these studies is random, so all runs are the same "
            "study. There is no coverage, and more runs would not show what another study would "
            "find."
        )
    return remarks


def has_end(answer: dict) -> bool:
    """Whether the question is answered at some time; estimates only become better."""
    return answer["until_right"] is not None


def of_groups(answer: dict) -> bool:
    """Whether the question is about groups, whose values have errors."""
    return answer["looks"][0]["rmse"] is not None


def find_looks(answer: dict, budgets: Collection[int]) -> list[dict]:
    """The looks at these budgets; the last one where there is none."""
    looks: list[dict] = [look for look in answer["looks"] if look["budget"] in budgets]
    return looks or list(answer["looks"][-1:])


def write_wait(wait: dict) -> str:
    """Labels until something held: "143 +- 6", or ">190 +- 5 (84 %)" where not always."""
    error = wait["standard_error"]
    return write_labels(wait, f" +- {words.count(error) if error >= 10 else f'{error:.2g}'}")


def write_labels(wait: dict, doubt: str = "") -> str:
    """The same without the doubt; "not within 200" where it never held."""
    if wait["share"] == 0:
        return f"not within {words.count(wait['labels'])}"
    labels = f"{words.count(wait['labels'])}{doubt}"
    return labels if wait["share"] == 1 else f">{labels} ({_write_share(wait['share'])})"


def _write_share(share: float | None) -> str:
    """A share in percent."""
    return "-" if share is None else f"{100 * share:.0f} %"
