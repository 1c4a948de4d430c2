# SPDX-License-Identifier: Apache-2.0
"""Runs the program `underlap`."""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from ._installed import find
from .errors import Error, InputError

FINDING, BAD_INPUT, INCONCLUSIVE = 1, 2, 4


def option_words(options: Mapping[str, Any]) -> list[str]:
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


def _run(words: Sequence[str], stdin: Optional[str] = None) -> tuple[int, str, str]:
    done = subprocess.run([str(find("bin/underlap")), *words], input=stdin or "", capture_output=True, text=True,
                          errors="replace", env={**os.environ, "COLUMNS": "100"})
    return done.returncode, done.stdout, done.stderr.strip()


def _raise(status: int, reason: str) -> None:
    raise (InputError if status == BAD_INPUT else Error)(reason or f"underlap ended with status {status}")


def figures_of(words: Sequence[str], statuses: Sequence[int], stdin: Optional[str]) -> dict[str, Any]:
    """The JSON of a command that may end with one of those statuses."""
    status, printed, reason = _run([*words, "--json"], stdin)
    figures: dict[str, Any] = json.loads(printed) if printed.startswith("{") else {}
    if status not in statuses or not figures:
        _raise(status, "\n".join(f"{error['where']}: {error['message']}" for error in figures.get("errors", [])) or reason)
    return figures


def text_of(words: Sequence[str], stdin: Optional[str]) -> str:
    """What a command prints."""
    return _run(words, stdin)[1]


def write_page(words: Sequence[str], file: Union[str, "os.PathLike[str]"]) -> None:
    """Writes the page of a command, also if it found something."""
    status, _, reason = _run([*words, "--html", os.fspath(file)])
    if status not in (0, FINDING, INCONCLUSIVE):
        _raise(status, reason)
