"""The progress of an import on stderr: a bar for people, an occasional line for logs."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from starter.output import errors

_SECONDS_BETWEEN_LINES = 5.0
# Shorter waits are normal and are not shown.
_WORTH_SAYING = 1.0


class ProgressBar:
    def __init__(self, console: Console = errors) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console)
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def start(self, total: int, finished: int) -> None:
        self._task = self._progress.add_task("importing", total=total, completed=finished)

    def settled(self) -> None:
        if self._task is not None:
            self._progress.update(self._task, advance=1, description="importing")

    def waiting(self, site: str, seconds: float) -> None:
        if self._task is not None and seconds >= _WORTH_SAYING:
            self._progress.update(self._task, description=f"waiting for {site}, {seconds:.0f} s")


class ProgressLines:
    def __init__(self, console: Console = errors) -> None:
        self._console = console
        self._total = self._done = 0
        self._next_line_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def start(self, total: int, finished: int) -> None:
        self._total, self._done = total, finished
        self._say(f"{total} series in the file, {finished} of them finished earlier")

    def settled(self) -> None:
        self._done += 1
        if time.monotonic() >= self._next_line_at:
            self._say(f"{self._done} of {self._total}")

    def waiting(self, site: str, seconds: float) -> None:
        if seconds >= _WORTH_SAYING and time.monotonic() >= self._next_line_at:
            self._say(f"{self._done} of {self._total}, waiting for {site}, {seconds:.0f} s")

    def _say(self, text: str) -> None:
        self._next_line_at = time.monotonic() + _SECONDS_BETWEEN_LINES
        self._console.print(f"import: {text}", soft_wrap=True)


def progress_display() -> ProgressBar | ProgressLines:
    return ProgressBar() if errors.is_terminal else ProgressLines()
