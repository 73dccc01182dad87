#!/usr/bin/env python3
"""What facts.py says of cases that do not simply pass: tests/run counts these lines."""

import pathlib
import subprocess
import sys
import unittest

import facts

CASES = """
import unittest, facts

class Mixed(unittest.TestCase):
    def test_good(self):
        pass

    def test_bad_part(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_not_here(self):
        self.skipTest("SKIPPED: no such machine")

class Skipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("SKIPPED: no root")

    def test_never_runs(self):
        pass

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no port is free")

    def test_never_runs(self):
        pass

facts.main()
"""


class FactsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.done = subprocess.run([sys.executable, "-c", CASES], capture_output=True, text=True,
                                  cwd=pathlib.Path(__file__).resolve().parent)

    def test_each_case_has_its_line(self):
        for line in (r"\[       OK \] Mixed\.test_good \(\d+ ms\)", r"\[  FAILED  \] Mixed\.test_bad_part \(\d+ ms\)",
                     r"Mixed\.test_not_here: Skipped\nSKIPPED: no such machine\n\[  SKIPPED \] Mixed\.test_not_here \(\d+ ms\)"):
            self.assertRegex(self.done.stdout, line)

    def test_a_class_that_cannot_begin_says_why(self):
        self.assertIn("Skipped.setUpClass: Skipped\nSKIPPED: no root\n[  SKIPPED ] Skipped.setUpClass (", self.done.stdout)
        self.assertRegex(self.done.stdout, r"OSError: no port is free\n\n\[  FAILED  \] Broken\.setUpClass \(")

    def test_what_failed_fails_the_whole(self):
        self.assertEqual(self.done.returncode, 1, self.done.stderr)


if __name__ == "__main__":
    facts.main()
