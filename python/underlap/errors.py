# SPDX-License-Identifier: Apache-2.0
"""What the functions of this package raise."""
from __future__ import annotations


class Error(RuntimeError):
    """Something failed that the caller did not cause, such as a full disk."""


class InputError(Error, ValueError):
    """A file, an option or a name is wrong; the message names it and a fix."""
