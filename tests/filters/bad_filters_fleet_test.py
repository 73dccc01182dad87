#!/usr/bin/env python3
"""1,000 simulated nodes report over mutual TLS while filters that crash, hang, flood, eat memory and print without end
are put into filters.d: each is disabled with its reason, and neither nodes nor other filters notice.

Nothing here is bound to a time: each step waits for what the step before brought about, however slow the machine.
"""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "bench" / "cost")]
import facts  # noqa: E402
import fleet_site  # noqa: E402
import processes  # noqa: E402

BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
TRIAL_FILTERS = pathlib.Path(os.environ["TELLTALE_BUILD"]) / "tests" / "trial_filters"
NODES = 1000
EPOCH_S = 10
EPOCHS_BEFORE = 2  # of every node, seen by all built-in filters before the bad ones come
EPOCHS_AFTER = 2   # and seen by them after the last bad one was disabled
PATIENCE_S = 200   # of a test that fails
OPEN_FILES = 2 * NODES  # of the collector and of the simulator each: a connection a node, and what else they have open
SOFT, HARD = resource.getrlimit(resource.RLIMIT_NOFILE)
# The example of deploy/docs/filters.md. It speaks of nodes with crowded CPUs, of which such a fleet has some.
GOOD = "crowded"
BAD = {
    "crash": r"crashed: signal 6 \(Aborted\); its last words: trial: about to fall.*\(node sim-\d{5}\)",
    "hang": r"hung: (\d+\.\d s of processor time for one epoch, limit 1\.0 s|no reply for 30\.0 s)",
    "flood": r"flooded: more than 256 marks in one epoch \(node sim-\d{5}\)",
    "eater": r"out of memory, crashed: signal 11 .* of 256 MiB used\]",
    "babble": r"hung: .* its last words: .*trial: and so on, trial: and so on,",
}
FLEET_WIDE = {"silence", "peer_outlier"}  # look at all nodes together and are shown no single epochs
# The most memory the collector ever took against what it had before they came. A store that fills grows, too.
MOST_GROWTH = 2


@unittest.skipIf(0 <= HARD < OPEN_FILES, f"SKIPPED: {NODES} nodes need {OPEN_FILES} open files, ulimit -Hn allows {HARD}")
class BadFiltersFleetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if 0 <= SOFT < OPEN_FILES:
            resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, HARD))
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="telltale-bad-filters-")))
        cls.filters_d = directory / "filters.d"
        cls.filters_d.mkdir(mode=0o755)
        cls.site = stack.enter_context(fleet_site.FleetSite(BIN, directory, ["--filters-dir", cls.filters_d]))
        # Enough epochs for any machine; it is told when there were enough.
        cls.fleet = stack.enter_context(cls.site.fleet(NODES, [
            "--epoch", f"{EPOCH_S}s", "--epochs", "10000", "--warmup", "0", "--drain", "10m", "--verify", "100"]))
        cls.behind_most = 0
        cls.watch_the_run()
        cls.tell_figures()

    @classmethod
    def watch_the_run(cls):
        cls.await_seen("their first epochs", EPOCHS_BEFORE * NODES, cls.built_in)
        cls.memory_before_kb = processes.memory_kb(cls.site.pid)[0]
        cls.behind_before, cls.behind_most = cls.behind_most, 0
        for name in [GOOD, *BAD]:
            cls.install(name)
        cls.installed_at = time.monotonic()
        cls.disabled_after_s = {}
        cls.disabled, cls.text, cls.metrics, cls.hosts = cls.await_true("all bad filters disabled", cls.all_disabled)
        cls.disabled_unix_s = time.time()
        cls.await_seen("epochs after that", cls.fleet.cut() + EPOCHS_AFTER * NODES, cls.watching)
        cls.fleet.enough()
        cls.report = cls.fleet.result()
        # What is stored is seen sooner or later, and that is all of it.
        cls.at_the_end = cls.await_seen("every epoch", cls.report["verified_received"], cls.watching)
        answer = cls.site.ask("GET", f"/api/v1/anomalies?filter={GOOD}&limit=10000")[1]
        cls.spoken = json.loads(answer)["anomalies"]

    @classmethod
    def tell_figures(cls):
        bad = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in cls.disabled_after_s.items())
        epochs = cls.report["epochs_cut"] / NODES
        print(f"{NODES} nodes, {epochs:.0f} epochs of {EPOCH_S} s each: {cls.report['verified_acked']:.0f} acknowledged, "
              f"{cls.report['verified_received']:.0f} stored, {cls.report['verified_wrong']:.0f} differences; "
              f"ack p50 {cls.report['ack_p50_ms']} ms, p99 {cls.report['ack_p99_ms']} ms")
        print(f"disabled, after they were put there: {bad}")
        print(f"built-in filters behind, at most: {cls.behind_before:.1f} epochs before, {cls.behind_most:.1f} after")
        print(f"memory of the collector: {cls.memory_before_kb / 1024:.0f} MB before, at most "
              f"{cls.report['collector_rss_most_mb']} MB; {GOOD} spoke of {len(cls.spoken)} rows of epochs")
        print(f"CPU: collector {cls.report['collector_cores']}, simulator {cls.report['simulator_cores']}, "
              f"machine {cls.report['machine_cores']} cores", flush=True)

    @classmethod
    def install(cls, name):
        """As an administrator should: whole, then under its name."""
        trial = TRIAL_FILTERS / (f"{name}.so" if name == GOOD else f"trial-{name}.so")
        new = cls.filters_d / f"{name}.so.new"
        shutil.copyfile(trial, new)
        new.chmod(0o644)
        new.rename(cls.filters_d / f"{name}.so")

    @classmethod
    def listed(cls):
        answer = json.loads(cls.site.telltale("filter", "list", "-o", "json"))
        filters = {one["name"]: one for one in answer["filters"]}
        lags = [filters[name]["status"]["lagS"] / EPOCH_S for name in cls.built_in(filters)]
        cls.behind_most = max([cls.behind_most, *lags])
        return filters

    @staticmethod
    def built_in(filters):
        return [name for name, one in filters.items() if "user" not in one and name not in FLEET_WIDE]

    @classmethod
    def watching(cls, filters):
        return [GOOD, *cls.built_in(filters)]

    @classmethod
    def await_true(cls, what, ask):
        end = time.monotonic() + PATIENCE_S
        while not (found := ask()):
            if time.monotonic() > end or not cls.site.running():
                raise AssertionError(f"{what}: not so after {PATIENCE_S} s; fleet: {cls.fleet.progress()}; "
                                     f"collector: {cls.site.log_end()}\n{cls.site.telltale('filter', 'list')}")
            time.sleep(1)
        return found

    @classmethod
    def await_seen(cls, what, epochs, of):
        """The list once each filter in of(list) was shown so many epochs."""
        def ask():
            filters = cls.listed()
            return filters if all(int(filters[name]["epochs"]) >= epochs for name in of(filters)) else None
        return cls.await_true(f"{what}: {epochs:.0f} epochs seen", ask)

    @classmethod
    def all_disabled(cls):
        """What list, metrics and processes say at one time at which all bad filters are disabled."""
        filters = cls.listed()
        bad = [name for name in BAD if name in filters and filters[name]["status"]["state"] == "disabled"]
        for name in bad:
            cls.disabled_after_s.setdefault(name, time.monotonic() - cls.installed_at)
        if len(bad) < len(BAD):
            return None
        text = cls.site.telltale("filter", "list")
        metrics = cls.site.ask("GET", "/metrics")[1].decode()
        hosts = [pid for pid in processes.tree(cls.site.pid) if processes.command_name(pid) == "telltale-filter"]
        # They are tried again after a minute: what was asked in between is asked once more.
        tried = {name: one["user"]["failures"] for name, one in cls.listed().items() if name in BAD}
        same = all(tried[name] == filters[name]["user"]["failures"] for name in BAD)
        return (filters, text, metrics, hosts) if same else None

    def test_each_bad_one_is_disabled_and_the_list_says_why(self):
        for name, reason in BAD.items():
            said = self.disabled[name]["status"]["reason"]
            self.assertRegex(said, reason, name)
            self.assertLess(len(said), 800, name)
            self.assertRegex(self.text, rf"(?m)^  {name}: {reason}.*; tried again at ")

    def test_the_metrics_say_so_too(self):
        for name in BAD:
            self.assertIn(f'\ntelltale_filter_disabled{{filter="{name}"}} 1\n', self.metrics)
            self.assertRegex(self.metrics, rf'\ntelltale_filter_failures_total{{filter="{name}"}} [1-9]')
        self.assertIn(f'\ntelltale_filter_disabled{{filter="{GOOD}"}} 0\n', self.metrics)

    def test_of_the_disabled_ones_no_process_is_left(self):
        self.assertEqual(len(self.hosts), 1, "the good one's")

    def test_the_good_one_goes_on_speaking(self):
        good = self.at_the_end[GOOD]
        self.assertEqual((good["status"]["state"], good["status"]["reason"]), ("running", ""))
        self.assertEqual(good["user"]["failures"], 0)
        self.assertEqual(int(good["epochs"]), self.report["verified_received"])
        self.assertGreater(max((found["end_s"] for found in self.spoken), default=0), self.disabled_unix_s)

    def test_the_built_in_ones_see_every_epoch(self):
        self.assertLessEqual(self.behind_most, 1, "epochs behind, while the bad ones were tried")
        for name in self.built_in(self.at_the_end):
            one = self.at_the_end[name]
            self.assertEqual((one["status"]["state"], int(one["epochs"]), int(one["epochsLate"])),
                             ("running", self.report["verified_received"], 0), name)

    def test_no_epoch_is_lost_refused_or_counted_twice(self):
        report = self.report
        self.assertEqual((report["connected_most"], report["drained"]), (NODES, 1), report)
        self.assertEqual((report["verified_nodes"], report["verified_sums"], report["wrong"]), (NODES, 100, []))
        # At least those that were waited for, each from its cut to the collector's answer.
        self.assertGreaterEqual(report["epochs_cut"], (EPOCHS_BEFORE + EPOCHS_AFTER) * NODES)
        self.assertEqual(report["epochs_cut"] % NODES, 0)
        for figure in ("epochs_settled", "verified_acked", "verified_received"):
            self.assertEqual(report[figure], report["epochs_cut"], figure)
        for figure in ("good_refused", "good_too_late", "good_kept_apart"):
            self.assertEqual(report[figure], 0, figure)

    def test_the_collector_is_the_same_and_has_not_swollen(self):
        self.assertTrue(self.site.running(), self.site.log_end())
        self.assertLess(self.report["collector_rss_most_mb"], MOST_GROWTH * self.memory_before_kb / 1024)
        # Nor has what was printed without end gone into its log.
        self.assertLess((self.site.directory / "collector.log").stat().st_size, 1 << 20)


if __name__ == "__main__":
    facts.main()
