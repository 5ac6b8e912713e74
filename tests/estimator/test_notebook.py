"""A model in a notebook: its centroids as pictures, once there are any."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
import sklearn
from PIL import Image

from dikmeans import DIKMeans
from dikmeans.notebook import encode_png


def pictures_in(html: str) -> list[np.ndarray]:
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(text)))) for text in found]


def test_a_fitted_model_shows_its_centroids_over_their_own_range(tiny_digits):
    model = DIKMeans(4, intensity="fixed", random_state=0)
    assert pictures_in(model._repr_html_()) == []
    model.fit(tiny_digits[0][:60])
    html = model._repr_mimebundle_()["text/html"]
    assert html == model._repr_html_() or len(pictures_in(model._repr_html_())) == 4
    pictures = pictures_in(html)
    assert len(pictures) == 4
    for picture, centroid in zip(pictures, model.cluster_centers_, strict=True):
        assert (picture.shape, picture.max()) == ((8, 8), 255)
        assert np.corrcoef(picture.ravel(), np.maximum(centroid, 0).ravel())[0, 1] > 0.999
    counts = re.findall(r"<figcaption>(\d+): (\d+)</figcaption>", html)
    assert [int(n) for _, n in counts] == np.bincount(model.labels_).tolist()


def test_whoever_wants_text_gets_text(tiny_digits):
    model = DIKMeans(2, random_state=0).fit(tiny_digits[0][:20])
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert model._repr_html_() is None


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3)])
def test_files_are_read_by_others(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    with Image.open(io.BytesIO(encode_png(pixels))) as image:
        np.testing.assert_array_equal(np.asarray(image), pixels)
