r"""Subject: what stands in the middle of a photograph.

Photographs have no background to stand out from; light, wall and clothes say most. Three things are done:

1. *Its place.* The subject is not at the same place in all of them. A template tells where it is
   (`dikmeans.preprocessing.template`), and the picture is shifted to bring it to the middle. Size and
   slant stay as they are: they may be what tells pictures apart.
2. *Its scales.* The large bright parts are made to count less beside edges and features
   (`dikmeans.preprocessing.whitening`); beyond its edge a picture goes on as in a mirror.
3. *Its middle.* What is left fades out around the middle: :math:`w(p) = \exp(-|p|^2 / 2 s^2)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import ndimage

from dikmeans.preprocessing.base import Normaliser, refuse_unless, scale_what_is_left
from dikmeans.preprocessing.whitening import check_exponent, even_out_mirrored, learn_exponent
from dikmeans.preprocessing.template import Template, around_the_middle

# Of the window on the middle, as a part of a picture's longer side.
WINDOW_WIDTH = 1 / 6
# How much of the fall of the amplitude is taken back: more than where nothing but the thing itself is seen.
EVENNESS = 0.7


@dataclass(frozen=True, eq=False)
class Subject(Normaliser):
    """Pictures with the subject in the middle, its scales evened out, all else faded, at unit norm.

    Attributes
    ----------
    exponent : float
        Of the frequency.
    template : Template
    """

    name = "subject"
    at_once = 500_000  # the template is made ready for each piece anew

    exponent: float
    template: Template

    @classmethod
    def learn(cls, pictures: np.ndarray) -> Self:
        """With the exponent that these pictures ask for, and with their template."""
        return cls(learn_exponent(pictures, EVENNESS), Template.learn(pictures))

    def _normalise(self, pictures: np.ndarray) -> np.ndarray:
        moved = self.bring_to_the_middle(pictures)
        moved -= moved.mean(axis=(2, 3), keepdims=True)
        even = even_out_mirrored(moved, self.exponent)
        return scale_what_is_left(around_the_middle(even, WINDOW_WIDTH), pictures)

    def bring_to_the_middle(self, pictures: np.ndarray) -> np.ndarray:
        """Pictures shifted so that their subjects are in the middle; what was the edge goes on."""
        moved = np.empty_like(pictures)
        for picture, shift, result in zip(pictures, self.template.shifts(pictures), moved, strict=True):
            ndimage.shift(picture, (0, *-shift), output=result, order=1, mode="nearest")
        return moved

    @property
    def learned(self) -> dict[str, Any]:
        """Exponent and template."""
        learned = {"exponent": self.exponent, "template": self.template.picture}
        if self.template.stiffness is not None:
            learned["template_stiffness"] = self.template.stiffness
        return learned

    @classmethod
    def restore(cls, learned: dict[str, Any], shape: tuple[int, ...]) -> Self:
        """From exponent and template."""
        refuse_unless({"exponent", "template"}, learned, optional={"template_stiffness"})
        template = Template(learned["template"], learned.get("template_stiffness"))
        template.check(shape)
        return cls(check_exponent(learned["exponent"]), template)
