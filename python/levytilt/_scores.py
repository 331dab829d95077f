"""Scoring rules; lower is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _levytilt


def crps(draws: Any, truth: Any, *, fair: bool = True) -> Any:
    """Continuous ranked probability score; lower is better.

    Parameters
    ----------
    draws : array, (..., draw)
        Draws of each forecast.
    truth : array, (...)
        Observed values.
    fair : bool, default True
        The estimator over pairs of distinct draws, whose expectation is the score of the distribution behind the draws; otherwise
        the score of the empirical distribution (V-statistic).

    Returns
    -------
    float or array, (...)

    Examples
    --------
    >>> round(crps([1.0, 2.0, 3.0], 2.0), 4)
    0.0
    >>> round(crps([1.0, 2.0, 3.0], 2.0, fair=False), 4)
    0.2222
    """
    cases, truth, shape = _cases(draws, truth)
    return _shaped(_levytilt.crps(cases, truth, fair), shape)


def tail_crps(draws: Any, truth: Any, *, above: float | None = None, below: float | None = None, fair: bool = True) -> Any:
    """Threshold-weighted CRPS: the part of the CRPS above or below a threshold.

    Parameters
    ----------
    draws, truth, fair
        As for `crps`.
    above, below : float
        The threshold; give one of them.

    Returns
    -------
    float or array, (...)

    Examples
    --------
    >>> tail_crps([1.0, 2.0, 3.0], 5.0, above=2.5) > tail_crps([1.0, 2.0, 3.0], 5.0, above=4.0)
    True
    """
    if (above is None) == (below is None):
        raise _levytilt.InputError("tail_crps needs a threshold above or below, and not both")
    cases, truth, shape = _cases(draws, truth)
    threshold = float(above if above is not None else below)  # type: ignore[arg-type]
    return _shaped(_levytilt.tail_crps(cases, truth, threshold, above is not None, fair), shape)


def energy_score(points: Any, truth: Any, *, fair: bool = True) -> Any:
    """Energy score, the CRPS of several coordinates at once; lower is better.

    Parameters
    ----------
    points : array, (..., point, coordinate)
        Draws of each forecast.
    truth : array, (..., coordinate)
        Observed values.
    fair : bool, default True
        As for `crps`.

    Returns
    -------
    float or array, (...)

    Examples
    --------
    >>> energy_score([[0.0, 0.0], [0.0, 0.0]], [3.0, 4.0])
    5.0
    """
    points, truth, shape = _clouds("energy_score", points, truth)
    return _shaped(_levytilt.energy_score(points, truth, fair), shape)


def variogram_score(points: Any, truth: Any, *, p: float = 0.5) -> Any:
    """Variogram score: whether coordinates move together as forecast; lower is better.

    The sum of (|y_i - y_k|^p - mean of |x_i - x_k|^p)^2 over all ordered pairs of coordinates. It depends on the level of each
    coordinate, so give moves, or coordinates of a common level.

    Parameters
    ----------
    points : array, (..., point, coordinate)
        Draws of each forecast.
    truth : array, (..., coordinate)
        Observed values.
    p : float, default 0.5
        The order.

    Returns
    -------
    float or array, (...)

    Examples
    --------
    >>> float(variogram_score([[0.0, 4.0], [0.0, 0.0]], [0.0, 9.0]))
    8.0
    """
    points, truth, shape = _clouds("variogram_score", points, truth)
    return _shaped(_levytilt.variogram_score(points, truth, float(p)), shape)


def _clouds(name: str, points: Any, truth: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Points (case, point, coordinate), truth (case, coordinate), and the shape of the cases."""
    points, truth = np.asarray(points, dtype=float), np.asarray(truth, dtype=float)
    if points.ndim < 2 or points.shape[:-2] + points.shape[-1:] != truth.shape:
        raise _levytilt.InputError(
            f"{name}: points of shape {points.shape} and truth of shape {truth.shape}; expected (..., point, coordinate) and "
            "(..., coordinate)"
        )
    return points.reshape(-1, *points.shape[-2:]), truth.reshape(-1, truth.shape[-1]), truth.shape[:-1]


def k_hat(log_weights: Any) -> float:
    """Pareto shape k̂ of the largest importance weights.

    Parameters
    ----------
    log_weights : array
        Logarithms of the weights.

    Returns
    -------
    float
        Above 0.7 the weights are unreliable; minus infinity if there is no tail.
    """
    return _levytilt.k_hat(np.ascontiguousarray(log_weights, dtype=float))


def stable_pdf(x: Any, alpha: float, scale: float = 1.0) -> Any:
    """Density of the symmetric stable distribution, whose characteristic function is exp(-|scale u|^alpha).

    Parameters
    ----------
    x : float or array
        Where.
    alpha : float
        Tail index, between 0 and 2.
    scale : float, default 1
        Scale; the unit of x.

    Returns
    -------
    float or array

    Examples
    --------
    >>> round(stable_pdf(0.0, 2.0), 6)                # Gaussian of variance 2
    0.282095
    """
    return _law("pdf", x, alpha, scale) / scale


def stable_cdf(x: Any, alpha: float, scale: float = 1.0) -> Any:
    """Distribution function of the symmetric stable distribution; see `stable_pdf`.

    Examples
    --------
    >>> stable_cdf(0.0, 1.5)
    0.5
    """
    return _law("cdf", x, alpha, scale)


def _law(what: str, x: Any, alpha: float, scale: float) -> Any:
    points = np.asarray(x, dtype=float) / scale
    return _shaped(_levytilt.stable_law(what, points.ravel(), float(alpha)), points.shape)


def _cases(draws: Any, truth: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    draws, truth = np.asarray(draws, dtype=float), np.asarray(truth, dtype=float)
    if draws.shape[:-1] != truth.shape or draws.ndim == 0:
        raise _levytilt.InputError(
            f"crps: draws of shape {draws.shape} and truth of shape {truth.shape}; expected (..., draw) and (...)"
        )
    return draws.reshape(-1, draws.shape[-1]), truth.ravel(), truth.shape


def _shaped(scores: np.ndarray, shape: tuple[int, ...]) -> Any:
    return float(scores[0]) if shape == () else scores.reshape(shape)
