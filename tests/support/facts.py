"""Runs unittest cases and reports each as one line in GoogleTest's form, so that all tests read alike.

Used by the tests that drive real programs: `if __name__ == "__main__": facts.main()`.
"""

import sys
import time
import unittest


class _Result(unittest.TestResult):
    _started = 0.0

    def _name(self, test):
        """Class.method; of what is said of a whole class or module: setUpClass (module.Class) -> Class.setUpClass."""
        if hasattr(test, "_testMethodName"):
            return f"{type(test).__name__}.{test._testMethodName}"
        method, _, place = str(test).partition(" ")
        return f"{place.strip('()').rpartition('.')[2]}.{method}"

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        print(f"[ RUN      ] {self._name(test)}", flush=True)

    def _line(self, verdict, test):
        took_ms = int((time.monotonic() - self._started) * 1000) if self._started else 0
        print(f"[{verdict}] {self._name(test)} ({took_ms} ms)", flush=True)

    def addSuccess(self, test):
        self._line("       OK ", test)

    def addSkip(self, test, reason):
        print(f"{self._name(test)}: Skipped\n{reason}")
        self._line("  SKIPPED ", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(self.failures[-1][1])
        self._line("  FAILED  ", test)

    def addError(self, test, err):
        super().addError(test, err)
        print(self.errors[-1][1])
        self._line("  FAILED  ", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print((self.failures if issubclass(err[0], test.failureException) else self.errors)[-1][1])
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
