# SPDX-License-Identifier: Apache-2.0
import unittest

import made_up

import underlap


class Commands(unittest.TestCase):
    def test_compare_explains_a_difference(self):
        found = underlap.compare(made_up.traces("off"), underlap.load(made_up.traces()))
        self.assertEqual(found["schema"], "underlap.compare/1")
        self.assertIn("step", str(found))

    def test_gate_finds_a_regression(self):
        cells = {"cells": ["off", "both"]}
        same = underlap.gate(made_up.run(), made_up.run("again"), **cells)
        self.assertTrue(same.passed)
        self.assertEqual(same["schema"], "underlap.gate/1")
        slow = underlap.gate(made_up.run(), made_up.run("slow", "--speed", "0.5"), force=True, **cells)
        self.assertEqual(slow.verdict, "regression")
        self.assertFalse(slow.passed)
        self.assertIn("regression", str(slow))
        slow.write_html(made_up.folder() / "gate.html")
        self.assertIn("regression", (made_up.folder() / "gate.html").read_text())

    def test_plan_takes_a_dictionary(self):
        found = underlap.plan({"model": {"preset": "tiny"}, "data_parallel_size": 2})
        self.assertIn("comm_overlap.overlap_grad_reduce", [knob["name"] for knob in found["knobs"]])
        self.assertIn("overlap_grad_reduce", str(found))

    def test_errors_are_those_of_the_program(self):
        with self.assertRaisesRegex(underlap.InputError, "tiiny"):
            underlap.plan({"model": {"preset": "tiiny"}})
        with self.assertRaisesRegex(underlap.InputError, "--no-such-option"):
            underlap.compare(made_up.traces(), made_up.traces(), no_such_option=True)
        with self.assertRaisesRegex(underlap.InputError, "no/such"):
            underlap.gate("no/such", made_up.run())

    def test_tune_simulates(self):
        model = {"model": {"preset": "llama3-8b", "num_layers": 8}, "train": {"micro_batch_size": 1}}
        found = underlap.tune(model, gpus=8, hardware="h100-sxm", batch=16)
        self.assertEqual(found["schema"], "underlap.tune/1")


if __name__ == "__main__":
    unittest.main()
