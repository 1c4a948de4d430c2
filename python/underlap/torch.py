# SPDX-License-Identifier: Apache-2.0
"""Analyzes what torch.profiler records, while the job trains."""
from __future__ import annotations

import os
import pathlib
import threading
import time
from typing import Any, Callable, Optional, Union

from .errors import Error
from .job import load

_POLL_S = 0.5


def _rank_and_size() -> tuple[int, int]:
    """From torch.distributed where it is set up, else from the environment that torchrun sets."""
    import torch.distributed as distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


class Handler:
    """Takes each finished profile. handler() makes it."""

    def __init__(self, out: pathlib.Path, log: Callable[[str], None], timeout_s: float) -> None:
        self._out, self._log, self._timeout_s = out, log, timeout_s
        self._out.mkdir(parents=True, exist_ok=True)
        self._begin = out / f".begin-{os.getpid()}"
        self._begin.touch()  # its time is of the clock that the files of all ranks have
        self._threads: list[threading.Thread] = []

    def __call__(self, profile: Any) -> None:
        rank, size = _rank_and_size()
        folder = self._out / f"step{profile.step_num}"
        folder.mkdir(exist_ok=True)
        part = folder / f".rank{rank}.json.gz"  # ends in .gz: the profiler compresses it
        profile.export_chrome_trace(str(part))
        os.replace(part, folder / f"rank{rank}.json.gz")
        if rank == 0:
            thread = threading.Thread(target=self._analyze, args=(folder, size), name="underlap")
            thread.start()
            self._threads.append(thread)

    def wait(self) -> None:
        """Waits for the analysis of all profiles so far. The end of the program waits for them, too."""
        for thread in self._threads:
            thread.join()

    def _analyze(self, folder: pathlib.Path, size: int) -> None:
        try:
            files = self._files(folder, size)
            line = load(files).summary().line
            missing = size - len(files)
            note = f" ({len(files)} of {size} ranks; {missing} wrote no trace to {folder})" if missing else ""
            self._log(f"underlap {folder.name}: {line}{note}")
        except Error as error:
            self._log(f"underlap {folder.name}: not analyzed: {error}")

    def _files(self, folder: pathlib.Path, size: int) -> list[pathlib.Path]:
        """The traces of all ranks, or those that exist after the timeout. Skips files of an earlier job."""
        begin, deadline = self._begin.stat().st_mtime, time.monotonic() + self._timeout_s
        while True:
            names = [folder / f"rank{rank}.json.gz" for rank in range(size)]
            files = [name for name in names if name.exists() and name.stat().st_mtime >= begin]
            if len(files) == size or time.monotonic() > deadline:
                return files
            time.sleep(_POLL_S)


def handler(out: Union[str, "os.PathLike[str]"], *, log: Optional[Callable[[str], None]] = None,
            timeout_s: float = 60) -> Handler:
    """For `on_trace_ready` of torch.profiler: writes each profile, and logs one line about all ranks on rank 0.

        with torch.profiler.profile(schedule=schedule, on_trace_ready=underlap.torch.handler("out")) as profile:
            for batch in batches:
                train(batch)
                profile.step()

    Rank R writes out/stepN/rankR.json.gz. Rank 0 analyzes the traces in a thread of its own, so training continues,
    and logs for example "underlap step20: step 812 ms, exposed communication 61 ms (8 %), mostly dp reduce_scatter".
    Ranks on other machines must share `out`; a line about fewer ranks names how many are missing.

    out        folder for the traces
    log        receives the line (default: print)
    timeout_s  how long rank 0 waits for the traces of other ranks
    """
    return Handler(pathlib.Path(out), log or (lambda line: print(line, flush=True)), timeout_s)
