# SPDX-License-Identifier: Apache-2.0
"""compare, gate, plan and tune: the program runs, and its JSON is the result."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from ._installed import find
from .errors import Error, InputError
from .job import Job, PathLike

Traces = Union[PathLike, "Job[Any]"]
_FINDING, _BAD_INPUT, _INCONCLUSIVE = 1, 2, 4


class Report(dict):  # type: ignore[type-arg]
    """The JSON of a command. `underlap help --schema NAME` describes its keys.

    text  what the command prints on a terminal of 100 columns
    """

    def __init__(self, figures: Mapping[str, Any], text: str) -> None:
        super().__init__(figures)
        self.text = text

    def __str__(self) -> str:
        return self.text


class Comparison(Report):
    """Where the difference between two runs or traces went (schema underlap.compare/1)."""


class Gate(Report):
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


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options of a command: max_regression="3%" is --max-regression 3%; True is the option alone; lists repeat it."""
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            words += [word for one in value for word in (option, str(one))]
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def _run(words: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run([str(find("bin/underlap")), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", env={**os.environ, "COLUMNS": "100"})
    return done.returncode, done.stdout, done.stderr.strip()


def _figures(words: Sequence[str], statuses: Sequence[int]) -> tuple[dict[str, Any], str]:
    """The JSON and the text of a command that may end with one of those statuses."""
    status, printed, reason = _run([*words, "--json"])
    figures = json.loads(printed) if printed.startswith("{") else {}
    if status not in statuses or not figures:
        errors = "\n".join(f"{error['where']}: {error['message']}" for error in figures.get("errors", []))
        reason = errors or reason or f"underlap ended with status {status}"
        raise (InputError if status == _BAD_INPUT else Error)(reason)
    return figures, _run(words)[1]


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
    return Comparison(*_figures(["compare", _path(a), _path(b), *_words(options)], [0]))


def gate(baseline: Traces, candidate: Traces, **options: Any) -> Gate:
    """Checks runs or traces against a baseline, as `underlap gate BASELINE CANDIDATE` does.

    options  those of the command, with _ for -: gate(a, b, max_regression="3%", with_candidate=["run2", "run3"])
    """
    words = ["gate", _path(baseline), _path(candidate), *_words(options)]
    return Gate(*_figures(words, [0, _FINDING, _INCONCLUSIVE]))


def _with_config(command: str, config: Union[PathLike, Mapping[str, Any], None], options: Mapping[str, Any],
                 statuses: Sequence[int]) -> tuple[dict[str, Any], str]:
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(config, Mapping):
            file = pathlib.Path(folder) / "config.yaml"
            file.write_text(json.dumps(config))  # JSON is YAML
            config = file
        named = [] if config is None else [os.fspath(config)]
        return _figures([command, *named, *_words(options)], statuses)


def plan(config: Union[PathLike, Mapping[str, Any]], **options: Any) -> Plan:
    """Every setting with its requested and effective value and the reason, as `underlap plan CONFIG` prints them.

    config   a file, or the same keys as a dictionary
    options  those of the command, with _ for -
    """
    return Plan(*_with_config("plan", config, options, [0, _FINDING]))


def tune(config: Union[PathLike, Mapping[str, Any], None] = None, *, gpus: Optional[int] = None,
         hardware: Optional[str] = None, **options: Any) -> Tuning:
    """Searches layouts and overlap settings by simulation, as `underlap tune CONFIG` does.

    config    the model and fixed settings: a file, or the same keys as a dictionary; what it leaves open is searched
    gpus      number of GPUs of the job
    hardware  name or file of the machine (`underlap list hardware`)
    options   others of the command, with _ for -: tune("model.yaml", gpus=64, limit="75GB")
    """
    return Tuning(*_with_config("tune", config, {"gpus": gpus, "hardware": hardware, **options}, [0]))
