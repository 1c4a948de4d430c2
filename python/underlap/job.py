# SPDX-License-Identifier: Apache-2.0
"""The traces of one job, and what they show."""
from __future__ import annotations

import html
import json
import os
from typing import TYPE_CHECKING, Any, Generic, Literal, Optional, Sequence, TypeVar, Union, cast, overload

from ._library import NativeJob
from ._program import option_words, write_page
from .errors import InputError

if TYPE_CHECKING:
    import pandas
    import pyarrow

TableT = TypeVar("TableT")
PathLike = Union[str, "os.PathLike[str]"]


class Svg(str):
    """A picture as SVG text, which notebooks show."""

    def _repr_svg_(self) -> str:
        return str(self)


class Summary:
    """The main result of a job: `print()` it, show it in a notebook, or take its figures.

    line       one line for a log: the step, its exposed communication, and what most of that is
    sentences  the step time and its largest costs, as `underlap analyze` prints them first
    figures    everything that `underlap analyze --json` prints (schema underlap.analysis/1); times in microseconds
    """

    def __init__(self, line: str, sentences: list[str], figures: dict[str, Any], text: str) -> None:
        self.line = line
        self.sentences = sentences
        self.figures = figures
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


class Job(Generic[TableT]):
    """The analyzed traces of one job. load() makes it.

    Times of all tables are whole nanoseconds on the clock of their rank, unless the name of a column ends with another
    unit. Steps that were cut off by the start or the end of the recording are not in `steps`. describe() has the
    meaning of each column.
    """

    def __init__(self, paths: list[str], native: NativeJob, tables: str, options: dict[str, Any]) -> None:
        self.paths = paths
        self._options = options
        self._native = native
        self._tables = tables
        self._made: dict[str, TableT] = {}

    def summary(self) -> Summary:
        """The main result, with the sentences and tables of `underlap analyze`."""
        figures = json.loads(self._native.text("json"))
        return Summary(self._native.text("line"), figures["headline"], figures, self._native.text("text"))

    @property
    def kernels(self) -> TableT:
        """Each kernel, copy and communication of the devices, one row each."""
        return self._table("kernels")

    @property
    def collectives(self) -> TableT:
        """Each communication of each rank: mode, size, wait, exposed time and its reason, and the late rank."""
        return self._table("collectives")

    @property
    def steps(self) -> TableT:
        """Each step of each rank, split into compute, hidden and exposed communication, copies and idle time."""
        return self._table("steps")

    @property
    def ranks(self) -> TableT:
        """The median step of each rank, split in the same way."""
        return self._table("ranks")

    @property
    def exposure_reasons(self) -> TableT:
        """Why communication is exposed, the largest first."""
        return self._table("exposure_reasons")

    @property
    def idle(self) -> TableT:
        """The idle time of each rank by cause, summed over its steps. Reads traces above 256 MB again."""
        return self._table("idle")

    @property
    def critical_path(self) -> TableT:
        """The chain of work over all ranks that determines the median step. Reads traces above 256 MB again."""
        return self._table("critical_path")

    def by(self, name: str) -> TableT:
        """The table of `underlap analyze --by NAME --csv`: mode, purpose, stream, rank, step, kernel or hidden.

        Times are microseconds, as in that table.
        """
        return self._table(f"by {name}")

    def describe(self, name: str) -> dict[str, str]:
        """The meaning of each column of a table, such as "kernels"."""
        return self._native.table(name).descriptions()

    def details(self) -> dict[str, Any]:
        """The figures of `underlap analyze --details --json`. Reads traces above 256 MB again."""
        return cast("dict[str, Any]", json.loads(self._native.text("details_json")))

    def timeline(self, step: Optional[int] = None, width: int = 1100) -> Svg:
        """Draws one step, the median one if none is given, `width` pixels wide."""
        return Svg(self._native.text("svg", {"step": step, "width": width}))

    def write_html(self, file: PathLike, **options: Any) -> None:
        """Writes the page of `underlap analyze --html` into one file that needs no other.

        options  others of `underlap analyze`, with _ for -: write_html("page.html", details=True)
        """
        write_page(["analyze", *self.paths, *option_words({**self._options, **options})], file)

    def __repr__(self) -> str:
        return f"<underlap.Job: {', '.join(self.paths)}>"

    def _table(self, name: str) -> TableT:
        if name not in self._made:
            batch = self._native.table(name)
            try:
                made = batch.to_pandas() if self._tables == "pandas" else batch.to_pyarrow()
            except ImportError as error:
                raise ImportError(f"tables need {self._tables}: pip install {self._tables}") from error
            self._made[name] = cast(TableT, made)
        return self._made[name]


@overload
def load(paths: Union[PathLike, Sequence[PathLike]], *, tables: Literal["pandas"] = ..., mode_map: Optional[PathLike] = ...,
         steps: Optional[str] = ..., cell: Optional[str] = ...) -> Job[pandas.DataFrame]: ...


@overload
def load(paths: Union[PathLike, Sequence[PathLike]], *, tables: Literal["pyarrow"], mode_map: Optional[PathLike] = ...,
         steps: Optional[str] = ..., cell: Optional[str] = ...) -> Job[pyarrow.Table]: ...


def load(paths: Union[PathLike, Sequence[PathLike]], *, tables: str = "pandas", mode_map: Optional[PathLike] = None,
         steps: Optional[str] = None, cell: Optional[str] = None) -> Job[Any]:
    """Reads and analyzes the traces of one job.

    paths     a run folder, or the traces of one job, one per rank: files, a folder or a glob pattern. Formats are those
              of `underlap list formats`: PyTorch profiler, Nsight Systems, rocprofv3, JAX, Ascend, Perfetto.
    tables    "pandas" or "pyarrow": what the tables of the job are; it must be installed
    mode_map  YAML file that assigns groups, kernels, streams or ranks to modes (`underlap help mode-map`)
    steps     steps to count: "NAME", "A:B" or "NAME,A:B", as --steps of `underlap analyze`
    cell      which cell of a run folder with several

    Raises InputError if a file cannot be used, and Error if reading fails. Ctrl-C ends reading.
    """
    if tables not in ("pandas", "pyarrow"):
        raise InputError(f'tables is "{tables}"; must be "pandas" or "pyarrow"')
    names = [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    options = {"mode_map": os.fspath(mode_map or ""), "steps": steps or "", "cell": cell or ""}
    given = {name: value for name, value in options.items() if value}
    return Job(names, NativeJob({"paths": names, **given}), tables, given)
