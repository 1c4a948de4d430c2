# SPDX-License-Identifier: Apache-2.0
"""How much of a training step's communication is hidden under compute, how much is exposed, and why.

    import underlap

    job = underlap.load("traces/")        # PyTorch profiler, Nsight Systems, ...: one file per rank
    print(job.summary())
    job.collectives.groupby("mode")["exposed_ns"].sum()

The figures are those of the command line: `underlap analyze`, `compare`, `gate`, `plan` and `tune`.
"""
from __future__ import annotations

from ._installed import version as _version
from .commands import Comparison, Gate, Plan, Report, Tuning, compare, gate, plan, tune
from .errors import Error, InputError
from .job import Job, Summary, Svg, load

__all__ = ["Comparison", "Error", "Gate", "InputError", "Job", "Plan", "Report", "Summary", "Svg", "Tuning", "compare",
           "gate", "load", "plan", "tune"]
__version__ = _version()
