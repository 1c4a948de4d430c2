# SPDX-License-Identifier: Apache-2.0
"""compare, gate, plan and tune: the program runs, and its JSON is the result."""
from __future__ import annotations

import functools
import html
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

from ._program import FINDING, INCONCLUSIVE, figures_of, option_words, text_of, write_page
from .errors import InputError
from .job import Job, PathLike

Traces = Union[PathLike, "Job[Any]"]


class Report(dict):  # type: ignore[type-arg]
    """The JSON of a command. `underlap help --schema NAME` describes its keys.

    `print()` shows what the command prints on a terminal of 100 columns; the command runs again for it, once.
    """

    def __init__(self, words: Sequence[str], statuses: Sequence[int], config: Optional[str] = None) -> None:
        super().__init__(figures_of(words, statuses, config))
        self._words, self._config = words, config

    @functools.cached_property
    def text(self) -> str:
        """What the command prints."""
        return text_of(self._words, self._config)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Page(Report):
    """A report that is also a page for a browser."""

    def write_html(self, file: PathLike) -> None:
        """Writes the page into one file that needs no other."""
        write_page(self._words, file)


class Comparison(Page):
    """Where the difference between two runs or traces went (schema underlap.compare/1)."""


class Gate(Page):
    """The verdicts of a gate (schema underlap.gate/1)."""

    @property
    def verdict(self) -> str:
        """"pass", "regression" or "inconclusive"."""
        return str(self["verdict"])

    @property
    def passed(self) -> bool:
        """Whether the verdict is "pass"."""
        return self.verdict == "pass"


class Plan(Report):
    """What is in effect, and why (schema underlap.plan/1)."""


class Tuning(Report):
    """The best layouts of a search (schema underlap.tune/1). Nothing ran: all times are simulated."""


def _path(traces: Traces) -> str:
    if not isinstance(traces, Job):
        return os.fspath(traces)
    if len(traces.paths) != 1:
        raise InputError("the traces of a job must be one path here: their folder, or a pattern that matches them")
    return traces.paths[0]


def compare(a: Traces, b: Traces, **options: Any) -> Comparison:
    """Explains why two runs or traces differ, as `underlap compare A B` does.

    a, b     paths, or jobs of load(); a is the older one
    options  those of the command, with _ for -: compare(a, b, steps="ProfilerStep", force=True)
    """
    return Comparison(["compare", _path(a), _path(b), *option_words(options)], [0])


def gate(baseline: Traces, candidate: Traces, **options: Any) -> Gate:
    """Checks runs or traces against a baseline, as `underlap gate BASELINE CANDIDATE` does.

    options  those of the command, with _ for -: gate(a, b, max_regression="3%", with_candidate=["run2", "run3"])
    """
    return Gate(["gate", _path(baseline), _path(candidate), *option_words(options)], [0, FINDING, INCONCLUSIVE])


ReportT = TypeVar("ReportT", bound=Report)


def _with_config(kind: type[ReportT], command: str, config: Union[PathLike, Mapping[str, Any], None],
                 options: Mapping[str, Any], statuses: Sequence[int]) -> ReportT:
    if isinstance(config, Mapping):  # JSON is YAML
        return kind([command, "/dev/stdin", *option_words(options)], statuses, json.dumps(config))
    named = [] if config is None else [os.fspath(config)]
    return kind([command, *named, *option_words(options)], statuses)


def plan(config: Union[PathLike, Mapping[str, Any]], **options: Any) -> Plan:
    """Every setting with its requested and effective value and the reason, as `underlap plan CONFIG` prints them.

    config   a file, or the same keys as a dictionary
    options  those of the command, with _ for -
    """
    return _with_config(Plan, "plan", config, options, [0, FINDING])


def tune(config: Union[PathLike, Mapping[str, Any], None] = None, *, gpus: Optional[int] = None,
         hardware: Optional[str] = None, **options: Any) -> Tuning:
    """Searches layouts and overlap settings by simulation, as `underlap tune CONFIG` does.

    config    the model and fixed settings: a file, or the same keys as a dictionary; what it leaves open is searched
    gpus      number of GPUs of the job
    hardware  name or file of the machine (`underlap list hardware`)
    options   others of the command, with _ for -: tune("model.yaml", gpus=64, limit="75GB")
    """
    return _with_config(Tuning, "tune", config, {"gpus": gpus, "hardware": hardware, **options}, [0])
