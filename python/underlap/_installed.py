# SPDX-License-Identifier: Apache-2.0
"""Where the program and the library are."""
from __future__ import annotations

import importlib.metadata
import os
import pathlib
import sys
from collections.abc import Iterator

from .errors import Error


def _prefixes() -> Iterator[pathlib.Path]:
    """Folders that may have bin/underlap and lib/underlap, the most specific first."""
    if named := os.environ.get("UNDERLAP_PREFIX"):
        yield pathlib.Path(named)
        return
    here = pathlib.Path(__file__).resolve().parent
    try:
        for file in importlib.metadata.distribution("underlap").files or []:
            if file.parts[-2:] == ("bin", "underlap"):
                yield pathlib.Path(str(file.locate())).resolve().parent.parent
    except importlib.metadata.PackageNotFoundError:
        pass
    yield here.parent  # of `pip install --target`
    yield here.parent.parent / "build"  # of a source tree
    yield from map(pathlib.Path, (sys.prefix, "/usr/local", "/usr"))


def find(name: str) -> pathlib.Path:
    """The file `name` below a prefix, such as "bin/underlap"."""
    for prefix in _prefixes():
        if (prefix / name).is_file():
            return prefix / name
    raise Error(f"{name} is not installed; reinstall the package, or set UNDERLAP_PREFIX to the folder that contains it")


def version() -> str:
    """The version of the installed package."""
    try:
        return importlib.metadata.version("underlap")
    except importlib.metadata.PackageNotFoundError:
        return "0+source"
