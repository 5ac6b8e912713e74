"""Choosing hyper-parameters without labels: criteria, and the search that goes by them."""

from dikmeans.evaluation.cluster_numbers import (
    NumberChoice,
    NumberJudgement,
    choose_number,
    judge_numbers,
)
from dikmeans.evaluation.criteria import (
    CRITERIA,
    Criterion,
    HeldOutDistortion,
    Judgement,
    ReferenceDistortion,
    Stability,
    TrainingDistortion,
)
from dikmeans.paper.inertia_search import PAPER_GRID, DistortionSearch

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
