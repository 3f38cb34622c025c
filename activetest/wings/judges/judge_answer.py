"""Contents of a report on a judge: corrected rates, agreement, and where it differs from people."""

from collections.abc import Mapping, Sequence

from activetest.estimation.view import View
from activetest.item_statistics import specification
from activetest.item_statistics.defaults import judge_metrics
from activetest.item_statistics.metric import Facts, Metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.report import ColumnSlope, JudgeReport
from activetest.nouns.rows import Array
from activetest.pool.schema import Schema
from activetest.reporting import rows
from activetest.reporting.rows import HEADLINE
from activetest.wings.judges.gap_slopes import measure_slopes

# The metric whose values are the gap between the judge and people.
_BIAS = "bias"


def find_judge_metrics(schema: Schema, facts: Facts) -> list[Metric]:
    """The metrics of a judge's section, the corrected rate or mean first."""
    names = judge_metrics(schema.task, schema.positive, facts.scale)
    return [specification.find_metric(name, facts) for name in names]


def describe_judge(
    view: View,
    schema: Schema,
    metrics: Sequence[Metric],
    columns: Mapping[str, Array],
    group_columns: tuple[str, ...],
    kind: str,
    *,
    simultaneous: bool,
) -> JudgeReport:
    """The section of a judge.

    metrics   as find_judge_metrics gives them
    columns   {name: (D + B,) values of drawn and then supplied items} to look for a dependence on
    """
    level = view.choices.level
    estimates = [
        rows.estimate_row(view, each, HEADLINE, level=level, kind=kind) for each in metrics
    ]
    gap = next((each for each in metrics if each.name == _BIAS), None)
    groups = rows.estimate_groups(
        view, [gap or metrics[0]], group_columns, kind, simultaneous=simultaneous
    )
    about = gap.statistics[0] if gap else statistic("zero_one")
    serves = metrics[0] if gap is None or gap.against is None else gap.against
    slopes = measure_slopes(view.evidence, serves, about, columns, level)
    return JudgeReport(
        column=str(schema.judge),
        positive=schema.positive,
        outputs=name_outputs(schema),
        estimates=tuple(rows.mark_one_look(estimates, kind)),
        groups=tuple(rows.mark_one_look(groups, kind)),
        gap=_BIAS if gap else metrics[0].name,
        level=level,
        columns=tuple(
            ColumnSlope(
                column=name,
                slope=each.slope,
                lower=each.lower,
                upper=each.upper,
                p_value=each.p_value,
                p_corrected=each.p_corrected,
                n_labeled=each.labels,
                reason=each.reason,
            )
            for name, each in slopes.items()
        ),
    )


def name_outputs(schema: Schema) -> str:
    """Outputs of the judge: verdicts, probabilities of the positive one, or scores."""
    if schema.task == "regression":
        return "scores"
    return "verdicts" if schema.kind == "pred" else "probabilities"
