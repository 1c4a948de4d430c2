# SPDX-License-Identifier: Apache-2.0
"""The functions of libunderlap.so (python/library/underlap.h)."""
from __future__ import annotations

import ctypes
import functools
import json
import platform
import threading
from typing import Any, Callable, Optional

from ._arrow import ArrowArray, ArrowSchema, Batch
from ._installed import find
from .errors import Error, InputError

_OK, _BAD_INPUT, _CANCELLED = 0, 2, 5


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    path = find("lib/underlap/libunderlap.so")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        libc = " ".join(platform.libc_ver())
        raise Error(f"cannot load {path}: {error}; it needs Linux with glibc 2.34 or newer (here: {libc})") from error
    pointer, text, flag = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)
    library.underlap_error.restype = text
    library.underlap_load.argtypes = [text, flag, ctypes.POINTER(pointer)]
    library.underlap_free_job.argtypes = [pointer]
    library.underlap_text.argtypes = [pointer, text, text, flag, ctypes.POINTER(pointer)]
    library.underlap_free_text.argtypes = [pointer]
    library.underlap_table.argtypes = [pointer, text, flag, ctypes.POINTER(ArrowSchema), ctypes.POINTER(ArrowArray)]
    return library


def _call(function: Callable[..., int]) -> None:
    """Calls function(cancelled) in another thread, so that Ctrl-C ends it. Raises what its status means."""
    cancelled = ctypes.c_int(0)
    outcome: list[tuple[int, str]] = []

    def run() -> None:
        status = function(ctypes.byref(cancelled))
        outcome.append((status, (_library().underlap_error() or b"").decode(errors="replace")))  # of this thread

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        cancelled.value = 1
        thread.join()
        raise
    status, reason = outcome[0]
    if status != _OK:
        raise (InputError if status == _BAD_INPUT else Error)(reason)


class NativeJob:
    """A job of the library, freed with this object. One thread at a time uses it."""

    def __init__(self, request: dict[str, Any]) -> None:
        library, text = _library(), json.dumps(request).encode()
        self._job = ctypes.c_void_p()
        self._lock = threading.Lock()
        self._free = library.underlap_free_job
        _call(lambda cancelled: int(library.underlap_load(text, cancelled, ctypes.byref(self._job))))

    def __del__(self) -> None:
        if getattr(self, "_job", None):
            self._free(self._job)

    def text(self, kind: str, options: Optional[dict[str, Any]] = None) -> str:
        """A text about the job: "json", "details_json", "text", "line" or "svg"."""
        library, made = _library(), ctypes.c_void_p()
        arguments = kind.encode(), json.dumps(options or {}).encode()
        with self._lock:
            _call(lambda cancelled: int(library.underlap_text(self._job, *arguments, cancelled, ctypes.byref(made))))
        try:
            return ctypes.string_at(made.value or 0).decode(errors="replace")
        finally:
            library.underlap_free_text(made)

    def table(self, name: str) -> Batch:
        """A table of the job."""
        library, batch = _library(), Batch()
        schema, array = ctypes.byref(batch.schema), ctypes.byref(batch.array)
        with self._lock:
            _call(lambda cancelled: int(library.underlap_table(self._job, name.encode(), cancelled, schema, array)))
        return batch
