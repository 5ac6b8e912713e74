"""The accuracies that the paper prints, to compare with."""

from __future__ import annotations

CITATION = (
    "R. Cosentino, R. Balestriero, Y. Bahroun, A. Sengupta, R. Baraniuk, B. Aazhang. Interpretable "
    "Image Clustering via Diffeomorphism-Aware K-Means. Table 1: test accuracy in %, the best of "
    "10 runs by the true labels."
)

COLUMNS = (
    "affine-mnist",
    "diffeo-mnist",
    "mnist",
    "audio-mnist",
    "emnist-letters",
    "rock-paper-scissors",
    "face-pose",
    "arabic-characters",
)
"""The paper's columns from left to right, by this library's names."""

# As printed, row by row.
_ROWS = {
    "K-means": (68.0, 61.8, 53.5, 10.8, 39.5, 40.6, 20.5, 19.4),
    "AI K-means": (100.0, 91.7, 75.3, 29.8, 48.0, 72.8, 31.2, 30.25),
    "DI K-means": (100.0, 99.2, 92.5, 41.6, 65.3, 86.6, 45.3, 51.1),
    "AE + K-means": (72.6, 60.5, 66.3, 13.8, 41.8, 48.1, 37.7, 23.5),
    "DEC (MLP)": (84.3, 77.6, 84.3, 10.9, 55.4, 46.2, 33.6, 24.2),
    "DEC (Conv)": (70.4, 68.2, 78.8, 15.3, 60.1, 54.1, 38.3, 29.1),
    "VaDE (MLP)": (68.8, 65.4, 94.1, 11.3, 20.3, 50.3, 36.4, 26.2),
    "VaDE (Conv)": (65.4, 59.3, 81.7, 14.3, 58.3, 55.4, 40.9, 46.4),
}

TABLE_1: dict[str, dict[str, float]] = {
    row: dict(zip(COLUMNS, accuracies, strict=True)) for row, accuracies in _ROWS.items()
}
"""Accuracy in %: row of the paper -> data set -> accuracy."""


def paper_accuracy(row: str | None, column: str | None) -> float | None:
    """Return the paper's accuracy in %, None where it has none.

    Parameters
    ----------
    row : str or None
        A row of Table 1, such as "DI K-means".
    column : str or None
        A data set.

    Examples
    --------
    >>> paper_accuracy("DI K-means", "mnist")
    92.5
    >>> paper_accuracy("DI K-means", "face-pose-box") is None
    True
    """
    return TABLE_1.get(row or "", {}).get(column or "")
