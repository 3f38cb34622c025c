"""activetest: how good is a black-box model, from a few hundred labels instead of thousands.

    import activetest as at

    study = at.Study.create(frame, groups=["region"], seed=1)
    batch = study.next(20)
    study.ingest(batch.to_frame().assign(label=...))
    print(study.report())

Names are imported when they are first used.
"""

__version__ = "0.11.0"

# As in typing, which is not imported for this alone.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from activetest.errors import (
        ActivetestError,
        CacheDamaged,
        CacheRebuilt,
        ChoiceError,
        LabelConflict,
        LabelError,
        LargeCache,
        NotEstimable,
        PoolChanged,
        PoolError,
        StorageError,
        StudyError,
        SummaryMissing,
        TextsShortened,
        UnknownMethod,
    )
    from activetest.simulation.simulate import simulate
    from activetest.study.inspect import Inspection, inspect
    from activetest.study.results import Batch, Report, Setup, Status
    from activetest.study.study import Study

__all__ = [
    "ActivetestError",
    "Batch",
    "CacheDamaged",
    "CacheRebuilt",
    "ChoiceError",
    "Inspection",
    "LabelConflict",
    "LabelError",
    "LargeCache",
    "NotEstimable",
    "PoolChanged",
    "PoolError",
    "Report",
    "Setup",
    "Status",
    "StorageError",
    "Study",
    "StudyError",
    "SummaryMissing",
    "TextsShortened",
    "UnknownMethod",
    "__version__",
    "inspect",
    "simulate",
]

# {name: the module it is in}; every other public name is an error.
_MODULES = {
    "Study": "activetest.study.study",
    "simulate": "activetest.simulation.simulate",
    **dict.fromkeys(("Inspection", "inspect"), "activetest.study.inspect"),
    **dict.fromkeys(("Batch", "Report", "Setup", "Status"), "activetest.study.results"),
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """The public name, imported now."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_MODULES.get(name, "activetest.errors")), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
