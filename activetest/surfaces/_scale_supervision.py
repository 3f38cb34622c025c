"""What the counts of labels say of the scales psi of arms (Piratla 2021, section 3.2).

Two forms: eq. (11) as printed, and a Gamma for every arm. At arms with 1 and with 20 labels the
second has its maximum at psi = 1.46 and 10.5, which is what Table 8 shows; the first has none, for
it grows with the sum of all psi.
"""

from typing import Any

from activetest.surfaces._lgamma import lgamma

# Counts are clamped to these limits for the Gamma.
_FEWEST, _MOST = 0.01, 10.0


def log_dirichlet(torch: Any, psi: Any, count: Any, weight: Any) -> Any:
    """Log-density of the arms' shares of labels under a Dirichlet with parameters psi, eq. (11).

    log Gamma of the sum of all psi counts once: inside the sum over arms, as printed, it would make
    no density. psi and count are (B,); an arm stands for `weight` (B,) arms.
    """
    share = count / (weight * count).sum()
    own = (psi - 1) * share.log() - lgamma(torch, psi)
    return (weight * own).sum() + lgamma(torch, (weight * psi).sum())


def log_gamma(torch: Any, psi: Any, count: Any) -> Any:
    """Log-density of each arm's count, clamped to [0.01, 10], under Gamma(psi, 1)."""
    clamped = count.clamp(_FEWEST, _MOST)
    return (psi - 1) * clamped.log() - clamped - lgamma(torch, psi)
