# SPDX-License-Identifier: Apache-2.0
"""Runs and traces that the tests read, made by the program itself."""
import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

PROGRAM = str(pathlib.Path(os.environ["UNDERLAP_PREFIX"]) / "bin/underlap")

CONFIG = """\
model: {preset: llama3-8b, num_layers: 4}
data_parallel_size: 2
train: {num_microbatches: 1}
run: {backend: sim, steps: 3, blocks: 2, fold: false}
matrix:
  overlap:
    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}
    - {name: both, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true}
    - {name: alone, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false, no_comm: true}
"""


@functools.lru_cache(maxsize=None)
def folder() -> pathlib.Path:
    path = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def printed(*words: object, status: int = 0) -> str:
    """What the program prints."""
    done = subprocess.run([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


@functools.lru_cache(maxsize=None)
def run(name: str = "run", *options: str) -> pathlib.Path:
    """A simulated run with several cells, of two ranks each."""
    config = folder() / "config.yaml"
    config.write_text(CONFIG)
    printed("run", config, "-o", folder() / name, *options)
    return folder() / name


@functools.lru_cache(maxsize=None)
def traces(cell: str = "both") -> pathlib.Path:
    """One of its cells as Kineto traces, one for each rank."""
    made = folder() / cell
    made.mkdir()
    native = next(file for file in (run() / "traces").iterdir() if file.stem.endswith(cell))
    printed("convert", native, made / "trace.json")
    return made
