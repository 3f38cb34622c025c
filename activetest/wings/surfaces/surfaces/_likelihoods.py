"""Likelihoods of an arm's labels given the Beta of its accuracy, and of their counts given scales.

Counts may be fractional. Labels are given one by one, so that there is no binomial coefficient
(Piratla 2021, footnote 3). The likelihood of counts given the scales psi of arms (section 3.2)
has two forms: eq. (11) as printed, and a Gamma for every arm. At arms with 1 and with 20 labels the
second has its maximum at psi = 1.46 and 10.5, which is what Table 8 shows; the first has none, for
it grows with the sum of all psi.
"""

from functools import cache
from math import log, pi
from typing import Any

# Counts are clamped to these limits for the Gamma.
_FEWEST, _MOST = 0.01, 10.0


def log_bernoulli(phi: Any, right: Any, wrong: Any) -> Any:
    """Log-probability of labels whose accuracy is phi, eq. (3)."""
    return right * phi.log() + wrong * (1 - phi).log()


def log_beta_binomial(torch: Any, alpha: Any, beta: Any, right: Any, wrong: Any) -> Any:
    """Log-probability of labels whose accuracy is Beta(alpha, beta), eq. (9)."""
    return _log_beta(torch, alpha + right, beta + wrong) - _log_beta(torch, alpha, beta)


def log_beta_binomial_of_mean(torch: Any, phi: Any, psi: Any, right: Any, wrong: Any) -> Any:
    """Log-probability of labels whose accuracy is Beta(phi psi, (1 - phi) psi), eq. (9).

    phi (P, 1, B) and psi (Q, B) may be of different shapes; what psi alone makes is computed once.
    """
    alpha, beta = phi * psi, (1 - phi) * psi
    both = lgamma(torch, alpha + right) + lgamma(torch, beta + wrong)
    both = both - lgamma(torch, alpha) - lgamma(torch, beta)
    return both + lgamma(torch, psi) - lgamma(torch, psi + right + wrong)


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


def _log_beta(torch: Any, alpha: Any, beta: Any) -> Any:
    return lgamma(torch, alpha) + lgamma(torch, beta) - lgamma(torch, alpha + beta)


def lgamma(torch: Any, values: Any) -> Any:
    """Log Gamma of positive values, in their precision.

    In single precision by Stirling's series at values + 4 and the recurrence down from there, which
    makes the derivative of the same pieces: torch computes its digamma number by number, five times
    as slowly. In double precision it is torch's.
    """
    if values.dtype != torch.float32:
        return torch.lgamma(values)
    return _make_function(torch).apply(values)


@cache
def _make_function(torch: Any) -> Any:
    """The function as a class that torch can differentiate."""

    class LogGamma(torch.autograd.Function):
        """Log Gamma, whose derivative is computed along with it."""

        @staticmethod
        def forward(context: Any, values: Any) -> Any:
            high = values + 4
            logarithm, inverse = high.log(), high.reciprocal()
            square = inverse * inverse
            # x (x + 1) (x + 2) (x + 3) is u (u + 2) with u = x (x + 3).
            inner = values * (values + 3)
            product = inner * (inner + 2)
            if values.requires_grad:
                series = ((square / -252 + 1 / 120) * square - 1 / 12) * square
                slope = (2 * values + 3) * (2 * inner + 2) / product
                context.save_for_backward(logarithm - 0.5 * inverse + series - slope)
            series = ((square / 1260 - 1 / 360) * square + 1 / 12) * inverse
            return (high - 0.5) * logarithm - high + (0.5 * log(2 * pi)) + series - product.log()

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient * context.saved_tensors[0]

    return LogGamma
