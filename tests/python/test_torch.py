# SPDX-License-Identifier: Apache-2.0
"""The handler takes what any profiler exports, so these tests need no torch; tests/torch/run has one."""
import gzip
import os
import pathlib
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

import made_up

import underlap
import underlap.torch


def stub_of_torch():
    """torch without a process group: rank and size are those of torchrun."""
    distributed = types.ModuleType("torch.distributed")
    distributed.is_available = lambda: False
    torch = types.ModuleType("torch")
    torch.distributed = distributed
    return mock.patch.dict(sys.modules, {"torch": torch, "torch.distributed": distributed})


class Profile:
    """A profile whose trace exists already."""

    def __init__(self, rank: int, step: int) -> None:
        self.step_num = step
        self._trace = sorted(made_up.traces().iterdir())[rank]

    def export_chrome_trace(self, path: str) -> None:
        with open(self._trace, "rb") as source, gzip.open(path, "wb") as target:
            shutil.copyfileobj(source, target)


class Handler(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out, self.lines = pathlib.Path(folder.name) / "out", []
        self.enterContext(stub_of_torch()) if hasattr(self, "enterContext") else self._enter(stub_of_torch())

    def _enter(self, context):
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def handler(self, rank: int, size: int, **options):
        environment = {"RANK": str(rank), "WORLD_SIZE": str(size)}
        made = underlap.torch.handler(self.out, log=self.lines.append, **options)

        def call(profile):
            with mock.patch.dict(os.environ, environment):
                made(profile)
        return made, call

    def test_rank_0_logs_one_line_about_all_ranks(self):
        first, on_rank_0 = self.handler(0, 2)
        _, on_rank_1 = self.handler(1, 2)
        on_rank_0(Profile(0, 20))
        on_rank_1(Profile(1, 20))
        first.wait()
        two = underlap.load(sorted(made_up.traces().iterdir())[:2])
        self.assertEqual(self.lines, [f"underlap step20: {two.summary().line}"])
        self.assertEqual(sorted(file.name for file in (self.out / "step20").iterdir()),
                         ["rank0.json.gz", "rank1.json.gz"])

    def test_missing_ranks_are_counted(self):
        first, on_rank_0 = self.handler(0, 2, timeout_s=0)
        on_rank_0(Profile(0, 20))
        first.wait()
        self.assertEqual(len(self.lines), 1)
        self.assertIn("(1 of 2 ranks; 1 wrote no trace to", self.lines[0])

    def test_traces_of_an_earlier_job_are_not_read(self):
        _, on_rank_1 = self.handler(1, 2)
        on_rank_1(Profile(1, 20))
        os.utime(self.out / "step20" / "rank1.json.gz", (1, 1))
        first, on_rank_0 = self.handler(0, 2, timeout_s=0)
        on_rank_0(Profile(0, 20))
        first.wait()
        self.assertIn("(1 of 2 ranks", self.lines[0])

    def test_a_profile_without_gpu_work_does_not_stop_the_job(self):
        profile = Profile(0, 20)
        profile.export_chrome_trace = lambda path: gzip.open(path, "wb").write(b'{"traceEvents": []}')
        first, on_rank_0 = self.handler(0, 1)
        on_rank_0(profile)
        first.wait()
        self.assertRegex(self.lines[0], "^underlap step20: not analyzed: ")


if __name__ == "__main__":
    unittest.main()
