"""Without PyTorch the deep baselines cannot be imported: their doctests are then not collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/dikmeans/paper/baselines/[!_]*.py"]
