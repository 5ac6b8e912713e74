"""
Sounds: spectrograms of calls and words
=======================================

Birds sing the same phrase faster and slower, higher and lower; speakers stretch a word. In a
spectrogram that is a deformation, so the same method that sorts letters sorts sounds.

The calls of this page are synthetic: four kinds of whistles with random length, pitch and noise,
each recorded through a microphone of its own. With real recordings, the first block is all that
changes.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.io import wavfile
from scipy.signal import firwin2, lfilter

RATE = 16_000
rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp()) / "calls"
folder.mkdir()
# pitch, in octaves above the lowest tone, at equal times
MELODIES = {
    "rising": [0, 0.3, 0.9, 1.2],
    "falling": [1.2, 0.9, 0.3, 0],
    "arch": [0, 1, 1, 0],
    "trill": [0.8, 0.2, 0.8, 0.2, 0.8, 0.2, 0.8],
}


def call(melody):
    """A whistle, and what a microphone makes of it."""
    time = np.linspace(0, 1, int(RATE * rng.uniform(0.3, 0.7)))
    octaves = np.interp(time ** rng.uniform(0.8, 1.25), np.linspace(0, 1, len(melody)), melody)
    phase = 2 * np.pi * np.cumsum(rng.uniform(900, 1300) * 2**octaves) / RATE
    tone = (np.sin(phase) + 0.3 * np.sin(2 * phase)) * np.sin(np.pi * time) ** 0.5
    tone = np.pad(tone, rng.integers(800, 4000, size=2))
    noisy = tone + rng.normal(scale=rng.uniform(0.01, 0.08), size=len(tone))
    levels = 10 ** (rng.uniform(-9, 9, size=6) / 20)  # its frequency response
    return rng.uniform(0.1, 0.5) * lfilter(firwin2(65, np.linspace(0, 1, 6), levels), 1, noisy)


for name, melody in MELODIES.items():
    for number in range(40):
        samples = (32767 * np.clip(call(melody), -1, 1)).astype(np.int16)
        wavfile.write(folder / f"{name}-{number:02}.wav", RATE, samples)

# %%
# Load
# ----
# A folder of sounds is recognized by its files. Every sound becomes a spectrogram, in decibels
# above the noise of each band; silence before and after is cut.

from dikmeans.datasets import load
from dikmeans.plot.centroid_rows import centroid_rows

sounds = load(folder)
print(sounds.images.shape, sounds.kind, "- preprocessing that suits them:", sounds.preprocessing)
kinds = np.array([name.split("-")[0] for name in sounds.names])
centroid_rows({kind: sounds.images[kinds == kind][:5] for kind in MELODIES}, cell=1.1)

# %%
# Fit
# ---
# ``sounds.preprocessing`` takes from every band its mean, which is what the microphone adds.

from dikmeans import DIKMeans
from dikmeans.evaluation import clustering_accuracy

model = DIKMeans(4, preprocessing=sounds.preprocessing, n_init=1, random_state=0)
model.fit(sounds.images)
plain = DIKMeans(4, preprocessing=sounds.preprocessing, warp="none", random_state=0)
plain.fit(sounds.images)
print(f"K-means:             {clustering_accuracy(kinds, plain.labels_):.1%} of the calls right")
print(f"deformation-invariant: {clustering_accuracy(kinds, model.labels_):.1%}")

# %%
# Look
# ----
# The mean of the spectrograms of each cluster, after alignment in time and pitch:

from dikmeans import plot

plot.centroids(model, sounds.images, cell=1.6)

# %%
# Why is this call here? The first row of panels is the spectrogram, its centroid, and the centroid
# stretched in time and pitch until it fits.

plot.alignment(model, sounds.images[5])

# %%
# The report plays the sounds: ``dikmeans fit calls -k 4 -o run`` and open ``run/report.html``. How
# well this works for spoken digits, with measurements, is in `Loading images and sounds
# <../../datasets.html>`_.
