"""Runs unittest cases and reports each as one line in GoogleTest's form, so that all tests read alike.

Used by the tests that drive real programs: `if __name__ == "__main__": facts.main()`.
"""

import sys
import time
import unittest


class _Result(unittest.TestResult):
    def _name(self, test):
        return f"{type(test).__name__}.{test._testMethodName}"

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        print(f"[ RUN      ] {self._name(test)}", flush=True)

    def _line(self, verdict, test):
        took_ms = int((time.monotonic() - self._started) * 1000)
        print(f"[{verdict}] {self._name(test)} ({took_ms} ms)", flush=True)

    def addSuccess(self, test):
        self._line("       OK ", test)

    def addSkip(self, test, reason):
        if not hasattr(self, "_started"):
            self._started = time.monotonic()
        print(f"{self._name(test)}: Skipped\n{reason}")
        self._line("  SKIPPED ", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(self.failures[-1][1])
        self._line("  FAILED  ", test)

    def addError(self, test, err):
        super().addError(test, err)
        print(self.errors[-1][1])
        if not hasattr(test, "_testMethodName"):
            print(f"[  FAILED  ] {test} (0 ms)", flush=True)
            return
        self._line("  FAILED  ", test)


class _Runner:
    @staticmethod
    def run(suite):
        result = _Result()
        suite.run(result)
        return result


def main():
    program = unittest.TestProgram(module="__main__", exit=False, argv=sys.argv[:1], testRunner=_Runner())
    sys.exit(0 if program.result.wasSuccessful() else 1)
