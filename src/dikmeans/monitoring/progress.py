"""Who hears of the progress of a fit: a line on standard error, callbacks, a caller."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from sklearn.base import BaseEstimator

from dikmeans.kmeans.run import RunState
from dikmeans.kmeans.schedule import Schedule
from dikmeans.monitoring.events import ProgressEvent, ProgressSink

FitT = TypeVar("FitT", bound=Callable[..., object])

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """scikit-learn's, which comes without types."""

    def with_callbacks(fit: FitT) -> FitT:
        """scikit-learn's, which comes without types."""

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn < 1.9

        class CallbackSupportMixin:
            """Stands in where scikit-learn has no callbacks yet."""

        def with_callbacks(fit):
            """No callbacks to take down after the fit."""
            return fit


class StopRequested(Exception):  # noqa: N818 -- not an error
    """Someone who hears of the progress of a fit wants it to stop and keep what there is."""


class Progress(AbstractContextManager["Progress"]):
    """Passes the events of one fit to everyone who listens.

    Parameters
    ----------
    estimator : BaseEstimator
        Its `verbose` asks for a line on standard error, unless it has callbacks.
    schedule : Schedule
    n_runs : int
    sink : callable, optional
        A caller's own.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        schedule: Schedule,
        n_runs: int,
        sink: ProgressSink | None = None,
    ):
        self._schedule, self._n_runs = schedule, n_runs
        self._number = 0
        self._before: RunState | None = None
        self._callbacks = _Callbacks(estimator, n_runs)
        self._line = ProgressLine(sys.stderr)
        self._sinks: list[ProgressSink] = [self._callbacks]
        if estimator.verbose and not self._callbacks.has_any:
            self._sinks.append(self._line)
        if sink is not None:
            self._sinks.append(sink)

    def __exit__(self, *_: object) -> None:
        self._line.end()
        self._callbacks.end()

    def begin_run(self, number: int, state: RunState | None) -> None:
        """A run begins, or is resumed in `state`.

        Parameters
        ----------
        number : int
            Of the run, from 1.
        state : RunState or None
        """
        self._number, self._before = number, state
        if state is not None:
            self._publish(state, None)

    def report(self, state: RunState) -> None:
        """Tell everyone that the run has reached a state.

        Raises
        ------
        StopRequested
            Someone wants no more.
        """
        before, self._before = self._before, state
        self._publish(state, before or replace(state, history=state.history[:-1]))

    def _publish(self, state: RunState, before: RunState | None) -> None:
        event = ProgressEvent.of_state(
            state, before, run=self._number, n_runs=self._n_runs, schedule=self._schedule
        )
        answers = [sink(event) for sink in self._sinks]  # all hear it, also after a True
        if any(answers):
            raise StopRequested


class ProgressLine:
    """One line that is overwritten on a terminal, or one line per iteration elsewhere."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._overwrite = stream.isatty()
        self._used = False

    def __call__(self, event: ProgressEvent) -> None:
        """Write the line of an iteration."""
        if event.record is None:
            return
        seconds = sum(record.seconds for record in event.history)
        text = (
            f"DIKMeans run {event.run}/{event.n_runs} · iteration {len(event.history)} · "
            f"{event.record.phase} · inertia {event.record.inertia:.6g} · {event.record.moved} "
            f"moved · {seconds:.1f} s"
        )
        self._stream.write(f"{text:<110}\r" if self._overwrite else f"{text}\n")
        self._stream.flush()
        self._used = True

    def end(self) -> None:
        """Leave the line standing."""
        if self._overwrite and self._used:
            self._stream.write("\n")
            self._stream.flush()


class _Callbacks:
    """scikit-learn's callbacks (1.9): one task per run, one below it per iteration.

    The methods used here are private to scikit-learn; the version is bounded in pyproject.toml, and
    a test follows the calls.
    """

    def __init__(self, estimator: Any, n_runs: int):
        self._estimator = estimator
        self.has_any = bool(getattr(estimator, "_skl_callbacks", None))
        self._fit: Any = None
        self._run: Any = None
        self._number = 0
        if hasattr(estimator, "_init_callback_context"):
            self._fit = estimator._init_callback_context(max_subtasks=n_runs)
            self._fit.call_on_fit_task_begin(estimator=estimator)

    def __call__(self, event: ProgressEvent) -> bool:
        """Report an iteration; whether a callback wants to stop."""
        if self._fit is None:
            return False
        if event.run != self._number:
            self._end_run()
            self._number = event.run
            self._run = self._fit.subcontext(task_name="run", max_subtasks=None)
            self._run.call_on_fit_task_begin(estimator=self._estimator)
        if event.record is None:
            return False
        context = self._run.subcontext(task_name=event.record.phase)
        context.call_on_fit_task_begin(estimator=self._estimator)
        return bool(context.call_on_fit_task_end(estimator=self._estimator))

    def _end_run(self) -> None:
        if self._run is not None:
            self._run.call_on_fit_task_end(estimator=self._estimator)
            self._run = None

    def end(self) -> None:
        """The fit has ended."""
        self._end_run()
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self._estimator)
            self._fit = None
