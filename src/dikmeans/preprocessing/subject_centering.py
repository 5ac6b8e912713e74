r"""Subject centering: what stands in the middle of a photograph.

Photographs have no background to stand out from; light, wall and clothes dominate. Three steps:

1. *Place.* The subject is not at the same place in all of them. A template tells where it is
   (`dikmeans.preprocessing.template`), and the picture is shifted to bring it to the middle. Size
   and slant stay as they are: they may be what tells pictures apart.
2. *Whitening.* Large bright parts count less beside edges and features
   (`dikmeans.preprocessing.whitening`); beyond its edge a picture continues as in a mirror.
3. *Window.* What is left fades out around the middle: :math:`w(p) = \exp(-|p|^2 / 2 s^2)`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray
from dikmeans.preprocessing.base import (
    Learned,
    Preprocessor,
    check_names,
    unit_norm_unless_negligible,
)
from dikmeans.preprocessing.template import Template, fade_out
from dikmeans.preprocessing.whitening import check_exponent, learn_exponent, whiten_mirrored

# s: width of the window, as a part of a picture's longer side.
WINDOW_WIDTH = 1 / 6
# Whitening strength: more than where nothing but the thing itself is in the picture.
STRENGTH = 0.7


@dataclass(frozen=True, eq=False)
class SubjectCentering(Preprocessor):
    """Pictures with the subject in the middle, whitened, faded out around it, at unit norm.

    Attributes
    ----------
    exponent : float
        Of the whitening; learned.
    template : Template or None
        What the subject looks like on average; learned.
    """

    name = "subject-centering"
    batch_pixels = 500_000  # the template is prepared again for each batch

    exponent: float = 0.0
    template: Template | None = None

    def learn(self, pictures: FloatArray) -> Self:
        """With the exponent that suits these pictures, and with their template."""
        exponent = learn_exponent(pictures, STRENGTH)
        return replace(self, exponent=exponent, template=Template.learn(pictures))

    def _apply(self, pictures: FloatArray) -> FloatArray:
        centered = self.center(pictures)
        centered -= centered.mean(axis=(2, 3), keepdims=True)
        whitened = whiten_mirrored(centered, self.exponent)
        return unit_norm_unless_negligible(fade_out(whitened, WINDOW_WIDTH), pictures)

    def center(self, pictures: FloatArray) -> FloatArray:
        """Pictures shifted so that their subjects are in the middle; edge pixels are continued."""
        assert self.template is not None
        centered = np.empty_like(pictures)
        shifts = self.template.shifts(pictures)
        for picture, shift, result in zip(pictures, shifts, centered, strict=True):
            ndimage.shift(picture, (0, *-shift), output=result, order=1, mode="nearest")
        return centered

    @property
    def learned(self) -> Learned:
        """Exponent and template."""
        assert self.template is not None
        learned: Learned = {"exponent": self.exponent, "template": self.template.picture}
        if self.template.precision is not None:
            learned["template_precision"] = self.template.precision
        return learned

    def restore(self, learned: Learned, shape: tuple[int, ...]) -> Self:
        """From exponent and template."""
        check_names(learned, {"exponent", "template"}, optional={"template_precision"})
        exponent = check_exponent(learned["exponent"])
        picture, precision = learned["template"], learned.get("template_precision")
        if isinstance(picture, float) or isinstance(precision, float):
            raise ValueError("the template should be an array")
        template = Template(picture, precision)
        template.check(shape)
        return replace(self, exponent=exponent, template=template)

    def __str__(self) -> str:
        return (
            "The subject of every picture is brought to the middle and its features are "
            f"emphasized (filtered by |f|^{self.exponent:.2f}); light, background and brightness "
            "do not count."
        )
