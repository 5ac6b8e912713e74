"""The measure on a device of PyTorch's, such as a GPU: the same costs, many pairs side by side.

What the compiled loops do pair after pair is done here for thousands of pairs at once. PyTorch (the
extra ``dikmeans[deep]``) is imported when a device is asked for, and not before: nothing outside
this package needs it.

Rounding may depend on the shape of what is computed at once, so the shape is always the same: a
fixed number of *slots*, each of which holds one pair and takes the next one when its own is done
(`slots`). No result depends on batch, order or chunk.
"""
