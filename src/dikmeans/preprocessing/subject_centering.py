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

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray
from dikmeans.frames import Crops
from dikmeans.preprocessing.base import (
    Learned,
    Preprocessor,
    check_names,
    unit_norm_unless_negligible,
)
from dikmeans.preprocessing.template import Template, fade_out
from dikmeans.preprocessing.whitening import check_exponent, learn_exponent, whiten_mirrored
from dikmeans.registration.warps import Border

# s: width of the window, as a part of a picture's longer side.
WINDOW_WIDTH = 1 / 6
# Whitening strength: more than where nothing but the thing itself is in the picture.
STRENGTH = 0.7


class SubjectCentering(Preprocessor):
    """Pictures with the subject in the middle, whitened, faded out around it, at unit norm.

    Parameters
    ----------
    strength : float, default=0.7
        Of the whitening.
    border : {"zero", "edge"}, default="zero"
        As in `Preprocessor`.

    Attributes
    ----------
    exponent_ : float
        Of the whitening.
    template_ : Template
        What the subject looks like on average.
    """

    name = "subject-centering"
    moves = True
    batch_pixels = 500_000  # the template is prepared again for each batch
    exponent_: float
    template_: Template

    def __init__(self, strength: float = STRENGTH, border: Border = "zero"):
        super().__init__(border)
        self.strength = strength

    def _learn(self, pictures: FloatArray) -> None:
        self.exponent_ = learn_exponent(pictures, self.strength)
        self.template_ = Template.learn(pictures)

    def _apply(self, pictures: FloatArray) -> FloatArray:
        centered = self.center(pictures)
        centered -= centered.mean(axis=(2, 3), keepdims=True)
        whitened = whiten_mirrored(centered, self.exponent_)
        return unit_norm_unless_negligible(fade_out(whitened, WINDOW_WIDTH), pictures)

    def _crops(self, pictures: FloatArray) -> Crops:
        return Crops(np.ones(len(pictures)), self.template_.shifts(pictures))

    def center(self, pictures: FloatArray) -> FloatArray:
        """Pictures shifted so that their subjects are in the middle; edge pixels are continued."""
        centered = np.empty_like(pictures)
        shifts = self.template_.shifts(pictures)
        for picture, shift, result in zip(pictures, shifts, centered, strict=True):
            ndimage.shift(picture, (0, *-shift), output=result, order=1, mode="nearest")
        return centered

    @property
    def learned(self) -> Learned:
        """Exponent and template."""
        learned: Learned = {"exponent": self.exponent_, "template": self.template_.picture}
        if self.template_.precision is not None:
            learned["template_precision"] = self.template_.precision
        return learned

    def _restore(self, learned: Learned) -> None:
        check_names(learned, {"exponent", "template"}, optional={"template_precision"})
        self.exponent_ = check_exponent(learned["exponent"])
        picture, precision = learned["template"], learned.get("template_precision")
        if isinstance(picture, float) or isinstance(precision, float):
            raise ValueError("the template should be an array")
        self.template_ = Template(picture, precision)
        rows, columns, *channels = self.image_shape_
        self.template_.check((channels[0] if channels else 1, rows, columns))

    def __str__(self) -> str:
        return (
            "The subject of every picture is brought to the middle and its features are "
            f"emphasized (filtered by |f|^{self.exponent_:.2f}); light, background and brightness "
            "do not count."
        )
