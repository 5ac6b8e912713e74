"""Several preprocessors, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from dikmeans._typing import FloatArray, ImageShape
from dikmeans.frames import Crops
from dikmeans.preprocessing.base import Learned, Preprocessor


def steps_of(preprocessing: Preprocessor) -> tuple[Preprocessor, ...]:
    """The single steps of a preprocessor."""
    return tuple(preprocessing.steps) if isinstance(preprocessing, Chain) else (preprocessing,)


def step_names(preprocessing: Preprocessor) -> list[str]:
    """What the steps are called; the one that does nothing, "none"."""
    return [step.name or "none" for step in steps_of(preprocessing)]


class Chain(Preprocessor):
    """Preprocessors applied one after the other, each learned from what the last one returns.

    Parameters
    ----------
    steps : sequence of Preprocessor
        At least one.

    Attributes
    ----------
    steps_ : tuple of Preprocessor
        Fitted.
    """

    name = "chain"
    steps_: tuple[Preprocessor, ...]

    def __init__(self, steps: Sequence[Preprocessor]):
        self.steps = steps

    @property
    def border(self) -> str:  # type: ignore[override]  # that of the pictures that come out
        """What lies outside the pictures that the last step returns."""
        return self.steps[-1].border

    @property
    def unit_norm(self) -> bool:  # type: ignore[override]
        """Whether the last step scales to unit norm."""
        return self.steps[-1].unit_norm

    @property
    def moves(self) -> bool:  # type: ignore[override]
        """Whether one of the steps moves or scales pictures."""
        return any(step.moves for step in self.steps)

    def crops(self, pictures: FloatArray) -> Crops:
        """The crops of all steps together."""
        crops = Crops.unchanged(len(pictures))
        n_steps = max((i + 1 for i, step in enumerate(self.steps_) if step.moves), default=0)
        for number, step in enumerate(self.steps_[:n_steps], start=1):
            crops = crops.then(step.crops(pictures))
            if number < n_steps:  # what comes after the last move does not matter
                pictures = step.apply(pictures)
        return crops

    def _learn(self, pictures: FloatArray) -> None:
        fitted: list[Preprocessor] = []
        for step in self.steps:
            fitted.append(step.learn(pictures))
            pictures = fitted[-1].apply(pictures)
        self.steps_ = tuple(fitted)

    def apply(self, pictures: FloatArray) -> FloatArray:
        """The pictures after all steps."""
        for step in self.steps_:
            pictures = step.apply(pictures)
        return pictures

    def _apply(self, pictures: FloatArray) -> FloatArray:
        return self.apply(pictures)

    def output_shape(self, shape: ImageShape) -> ImageShape:
        """Shape after all steps."""
        for step in self.steps:
            shape = step.output_shape(shape)
        return shape

    @property
    def learned(self) -> Learned:
        """What the steps have learned, numbered."""
        return {
            f"{number}.{name}": value
            for number, step in enumerate(self.steps_)
            for name, value in step.learned.items()
        }

    def _restore(self, learned: Learned) -> None:
        shape, restored = self.image_shape_, []
        names = set(learned)
        for number, step in enumerate(self.steps):
            prefix = f"{number}."
            values = {
                name.removeprefix(prefix): value
                for name, value in learned.items()
                if name.startswith(prefix)
            }
            names -= {prefix + name for name in values}
            restored.append(step.restore(values, shape))
            shape = step.output_shape(shape)
        if names:
            raise ValueError(f"unknown values: {', '.join(sorted(names))}")
        self.steps_ = tuple(restored)

    def __str__(self) -> str:
        return " ".join(map(str, getattr(self, "steps_", self.steps)))
