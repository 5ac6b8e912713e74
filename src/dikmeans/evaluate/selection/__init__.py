"""Choosing hyper-parameters without labels: criteria, and the search that goes by them."""

from dikmeans.evaluate.selection.cluster_numbers import (
    NumberChoice,
    NumberJudgement,
    choose_number,
    judge_numbers,
)
from dikmeans.evaluate.selection.criteria import (
    CRITERIA,
    Criterion,
    HeldOutDistortion,
    Judgement,
    ReferenceDistortion,
    Stability,
    TrainingDistortion,
)
from dikmeans.evaluate.selection.search import PAPER_GRID, DistortionSearch

__all__ = [
    "CRITERIA",
    "PAPER_GRID",
    "Criterion",
    "DistortionSearch",
    "HeldOutDistortion",
    "Judgement",
    "NumberChoice",
    "NumberJudgement",
    "ReferenceDistortion",
    "Stability",
    "TrainingDistortion",
    "choose_number",
    "judge_numbers",
]
