"""Likelihoods of an arm's labels given the Beta of its accuracy, for counts that may be fractional.

Labels are given one by one, so that there is no binomial coefficient (Piratla 2021, footnote 3).
"""

from typing import Any

from activetest.surfaces._lgamma import lgamma


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


def _log_beta(torch: Any, alpha: Any, beta: Any) -> Any:
    return lgamma(torch, alpha) + lgamma(torch, beta) - lgamma(torch, alpha + beta)
