"""
A fit that survives
===================

With ``checkpoint=`` a fit is kept in a folder after every iteration. After a crash, a kill or
Ctrl-C the same call goes on where it was, and ends with the result of an uninterrupted fit, to the
last bit.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, plot

X = load_digits(n_class=5).images[:300]
place = Path(tempfile.mkdtemp()) / "digits.checkpoint"

# %%
# ``progress`` is called after every iteration; returning True stops the fit. Here it stops after
# five events, as a power cut would, only more politely.

events = []


def stop_early(event):
    """Remember the event, and stop at the fifth."""
    events.append(event)
    return len(events) == 5


stopped = DIKMeans(5, n_init=1, random_state=0).fit(X, checkpoint=place, progress=stop_early)
print("in the folder:", sorted(path.name for path in place.iterdir()))

# %%
# The same call continues.

resumed = DIKMeans(5, n_init=1, random_state=0).fit(X, checkpoint=place)
at_once = DIKMeans(5, n_init=1, random_state=0).fit(X)
print("same labels:", np.array_equal(resumed.labels_, at_once.labels_))
print("same prototypes, to the last bit:", np.array_equal(resumed.prototypes_, at_once.prototypes_))

# %%
# The history covers both parts.

plot.history(resumed)
