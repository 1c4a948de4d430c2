# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

import made_up

import underlap


class Load(unittest.TestCase):
    def test_summary_is_that_of_the_program(self):
        summary = underlap.load(made_up.traces()).summary()
        self.assertEqual(summary.figures, json.loads(made_up.printed("analyze", made_up.traces(), "--json")))
        self.assertEqual(summary.sentences, summary.figures["headline"])
        self.assertRegex(summary.line, r"^step [0-9.]+ ms, exposed communication [0-9.]+ ms \([0-9.]+ %\), mostly dp ")
        for sentence in summary.sentences:
            self.assertIn(sentence.split(" (")[0], str(summary))

    def test_details_are_those_of_the_program(self):
        theirs = json.loads(made_up.printed("analyze", made_up.traces(), "--json", "--details"))
        job = underlap.load(made_up.traces())
        self.assertEqual(job.details(), theirs)
        self.assertEqual(job.summary().figures, json.loads(made_up.printed("analyze", made_up.traces(), "--json")))

    def test_details_of_a_small_job_need_no_file(self):
        folder = made_up.folder() / "removed"
        shutil.copytree(made_up.traces(), folder)
        job = underlap.load(folder)
        shutil.rmtree(folder)
        self.assertGreater(len(job.critical_path), 0)

    def test_takes_a_cell_of_a_run(self):
        job = underlap.load(made_up.run(), cell="both")
        self.assertEqual(job.summary().figures["cell"], "both")

    def test_names_the_cells_of_a_run_with_several(self):
        with self.assertRaisesRegex(underlap.InputError, "has several cells.*both"):
            underlap.load(made_up.run())

    def test_a_missing_file_is_named(self):
        with self.assertRaisesRegex(underlap.InputError, "there/is/none.json"):
            underlap.load("there/is/none.json")
        with self.assertRaises(ValueError):
            underlap.load(pathlib.Path("there/is/none.json"))

    def test_a_wrong_argument_is_named(self):
        with self.assertRaisesRegex(underlap.InputError, "polars"):
            underlap.load(made_up.traces(), tables="polars")
        with self.assertRaisesRegex(underlap.InputError, "nothing"):
            underlap.load(made_up.traces()).by("nothing")

    def test_a_broken_mode_map_has_its_line(self):
        broken = made_up.folder() / "broken.yaml"
        broken.write_text("groups: [unclosed\nkernels: {")
        with self.assertRaisesRegex(underlap.InputError, r"broken.yaml:\d+"):
            underlap.load(made_up.traces(), mode_map=broken)

    def test_garbage_is_refused(self):
        garbage = made_up.folder() / "garbage.json"
        garbage.write_bytes(bytes(range(256)) * 8)
        with self.assertRaises(underlap.InputError):
            underlap.load(garbage)

    def test_interrupt_ends_reading(self):
        long = made_up.folder() / "long.json"
        rows = ",\n".join('{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":%d,"dur":1}' % i
                          for i in range(3_000_000))
        long.write_text('{"traceEvents":[\n' + rows + "]}")
        code = f"import underlap; print('reading', flush=True); underlap.load({str(long)!r})"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, reason = process.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", reason)

    def test_writes_a_page(self):
        page = made_up.folder() / "page.html"
        underlap.load(made_up.run(), cell="both").write_html(page)
        self.assertIn("is exposed communication", page.read_text())
        with self.assertRaisesRegex(underlap.InputError, "no/such/folder"):
            underlap.load(made_up.traces()).write_html("no/such/folder/page.html")

    def test_the_module_is_the_program(self):
        words = [sys.executable, "-m", "underlap", "analyze", str(made_up.traces())]
        self.assertEqual(subprocess.run(words, capture_output=True, text=True, check=True).stdout,
                         made_up.printed("analyze", made_up.traces()))

    def test_a_missing_library_is_explained(self):
        code = "import underlap; underlap.load('.')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={**os.environ, "UNDERLAP_PREFIX": "/nowhere"})
        self.assertIn("libunderlap.so is not installed", done.stderr)


class Timeline(unittest.TestCase):
    def test_is_a_picture(self):
        picture = underlap.load(made_up.traces()).timeline()
        self.assertTrue(xml.etree.ElementTree.fromstring(picture).tag.endswith("svg"))
        self.assertEqual(picture._repr_svg_(), picture)

    def test_a_wrong_step_is_named(self):
        with self.assertRaisesRegex(underlap.InputError, "9999"):
            underlap.load(made_up.traces()).timeline(step=9999)


if __name__ == "__main__":
    unittest.main()
