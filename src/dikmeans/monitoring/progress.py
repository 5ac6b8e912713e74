"""Progress of a fit: to listeners of our own, and through scikit-learn's callbacks where they exist."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dikmeans.monitoring.history import History, Iteration
from dikmeans.kmeans.run import StopRequested

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(fit: Any) -> Any:
        """No callbacks, nothing to take down."""
        return fit


class FitListener:
    """Hears how a fit goes; every method does nothing until it is overridden."""

    def begin_run(self, number: int, n_runs: int) -> None:
        """Run `number` of `n_runs` begins."""

    def resume(self, iterations: Sequence[Iteration]) -> None:
        """The run that has just begun goes on after these."""

    def iteration(self, iteration: Iteration) -> None:
        """An iteration of Lloyd's algorithm has ended."""

    def trial(self, number: int, most: int) -> None:
        """Swap `number` of at most `most` is about to be tried."""

    def end(self) -> None:
        """The fit has ended."""


@contextlib.contextmanager
def listening(estimator: Any, listener: FitListener) -> Iterator[None]:
    """Let a listener hear the fits of an estimator within the block."""
    estimator._fit_listener = listener
    try:
        yield
    finally:
        del estimator._fit_listener


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
        self._context: Any = None
        self._run_context: Any = None
        has_callbacks = bool(getattr(estimator, "_skl_callbacks", None))
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=n_runs)
            self._context.call_on_fit_task_begin(estimator=estimator)
        self._listeners: list[FitListener] = (
            [_Line(sys.stderr)] if estimator.verbose and not has_callbacks else []
        )
        if hasattr(estimator, "_fit_listener"):
            self._listeners.append(estimator._fit_listener)

    def begin_run(self, number: int, history: History) -> None:
        """Run `number` begins, or goes on where its history ends."""
        for listener in self._listeners:
            listener.begin_run(number, self._n_runs)
            if history.iterations:
                listener.resume(tuple(history.iterations))
        if self._context is not None:
            self._run_context = self._context.subcontext(task_name="run", max_subtasks=None)
            self._run_context.call_on_fit_task_begin(estimator=self._estimator)

    def iteration(self, iteration: Iteration) -> None:
        """An iteration has ended; raises `StopRequested` if a callback wants no more."""
        for listener in self._listeners:
            listener.iteration(iteration)
        if self._run_context is not None:
            context = self._run_context.subcontext(task_name=iteration.phase)
            context.call_on_fit_task_begin(estimator=self._estimator)
            if context.call_on_fit_task_end(estimator=self._estimator):
                raise StopRequested

    def trial(self, number: int, most: int) -> None:
        """A swap is about to be tried."""
        for listener in self._listeners:
            listener.trial(number, most)

    def end_run(self) -> None:
        """A run has ended."""
        if self._run_context is not None:
            self._run_context.call_on_fit_task_end(estimator=self._estimator)
            self._run_context = None

    def end(self) -> None:
        """The fit has ended."""
        for listener in self._listeners:
            listener.end()
        self.end_run()
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


class _Line(FitListener):
    """One line that is written over and over on a terminal, or one line an iteration elsewhere."""

    def __init__(self, stream: Any):
        self._stream = stream
        self._overwrite = stream.isatty()
        self._run = ""
        self._count = 0
        self._seconds = 0.0

    def begin_run(self, number: int, n_runs: int) -> None:
        self._run = f"{number}/{n_runs}"

    def resume(self, iterations: Sequence[Iteration]) -> None:
        self._count += len(iterations)
        self._seconds += sum(iteration.seconds for iteration in iterations)

    def iteration(self, iteration: Iteration) -> None:
        self._count += 1
        self._seconds += iteration.seconds
        text = (
            f"DIKMeans run {self._run} · iteration {self._count} · {iteration.phase} · distortion "
            f"{iteration.distortion:.6g} · {iteration.moved} moved · {self._seconds:.1f} s"
        )
        end = "\r" if self._overwrite else "\n"
        self._stream.write(f"{text:<110}{end}" if self._overwrite else text + end)
        self._stream.flush()

    def end(self) -> None:
        if self._overwrite and self._count:
            self._stream.write("\n")
            self._stream.flush()
