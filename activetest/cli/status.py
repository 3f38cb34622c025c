"""activetest status, as a command."""

from activetest.cli import options, streams
from activetest.cli.spelling import to_commands

EXAMPLES = ("activetest status --format json",)


def run(format: options.output_format("status") = "text", study: options.Folder = None) -> None:
    """Show where the study stands, and what next would do."""
    from activetest.study.study import Study

    renderer = options.load_format(format, "status")
    counts, sentence = Study.open(study).status()
    streams.write(renderer.status(counts, to_commands(sentence)), styled=True)
