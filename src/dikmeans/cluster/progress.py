"""Progress of a fit: through scikit-learn's callbacks where they exist, else a plain line."""

from __future__ import annotations

import sys
from typing import Any

from dikmeans.cluster.history import Iteration
from dikmeans.cluster.run import StopRequested

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(fit: Any) -> Any:
        """No callbacks, nothing to take down."""
        return fit


class Progress:
    """Tells whoever listens how a fit goes.

    Parameters
    ----------
    estimator : DIKMeans
    n_runs : int
    """

    def __init__(self, estimator: Any, n_runs: int):
        self._estimator = estimator
        self._n_runs = n_runs
        self._run_number = 0
        self._context: Any = None
        self._run_context: Any = None
        listening = bool(getattr(estimator, "_skl_callbacks", None))
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=n_runs)
            self._context.call_on_fit_task_begin(estimator=estimator)
        self._line = _Line(sys.stderr) if estimator.verbose and not listening else None

    def begin_run(self) -> None:
        """A run begins."""
        self._run_number += 1
        if self._context is not None:
            self._run_context = self._context.subcontext(task_name="run", max_subtasks=None)
            self._run_context.call_on_fit_task_begin(estimator=self._estimator)

    def iteration(self, iteration: Iteration) -> None:
        """An iteration has ended; raises `StopRequested` if a callback wants no more."""
        if self._line is not None:
            self._line.show(self._run_number, self._n_runs, iteration)
        if self._run_context is not None:
            context = self._run_context.subcontext(task_name=iteration.phase)
            context.call_on_fit_task_begin(estimator=self._estimator)
            if context.call_on_fit_task_end(estimator=self._estimator):
                raise StopRequested

    def end_run(self) -> None:
        """A run has ended."""
        if self._run_context is not None:
            self._run_context.call_on_fit_task_end(estimator=self._estimator)
            self._run_context = None

    def end(self) -> None:
        """The fit has ended."""
        if self._line is not None:
            self._line.close()
        self.end_run()
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


class _Line:
    """One line that is written over and over on a terminal, or one line an iteration elsewhere."""

    def __init__(self, stream: Any):
        self._stream = stream
        self._overwrite = stream.isatty()
        self._count = 0
        self._seconds = 0.0

    def show(self, run: int, n_runs: int, iteration: Iteration) -> None:
        self._count += 1
        self._seconds += iteration.seconds
        text = (
            f"DIKMeans run {run}/{n_runs} · iteration {self._count} · {iteration.phase} · distortion "
            f"{iteration.distortion:.6g} · {iteration.moved} moved · {self._seconds:.1f} s"
        )
        end = "\r" if self._overwrite else "\n"
        self._stream.write(f"{text:<110}{end}" if self._overwrite else text + end)
        self._stream.flush()

    def close(self) -> None:
        if self._overwrite and self._count:
            self._stream.write("\n")
            self._stream.flush()
