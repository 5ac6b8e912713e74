"""What a deformation is: families of warps, their bending energy, and how a picture is rendered."""

from dikmeans.warp.basis import Affine, NoWarp, ThinPlate, Warp, make_warp, resolve_landmarks
from dikmeans.warp.grid import Grid

__all__ = ["Affine", "Grid", "NoWarp", "ThinPlate", "Warp", "make_warp", "resolve_landmarks"]
