# SPDX-License-Identifier: Apache-2.0
import csv
import io
import json
import pathlib
import unittest

import made_up
import pandas
import pyarrow

import underlap


COLLECTIVES = pathlib.Path(__file__).parent.parent / "data/kineto/collectives.json"


def events_of(file: pathlib.Path):
    """(name, start, duration) of the work of devices in a Kineto file, times in ns."""
    trace = json.loads(file.read_text(), parse_float=str)
    for event in trace["traceEvents"]:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            base_ns = int(trace.get("baseTimeNanoseconds", 0))
            yield event["name"], base_ns + nanoseconds(event["ts"]), nanoseconds(event["dur"])


def nanoseconds(microseconds) -> int:
    whole, _, part = str(microseconds).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.job = underlap.load(made_up.traces())

    def test_kernels_are_the_events_of_the_files(self):
        kernels = underlap.load(COLLECTIVES).kernels
        rows = zip(kernels["name"].astype(str), kernels["start_ns"], kernels["duration_ns"])
        self.assertEqual(sorted(rows), sorted(events_of(COLLECTIVES)))
        events = [event for file in made_up.traces().iterdir() for event in events_of(file)]
        rows = zip(self.job.kernels["start_ns"], self.job.kernels["duration_ns"])
        self.assertEqual(sorted(rows), sorted(event[1:] for event in events))

    def test_parts_of_a_step_sum_to_its_window(self):
        steps = self.job.steps
        parts = steps[["compute_only_ns", "hidden_ns", "exposed_ns", "copy_only_ns", "idle_ns"]].sum(axis=1)
        self.assertGreater(len(steps), 0)
        self.assertTrue((parts == steps["window_ns"]).all())

    def test_ranks_are_those_of_the_program(self):
        figures = json.loads(made_up.printed("analyze", made_up.traces(), "--json"))
        theirs = {rank["rank"]: rank["steps"]["exposed_us"] for rank in figures["ranks"]}
        ours = dict(zip(self.job.ranks["rank"], self.job.ranks["exposed_ns"] / 1000))
        self.assertEqual(set(ours), set(theirs))
        for rank, exposed_us in ours.items():
            self.assertAlmostEqual(exposed_us, theirs[rank])

    def test_breakdowns_are_those_of_the_program(self):
        for name in ("mode", "purpose", "stream", "rank", "step", "kernel", "hidden"):
            rows = list(csv.reader(io.StringIO(made_up.printed("analyze", made_up.traces(), "--by", name, "--csv"))))
            table = self.job.by(name)
            self.assertEqual(list(table.columns), rows[0])
            self.assertEqual(len(table), len(rows) - 1)
            for column, title in enumerate(rows[0]):
                for ours, theirs in zip(table[title], (row[column] for row in rows[1:])):
                    if isinstance(ours, float):
                        self.assertEqual(theirs == "", pandas.isna(ours))
                        self.assertTrue(theirs == "" or abs(ours - float(theirs)) < 1e-3, (title, ours, theirs))
                    else:
                        self.assertEqual(str(ours), theirs)

    def test_exposed_time_of_collectives_has_a_reason(self):
        collectives = self.job.collectives
        exposed = collectives[collectives["exposed_ns"] > 0]
        self.assertGreater(len(exposed), 0)
        self.assertTrue(exposed["reason"].notna().all())
        self.assertEqual(exposed["exposed_ns"].sum(), self.job.exposure_reasons["exposed_ns"].sum())
        self.assertTrue((collectives["mode"] == "dp").all())
        self.assertTrue((collectives["bytes"] > 0).all())

    def test_idle_time_sums_to_that_of_the_steps(self):
        idle = self.job.idle.groupby("rank")["idle_ns"].sum()
        self.assertEqual(dict(idle), dict(self.job.steps.groupby("rank")["idle_ns"].sum()))

    def test_critical_path_has_no_holes(self):
        path = self.job.critical_path
        ends = (path["start_ns"] + path["duration_ns"]).iloc[:-1]
        self.assertEqual(list(ends), list(path["start_ns"].iloc[1:]))

    def test_pyarrow_has_the_same_values(self):
        other = underlap.load(made_up.traces(), tables="pyarrow")
        for name in ("kernels", "collectives", "steps", "ranks", "exposure_reasons", "idle", "critical_path"):
            ours, theirs = getattr(self.job, name), getattr(other, name)
            self.assertIsInstance(theirs, pyarrow.Table)
            theirs.validate(full=True)
            self.assertEqual(list(ours.columns), theirs.column_names)
            for column in ours.columns:
                values = [None if pandas.isna(value) else value for value in ours[column].tolist()]
                self.assertEqual(values, theirs[column].to_pylist(), (name, column))

    def test_columns_are_described(self):
        for name in ("kernels", "collectives", "steps", "ranks", "exposure_reasons", "idle", "critical_path"):
            described = self.job.describe(name)
            self.assertEqual(list(described), list(getattr(self.job, name).columns))
            self.assertTrue(all(described.values()), described)

    def test_tables_outlive_their_job(self):
        kernels = underlap.load(made_up.traces()).kernels
        self.assertEqual(int(kernels["duration_ns"].sum()), int(self.job.kernels["duration_ns"].sum()))

    def test_a_table_without_rows_has_its_columns(self):
        alone = underlap.load(made_up.traces("alone"))
        self.assertEqual(len(alone.collectives), 0)
        self.assertEqual(list(alone.collectives.columns), list(self.job.collectives.columns))


if __name__ == "__main__":
    unittest.main()
