"""Planted faults on this very host, and what `telltale top` says of them: each must be named first by its vital."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402
from stack import BIN, Stack, rfc3339  # noqa: E402

EPOCH_S = 5


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("the kernel sensor needs root")


class Loads:
    """Processes that run until stopped, each restarted when it ends so that the load lasts."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="telltale-loads-"))
        self.started = []

    def shell(self, command):
        self.started.append(subprocess.Popen(["bash", "-c", command], cwd=self.directory, start_new_session=True,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def stop(self):
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


SOURCE = """
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; m["a"].push_back(1);
             return std::regex_match("x", std::regex("[a-z]+")) ? 0 : static_cast<int>(m.size()); }
"""


# What the loads below run. Whatever else is busy on this host may rightly be named before them.
PLANTED = {"scenario_spin", "scenario_leak", "scenario_stuck", "cc1plus", "as", "g++", "dd", "perf", "bash"}


def program(row):
    return row["name"].split(" ")[0].rsplit("/", 1)[-1]


class PlantedTruth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(EPOCH_S)
        cls.addClassCleanup(cls.stack.down)
        cls.stack.up()
        cls.loads = Loads()
        cls.addClassCleanup(cls.loads.stop)
        (cls.loads.directory / "one.cc").write_text(SOURCE)
        cls.loads.shell(f"exec nice -n -5 {BIN}/scenario_spin")
        cls.loads.shell("while :; do g++ -std=c++20 -O0 -c one.cc -o one.o; done")
        cls.loads.shell("while :; do dd if=/dev/zero of=block.bin bs=1M count=64 oflag=direct conv=notrunc; done")
        cls.loads.shell("while :; do perf bench sched pipe -l 200000; done")
        cls.loads.shell(f"exec {BIN}/scenario_leak 200")
        cls.loads.shell(f"exec {BIN}/scenario_stuck 3600")
        # Two whole epochs of load at least, the one still open at the end, and the time until they are stored.
        cls.begin = time.time() + EPOCH_S
        time.sleep(4 * EPOCH_S + 3)
        cls.end = time.time()

    def top(self, vital, by, *more):
        answer = self.stack.ask("top", "--vital", vital, "--by", by, "--from", rfc3339(self.begin), "--to",
                                rfc3339(self.end), *more)
        self.assertTrue(answer.get("tables"), f"no answer for {vital}: {answer}")
        return answer["tables"][0]

    def first(self, vital, by, *more):
        rows = self.top(vital, by, *more).get("rows", [])
        planted = [row for row in rows if program(row) in PLANTED]
        self.assertTrue(planted, f"{vital} by {by} names none of the loads: {[row['name'] for row in rows]}")
        before = [row["name"] for row in rows[:rows.index(planted[0])]]
        if before:
            print(f"busier than the loads in {vital}: {', '.join(before)}", flush=True)
        return planted[0]

    def functions(self, row):
        return [frame.get("name", "") for frame in row.get("stack", [])]

    def test_the_spinning_program_is_first_in_cpu_with_its_loop(self):
        self.assertIn("scenario_spin", self.first("cpu/user", "process")["name"])
        sites = self.top("cpu", "stack", "--limit", "20")["rows"]
        spinning = [row for row in sites if "scenario_spin" in row.get("exe", "")]
        self.assertTrue(any("spin_forever" in name for row in spinning for name in self.functions(row)),
                        [self.functions(row) for row in spinning])

    def test_the_compiler_is_first_in_user_page_faults(self):
        self.assertIn("cc1plus", self.first("user_page", "exe")["name"])

    def test_dd_is_first_in_disk_writes_down_to_the_submitting_call(self):
        row = self.first("disk_io/write_issued", "exe")
        self.assertTrue(row["name"].endswith("dd"), row["name"])
        stacks = [row for row in self.top("disk_io/write_issued", "stack", "--limit", "10")["rows"]
                  if row.get("exe", "").endswith("dd")]
        names = [name for row in stacks for name in self.functions(row)]
        self.assertTrue(any("submit_bio" in name or "blk_mq" in name for name in names), names)
        self.assertTrue(any("write" in name for name in names), names)

    def test_the_pipe_benchmark_is_first_in_system_calls_with_its_reads_and_writes(self):
        self.assertIn("perf", self.first("syscall", "exe")["name"])
        rows = [row for row in self.top("syscall", "stack", "--limit", "20")["rows"] if "perf" in row.get("exe", "")]
        names = [name for row in rows for name in self.functions(row)]
        self.assertTrue(any("read" in name or "write" in name for name in names), names)

    def test_the_pipe_benchmarks_waits_are_counted_as_pipe_waits(self):
        rows = [row for row in self.top("blocking/pipe", "exe", "--idle")["rows"] if "perf" in row["name"]]
        self.assertTrue(rows)
        self.assertGreater(rows[0]["value"], 1)  # seconds asleep, of two tasks that take turns

    def test_processes_that_share_two_cpus_with_a_spinner_wait_for_them(self):
        table = self.top("sched_delay", "process")
        self.assertGreater(table["total"], 0.1 * (self.end - self.begin))

    def test_the_leaking_program_is_seen_while_it_leaks(self):
        rows = self.top("kernel_page/alloc", "process", "--process", "scenario_leak")["rows"]
        self.assertTrue(rows)
        self.assertGreater(rows[0]["value"], 500)  # pages: 1 MiB is 256, it takes 4 MiB a second

    def test_the_stuck_program_is_seen_while_it_is_stuck(self):
        rows = [row for row in self.top("blocking/uninterruptible", "stack", "--limit", "20")["rows"]
                if "scenario_stuck" in row.get("exe", "")]
        self.assertTrue(rows, "a task in state D for three epochs does not show")
        self.assertTrue(rows[0].get("open"), rows[0])
        self.assertTrue(any("clone" in name or "vfork" in name for name in self.functions(rows[0])),
                        self.functions(rows[0]))

    def test_every_answer_says_what_it_rests_on(self):
        answer = self.stack.ask("top", "--vital", "cpu", "--from", rfc3339(self.begin), "--to", rfc3339(self.end))
        coverage = answer["coverage"]
        self.assertGreater(coverage["watchedS"], 0.8 * 2 * EPOCH_S)
        self.assertGreaterEqual(coverage["epochsReceived"], 2)


if __name__ == "__main__":
    facts.main()
