"""Accuracy surfaces (Piratla 2021, appendix D): scales of ten arms with 1 or 20 labels.

Tables 8 and 9 of the paper. A seed draws the labels of ten arms by their true accuracies and fits
beta-gp, beta-gp-sl and beta-gp-slp, with the number of the arm as input, in several settings:

    paper     what the paper says: 1,000 steps a phase at a rate of 0.01, a prior of 0.1 labels
    notebook  what the toy notebook of the paper's code says: 200 steps at a rate of 0.1, without
              prior, the divergence weighted by arms over labels; pooled are arms with up to 5
              labels, by the plain mean of three
    printed   as paper, with eq. (11) as it is printed

Scales are means over seeds ± their standard deviations. Bias^2, variance and squared error are sums
over the ten arms, as in the paper; the squared error has its standard deviation over seeds. The
kernel length l is that of f, in exp(-d^2 / (2 l^2)); eq. (7) has exp(-d^2 / l'), so that l' is
2 l^2; "before softplus" is the parameter that the paper's code prints. FILE keeps every fit, and
what it has is not fitted again.
"""

import argparse
import time
from pathlib import Path

import benchmark
import numpy as np

from activetest import catalog
from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms, Attributes, SurfaceData

ACCURACIES = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.6, 0.4, 0.3, 0.2])
LABELS = np.array([1, 1, 1, 20, 20, 20, 20, 1, 1, 1])

PAPER = {"inputs": "index"}
NOTEBOOK = {
    **PAPER,
    "steps": 100,
    "rate": 0.1,
    "prior": 0.0,
    "divergence": len(LABELS) / LABELS.sum(),
}
POOLS = {"limit": "up-to", "average": "plain"}
SETTINGS: dict[str, dict[str, dict]] = {
    "paper": {"beta-gp": PAPER, "beta-gp-sl": PAPER, "beta-gp-slp": PAPER},
    "notebook": {"beta-gp": NOTEBOOK, "beta-gp-sl": NOTEBOOK, "beta-gp-slp": NOTEBOOK | POOLS},
    "printed": {name: PAPER | {"supervision": "printed"} for name in ("beta-gp-sl", "beta-gp-slp")},
}


def main() -> None:
    """Fit what FILE lacks, then print both tables."""
    options = benchmark.read_options(
        __doc__,
        seeds={"type": int, "default": 20, "help": "surfaces of each setting"},
        settings={"default": ",".join(SETTINGS), "help": "which of the settings"},
        results={"type": Path, "default": Path("surface_scale.jsonl"), "help": "what is kept"},
    )
    kept = read_results(options.results)
    settings = {name: SETTINGS[name] for name in options.settings.split(",")}
    for seed in range(options.seeds):
        for setting, methods in settings.items():
            for name, chosen in methods.items():
                if (setting, name, seed) not in kept:
                    found = fit_once(name, chosen, seed)
                    kept[setting, name, seed] = found
                    benchmark.append_lines(options.results, [[setting, name, seed, found]])
    rows = [(setting, name) for setting, methods in settings.items() for name in methods]
    print_scales(kept, rows, options)
    print_errors(kept, rows, options)
    print(f"\n{sum(each['seconds'] for each in kept.values()) / 3600:.2f} hours")


def read_results(file: Path) -> dict[tuple[str, str, int], dict]:
    """{(setting, method, seed): what was found} of an earlier run."""
    lines = benchmark.read_lines(file)
    return {(setting, name, seed): found for setting, name, seed, found in lines}


def draw_labels(seed: int) -> SurfaceData:
    """Ten arms whose items are all labelled."""
    rng = np.random.default_rng([8, seed])
    attributes = Attributes(("arm",), (tuple(map(str, range(1, 11))),))
    arm = np.repeat(np.arange(10), LABELS)
    count = len(arm)
    return SurfaceData(
        arms=Arms.of_items(attributes, arm[:, None]),
        items=np.arange(count),
        values=(rng.random(count) < ACCURACIES[arm]).astype(float),
        weights=np.ones(count),
        confidence=None,
        predicted=np.zeros(count, np.int32),
        classes=2,
    )


def fit_once(name: str, options: dict, seed: int) -> dict:
    """Means, scales and lengths of a fit to the labels of a seed, and its seconds."""
    began = time.perf_counter()
    rng = np.random.default_rng([9, seed])
    surface = catalog.load("surfaces", name).fit(draw_labels(seed), rng=rng, **options)
    raw = surface.state["raw_length"][:, 0]
    return {
        "mean": surface.mean.tolist(),
        "psi": surface.psi.astype(float).mean(axis=0).tolist(),
        "raw_length": raw.tolist(),
        "seconds": time.perf_counter() - began,
    }


def gather(kept: dict, setting: str, name: str, key: str, seeds: int) -> Array:
    """(seeds, ...) of one quantity."""
    return np.array([kept[setting, name, seed][key] for seed in range(seeds)])


def print_scales(kept: dict, rows: list[tuple[str, str]], options: argparse.Namespace) -> None:
    """Table 8."""
    table = benchmark.Table(options, "setting | method", *range(1, 11))
    for setting, name in rows:
        psi = gather(kept, setting, name, "psi", options.seeds)
        cells = [
            f"{mean:.2f} ± {deviation:.2f}"
            for mean, deviation in zip(psi.mean(axis=0), psi.std(axis=0), strict=True)
        ]
        table.add(setting, name, *cells)


def print_errors(kept: dict, rows: list[tuple[str, str]], options: argparse.Namespace) -> None:
    """Table 9 and the kernel lengths."""
    table = benchmark.Table(
        options,
        "setting | method | bias^2 | variance | squared error | length of f | before softplus",
    )
    for setting, name in rows:
        mean = gather(kept, setting, name, "mean", options.seeds)
        raw = gather(kept, setting, name, "raw_length", options.seeds)[:, 0]
        bias = ((mean.mean(axis=0) - ACCURACIES) ** 2).sum()
        variance = mean.var(axis=0).sum()
        errors = ((mean - ACCURACIES) ** 2).sum(axis=1)
        length = np.logaddexp(0, raw)
        table.add(
            setting,
            name,
            f"{bias:.3f}",
            f"{variance:.3f}",
            f"{errors.mean():.3f} ± {errors.std():.3f}",
            f"{length.mean():.2f} ± {length.std():.2f}",
            f"{raw.mean():.2f}",
        )


if __name__ == "__main__":
    main()
