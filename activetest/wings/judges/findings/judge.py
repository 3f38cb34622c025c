"""The finding of a judge: how far its verdicts, probabilities or scores are from people's."""

from typing import Any

from activetest.estimation.view import View
from activetest.item_statistics import specification
from activetest.nouns.report import Note
from activetest.study.config import parse_schema
from activetest.study.findings import Context, Finding
from activetest.wings.judges.gap_columns import read_gap_columns
from activetest.wings.judges.judge_answer import describe_judge, find_judge_metrics

ROLES = ("judge",)


class JudgeFinding(Finding):
    """A report's finding about a judge."""

    def __init__(self, context: Context) -> None:
        """The judge of a study."""
        self._study, self._request = context.study, context.request
        self._schema = parse_schema(context.study.pool)
        found = find_judge_metrics(self._schema, context.facts)
        if (bound := context.request.bound) is not None:
            found = [specification.bound_losses(metric, bound) for metric in found]
        self.metrics = tuple(found)

    def describe(
        self, view: View, columns: tuple[str, ...], kind: str
    ) -> tuple[dict[str, Any], list[Note]]:
        """The report on the judge, with the gap in the groups of these columns."""
        # Columns that are no groups are left out where the pool is not at hand.
        values = {} if self._study.absence else read_gap_columns(self._study.open_pool(), view.log)
        found = describe_judge(
            view,
            self._schema,
            self.metrics,
            values,
            columns,
            kind,
            simultaneous=self._request.simultaneous,
        )
        return {"judge": found}, []


open_finding = JudgeFinding
