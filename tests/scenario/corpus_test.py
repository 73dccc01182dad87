"""The corpus and its record without a kernel: the tables are sound, judgements and intervals are right, and the committed
page is that of the committed record."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import corpus  # noqa: E402
import facts  # noqa: E402
import judging  # noqa: E402
import fleet_collector  # noqa: E402
import planting  # noqa: E402
import played_fleet  # noqa: E402
import record  # noqa: E402

BIN = pathlib.Path(os.environ.get("TELLTALE_BIN", HERE.parents[1] / "build" / "release" / "bin"))
COMMITTED = HERE.parents[1] / "collector" / "filter" / "record"
FILTERS = {"rule_busy_loop": (1, 1), "rule_blocked": (5, 1), "ewma": (0, 1)}


def planted(name="spin", uid=7, kind="fault", **fields):
    entry = corpus.Entry(kind=kind, name=name, truth="t", what="w", **fields)
    return types.SimpleNamespace(entry=entry, uid=uid, exe=pathlib.Path("/x/bin") / f"planted_{name}", planted_s=100.0,
                                 ended_s=140.0, problem="")


def said(found_s=113.0, subject="planted_spin (pid 9, uid 7)", text="ran 4 s of 5 s", cause="busy loop",
         filter_="rule_busy_loop", vital="cpu"):
    return {"filter": filter_, "foundS": found_s, "subject": subject, "text": text, "cause": cause, "vital": vital}


class Tables(unittest.TestCase):
    def test_there_are_thirty_faults_and_twenty_innocent_loads_that_can_be_run(self):
        self.assertGreaterEqual(sum(not entry.impossible for entry in corpus.load("fault")), 30)
        self.assertGreaterEqual(len(corpus.load("innocent")), 20)

    def test_each_possible_fault_is_planted_once(self):
        faults = [entry for entry in corpus.load("fault") if not entry.impossible]
        names = [entry.name for batch in corpus.batches(faults) for entry in batch]
        self.assertEqual(sorted(names), sorted(entry.name for entry in faults if not entry.early and not entry.fleet))

    def test_what_is_planted_alone_is_alone(self):
        for batch in corpus.batches([entry for entry in corpus.load("fault") if not entry.impossible]):
            if any(entry.alone or entry.vital for entry in batch):
                self.assertEqual(len(batch), 1)

    def test_a_fault_that_a_detector_must_tell_of_its_process_counts_as_one_whose_process_is_named(self):
        faults = {entry.name: entry for entry in corpus.load("fault")}
        self.assertTrue(faults["spin"].names_process)
        self.assertTrue(faults["herd"].names_process)
        self.assertFalse(faults["softirq_flood"].names_process)

    def test_an_entry_without_a_cause_is_refused(self):
        self.assertIn("cause", corpus.problem_of(corpus.Entry("fault", "x_y", truth="t", run="r", program="p", rule=1)))
        self.assertIn("one of them", corpus.problem_of(corpus.Entry("fault", "x_y", truth="t", run="r", cause="c")))


class Programs(unittest.TestCase):
    @unittest.skipUnless((BIN / "scenario_processes").exists(), "scenario_processes is not built")
    def test_children_that_nobody_waits_for_go_on_coming_when_there_are_as_many_as_may_be(self):
        program = subprocess.Popen([BIN / "scenario_processes", "zombies", "10"])
        try:
            before = self.grown_to(program.pid, 10)
            deadline = time.monotonic() + 20
            while before & (now := self.zombies(program.pid)) and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertFalse(before & now, "others did not take their place")
            # How many are seen at a time depends on when who is scheduled, and /proc is read in between.
            self.assertGreater(len(now), 0)
            self.assertLess(len(now), 20, "nobody waits for the oldest")
        finally:
            program.kill()
            program.wait()

    def grown_to(self, parent, count):
        deadline = time.monotonic() + 20
        while len(found := self.zombies(parent)) < count and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertGreaterEqual(len(found), count)
        return found

    @staticmethod
    def zombies(parent):
        found = set()
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                state, father = stat.read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue  # it ended meanwhile
            if (state, father) == ("Z", str(parent)):
                found.add(stat.parent.name)
        return found


class Judgements(unittest.TestCase):
    def judge(self, anomaly, **fields):
        return judging.judge_fault(planted(rule=1, cause="busy", program="p", run="r", **fields), [anomaly], FILTERS, 5)

    def test_right_process_and_cause_in_time_is_a_hit_with_its_whole_epochs(self):
        line = self.judge(said())
        self.assertTrue(line["found"])
        self.assertEqual(line["epochs"], 2)

    def test_what_does_nothing_wrong_at_first_is_a_fault_from_then_on(self):
        self.assertEqual(self.judge(said(), quiet_epochs=1)["epochs"], 1)
        self.assertFalse(self.judge(said(), quiet_epochs=3)["found"], "it was accused before it did anything")

    def test_another_process_another_cause_another_filter_or_another_time_is_none(self):
        for anomaly in (said(subject="planted_spin_two (pid 9, uid 70)"), said(cause="leak"),
                        said(filter_="rule_blocked"), said(found_s=99), said(found_s=156)):
            self.assertFalse(self.judge(anomaly)["found"], anomaly)

    def test_of_two_filters_of_a_rule_the_one_that_found_it_has_the_hit(self):
        filters = {**FILTERS, "other_loops": (1, 1)}
        load = planted(rule=1, cause="busy", program="p", run="r")
        line = judging.judge_fault(load, [said(filter_="other_loops")], filters, 5)
        self.assertEqual((line["found"], line["expected"]), (True, "other_loops"))

    def test_what_another_rule_said_of_it_is_told(self):
        self.assertEqual(self.judge(said(filter_="rule_blocked"))["also"], ["rule_blocked"])

    def test_the_cgroup_of_whoever_ran_it_is_left_out_of_what_was_said(self):
        load = planted(rule=1, cause="busy", program="p", run="r")
        text = "busy; its cgroup is /user.slice/session-3.scope; killed, in cgroup /planted_spin"
        self.assertEqual(judging.said({"text": text}, load), "busy; killed, in cgroup /planted_spin")

    def test_of_an_entry_that_names_nobody_what_began_after_it_is_about_something_else(self):
        load = planted(detector="ewma", vital="signal", cause="busy", program="p", run="r")
        for began_s, found in ((load.planted_s + 1, True), (load.ended_s + 1, False)):
            anomaly = {**said(filter_="ewma"), "vital": "signal", "startS": began_s}
            self.assertEqual(judging.judge_fault(load, [anomaly], FILTERS, 5)["found"], found)

    def test_of_root_it_is_told_by_the_name_of_its_program(self):
        load = planted(uid=0, rule=1, cause="busy", program="p", run="r")
        line = judging.judge_fault(load, [said(subject="/x/bin/planted_spin")], FILTERS, 5)
        self.assertTrue(line["found"])

    def test_a_rule_that_this_build_lacks_is_not_a_miss(self):
        line = judging.judge_fault(planted(rule=9, cause="x", program="p", run="r"), [], FILTERS, 5)
        self.assertIn("no filter", line["not_run"])

    def test_whom_another_waits_for_is_not_accused(self):
        load = planted(kind="innocent")
        other = said(subject="dd (pid 3, uid 0)", text="dd (pid 3, uid 0) waited; it is held by tar (pid 9, uid 7)")
        self.assertEqual(judging.judge_innocent(load, [other], 5, [load])["false"], [])

    def test_where_the_subject_is_a_program_the_sentence_tells_whose(self):
        load = planted(kind="innocent")
        gone = said(subject="/usr/bin/tar", text="/usr/bin/tar is gone: pid 9 (uid 7) exited with code 0")
        self.assertEqual(len(judging.judge_innocent(load, [gone], 5, [load])["false"]), 1)

    def test_a_symptom_of_the_node_that_says_who_has_most_of_it_accuses_nobody(self):
        load = planted(kind="innocent")
        text = "blocking/other high at 7 s/s; the largest part of it is bash (pid 9, uid 7), 14.6 %"
        symptom = {**said(filter_="ewma", subject="", text=text), "rule": 0}
        self.assertEqual(judging.judge_innocent(load, [symptom], 5, [load])["false"], [])
        self.assertEqual(len(judging.judge_innocent(load, [{**symptom, "rule": 4}], 5, [load])["false"]), 1)

    def test_who_has_most_of_a_symptom_must_be_the_planted_program_where_the_fault_itself_does_it(self):
        def line(name, vital, who):
            entry = next(entry for entry in corpus.load("fault") if entry.name == name)
            load = types.SimpleNamespace(**{**vars(planted(name)), "entry": entry})
            text = f"{vital} high at 23.8 /s; usual is 0.3 /s, give or take 0.3 /s (learned from 43 epochs){who}"
            return judging.judge_fault(load, [said(subject="", text=text, cause="", filter_="ewma", vital=entry.vital)],
                                       FILTERS, 5)
        for name, vital in (("herd", "sched_delay/woken"), ("signal_storm", "signal/generated"),
                            ("signal_storm", "signal/delivered")):
            self.assertTrue(line(name, vital, f"; most of it is planted_{name} (pid 9, uid 7), 97 %")["found"], name)
            for who in ("", "; most of it is cc1plus (pid 9, uid 7), 97 %",
                        f"; the largest part of it is planted_{name} (pid 9, uid 7), 40 %"):
                self.assertFalse(line(name, vital, who)["found"], name + who)
        self.assertTrue(line("retransmits", "retransmit/segments", "; most of it is in interrupts, 97 %")["found"])

    def test_an_innocent_load_is_accused_by_its_user(self):
        load = planted(kind="innocent")
        self.assertEqual(len(judging.judge_innocent(load, [said(subject="cc1plus (pid 3, uid 7)")], 5, [load])["false"]), 1)
        self.assertEqual(judging.judge_innocent(load, [said(subject="cc1plus (pid 3, uid 70)")], 5, [load])["false"], [])


    def test_an_hour_in_which_several_loads_ran_is_one_hour_of_the_node(self):
        def load(began_s, ended_s, problem=""):
            return types.SimpleNamespace(planted_s=began_s, ended_s=ended_s, problem=problem)

        loads = [load(0, 3600), load(0, 3600), load(1800, 7200), load(0, 7200, "it did not run")]
        shares = [judging.node_hours(one, loads) for one in loads[:3]]
        self.assertAlmostEqual(sum(shares), 2)
        self.assertAlmostEqual(shares[0], 0.25 + 0.5 / 3)
        self.assertAlmostEqual(judging.node_hours(load(0, 1800), [load(0, 1800)]), 0.5)


class InnocentsRan(unittest.TestCase):
    """A load that did not run found no false alarm, which says nothing."""

    def run_it(self, command):
        with tempfile.TemporaryDirectory() as place:
            pathlib.Path(place).chmod(0o755)
            load = planting.Planted(corpus.Entry(kind="innocent", name="load_x", what="w", run=command), place,
                                    1_999_000 + random.randrange(900) if os.geteuid() == 0 else os.getuid(), place)
            load.start()
            deadline = time.monotonic() + 10
            while not load.problem and time.monotonic() < deadline and not load.rounds.read_text():
                time.sleep(0.05)
            load.stop()
            return load.problem

    @unittest.skipUnless(os.geteuid() == 0, "loads run as users of their own, which only root can give them")
    def test_a_program_that_the_host_lacks_is_told_also_where_the_round_goes_on(self):
        self.assertEqual(self.run_it("no_such_program >/dev/null 2>&1; sleep 0.1"),
                         "it did not run: this host has no no_such_program")

    @unittest.skipUnless(os.geteuid() == 0, "loads run as users of their own, which only root can give them")
    def test_what_only_fails_did_not_run_and_what_works_did(self):
        self.assertIn("rounds ended with 3", self.run_it("sleep 0.1; exit 3"))
        self.assertEqual(self.run_it("sleep 0.1"), "")


class Fleets(unittest.TestCase):
    """One incident of the nodes that have the fault, and of no other, is right; all else is not."""
    FAULTY = ["a", "b"]

    def anomaly(self, node, found_s=110.0, **fields):
        return {"node": node, "startS": 100.0,
                **said(found_s=found_s, subject="planted_spin (pid 9, uid 7)", **fields)}

    def incident(self, nodes, on=None, program="planted_spin", filter_="rule_busy_loop", cause="busy loop", **fields):
        first, *more = on or nodes
        symptom = {"node": first, "moreNodes": more, "filter": filter_, "program": program, "cause": cause, "text": "t"}
        return {"title": "planted_spin spins", "nodes": nodes, "symptoms": [symptom], **fields}

    def judge(self, incidents, anomalies=None):
        played = types.SimpleNamespace(faulty_nodes=self.FAULTY, of=5, epoch_s=5, began_s={"a": 100.0, "b": 95.0})
        return judging.judge_fleet(planted(rule=1, cause="busy", fleet=(2, 5)).entry, "planted_spin", FILTERS, incidents,
                                   anomalies or [self.anomaly("a"), self.anomaly("b")], played)

    def test_one_incident_of_these_nodes_is_found_after_the_epochs_of_each(self):
        line = self.judge([self.incident(["b", "a"])])
        self.assertTrue(line["found"], line)
        self.assertEqual((line["epochs"], line["incidents"], line["others"]), ([2, 3], 1, 0))

    def test_epochs_are_whole_ones_of_a_fleet_as_of_a_node(self):
        self.assertEqual([judging.whole_epochs(seconds, 5) for seconds in (2, 14.9, 15)], [1, 2, 3])
        found = [self.anomaly("a", found_s=114.9), self.anomaly("b", found_s=109.9)]
        self.assertEqual(self.judge([self.incident(["a", "b"])], found)["epochs"], [2, 2])

    def test_an_incident_of_each_node_is_not_right(self):
        line = self.judge([self.incident(["a"]), self.incident(["b"])])
        self.assertEqual((line["found"], line["incidents"]), (False, 2))

    def test_a_second_incident_of_the_program_is_not_right_whoever_found_it(self):
        self.assertFalse(self.judge([self.incident(["a", "b"]), self.incident(["a"], filter_="ewma")])["found"])

    def test_a_node_too_few_or_too_many_is_named(self):
        self.assertEqual(self.judge([self.incident(["a"])], [self.anomaly("a")])["missing"], ["b"])
        line = self.judge([self.incident(["a", "b", "c"], on=["a", "b"])])
        self.assertEqual((line["found"], line["wrongly"]), (False, ["c"]))
        incident = self.incident(["a", "b", "c"], on=["a", "b"])
        incident["symptoms"].append({"node": "a", "moreNodes": ["c"], "filter": "ewma", "vital": "cpu", "text": "t"})
        self.assertEqual(self.judge([incident])["by"], ["ewma/cpu"])

    def test_another_program_another_filter_or_another_cause_is_none(self):
        for fields in ({"program": "other"}, {"filter_": "rule_blocked"}, {"cause": "leak"}):
            self.assertFalse(self.judge([self.incident(["a", "b"], **fields)])["found"], fields)

    def test_a_diagnosis_of_fewer_nodes_than_its_incident_is_not_right(self):
        self.assertFalse(self.judge([self.incident(["a", "b"], on=["a"])])["found"])

    def test_what_was_taken_into_another_incident_is_no_incident(self):
        line = self.judge([self.incident(["a", "b"]), self.incident(["a"], mergedInto="1"),
                           self.incident(["d"], program="x", mergedInto="0")])
        self.assertEqual((line["found"], line["incidents"], line["others"]), (True, 1, 1))

    def test_a_rule_that_this_build_lacks_is_not_a_miss(self):
        played = types.SimpleNamespace(faulty_nodes=self.FAULTY, of=5, epoch_s=5, began_s={})
        entry = planted(rule=9, cause="x", fleet=(2, 5)).entry
        self.assertIn("no filter", judging.judge_fleet(entry, "planted_spin", FILTERS, [], [], played)["not_run"])

    def test_the_seed_gives_each_node_calm_epochs_first(self):
        self.assertEqual(played_fleet.mix(0), 0xe220a8397b1dcdaf)  # the first of splitmix64 from 0
        seed = played_fleet.seed_for(range(1, 6), 22)
        for node in range(1, 6):
            self.assertGreaterEqual(played_fleet.onset(seed, node, 22) - 1, fleet_collector.LEARN_EPOCHS)

    def test_the_page_says_that_one_sensor_was_played_as_many_nodes(self):
        page = "\n".join(record.fleets_text({"fleets": [self.judge([self.incident(["a", "b", "c"])])]}))
        self.assertIn("one real sensor", page)
        self.assertIn("2 of 5 nodes | no | 2 to 3 | 1 | 0 | planted_spin spins Named, and innocent: c, by rule_busy_loop.", page)

    def test_the_page_tells_real_agents_of_one_kernel_from_a_sensor_that_was_played(self):
        scoped = {**self.judge([self.incident(["a", "b"])]), "measured": "2026-01-02", "machine": "2 CPUs", "epoch_s": 5,
                  "agent_cpu": 0.0123}
        page = "\n".join(record.fleets_text({"scoped": [scoped]}))
        self.assertIn("all on one kernel (2 CPUs, 2026-01-02)", page)
        self.assertIn("took, with their start, 1.2 % of a CPU", page)
        self.assertIn("2 of 5 nodes | yes | 2 to 3 | 1 | 0 | planted_spin spins |", page)
        self.assertNotIn("one real sensor", page)


class Replayed(unittest.TestCase):
    def test_a_fault_that_waits_beside_the_loads_is_no_false_alarm(self):
        lines = ["leak: planted_user_leak (pid 9, uid 1000001) grows", "rule_held: xz (pid 8, uid 1000002) could run",
                 "leak: planted_cache_warm_up (pid 7, uid 1000003) grows"]
        diagnoses = {"leak: planted_user_leak": {"count": 9, "first": "t"}, "rule_held: xz": {"count": 2, "first": "could"}}
        replay = judging.replayed({"of_loads": lines, "nodes": 3, "diagnoses_of_loads": diagnoses}, {"user_leak", "spin"})
        self.assertEqual(replay, {"of_loads": lines[1:], "incidents_of_loads": 2, "incidents_of_faults": 1, "nodes": 3,
                                  "diagnoses_of_loads": {"rule_held: xz": {"count": 2, "first": "could"}}})
        page = record.diagnoses_text({**replay, "node_hours": 1000})
        self.assertIn("2 in 1,000 node-hours; at most 6.3 per 1,000", page[0])
        self.assertEqual(page[-2], "| rule_held: xz | 2 | could |")
        fleet = {"nodes": 200, "node_hours": 4800, "incidents_of_loads": 2}
        self.assertEqual(record.a_day_text(fleet), "of this fleet of 200 2.0 a day, at most 6.3")


class Intervals(unittest.TestCase):
    def test_wilson_is_that_of_the_tables(self):
        for hits, of, low, high in ((10, 10, 0.722, 1.0), (0, 10, 0.0, 0.278), (27, 29, 0.780, 0.981)):
            found = record.wilson(hits, of)
            self.assertAlmostEqual(found[0], low, places=3)
            self.assertAlmostEqual(found[1], high, places=3)

    def test_nothing_seen_is_at_most_three(self):
        self.assertAlmostEqual(record.most_events(0), 2.996, places=3)
        self.assertAlmostEqual(record.most_events(3), 7.754, places=3)


class Joined(unittest.TestCase):
    """What one run left out is taken from another, and what the other measured of a later version; else nothing is."""

    @staticmethod
    def of(version, **line):
        fault = {"name": "spin", "expected": "rule_busy_loop", "names_process": True, **line}
        return {"measured": "2026-01-02", "faults": [fault], "innocents": [],
                "filters": {"rule_busy_loop": {"rule": 1, "version": version}}}

    def test_what_was_left_out_is_taken(self):
        both = record.joined(self.of(1, not_run="no time"), self.of(1, found=True, epochs=2))
        self.assertEqual(both["filters"]["rule_busy_loop"]["hits"], 1)
        self.assertEqual(both["planted"], 1)
        self.assertEqual(both["faults"][0]["apart"], "2026-01-02")

    def test_what_the_other_run_did_otherwise_is_told(self):
        this = {**self.of(1, not_run="no time"), "learned_epochs": 30}
        other = {**self.of(1, found=True, epochs=2), "learned_epochs": 15, "budget": "1%"}
        self.assertEqual(record.joined(this, other)["faults"][0]["apart"],
                         "2026-01-02, budget 1%, after 15 epochs of learning")
        self.assertIn("was off, but where a line says otherwise;", record.budget_text(record.joined(this, other)))
        self.assertIn("was off;", record.budget_text(this))

    def test_a_later_version_replaces_an_earlier_one(self):
        both = record.joined(self.of(1, found=False), self.of(2, found=True, epochs=2))
        self.assertEqual((both["filters"]["rule_busy_loop"]["hits"], both["filters"]["rule_busy_loop"]["version"]), (1, 2))

    def test_a_fault_that_another_filter_is_expected_to_tell_is_taken_from_where_it_was(self):
        old, ran = self.of(1, found=False), self.of(1, found=True, epochs=2, expected="leak")
        for one in (old, ran):
            one["filters"]["leak"] = {"rule": 2, "version": 1}
        both = record.joined(old, ran)
        self.assertEqual((both["filters"]["leak"]["hits"], both["filters"]["rule_busy_loop"]["misses"]), (1, 0))
        self.assertEqual(record.joined(old, self.of(1, found=True, epochs=2))["filters"]["rule_busy_loop"]["misses"], 1)

    def test_what_another_filter_found_in_an_earlier_version_replaces_no_miss(self):
        new, old = self.of(2, found=False), self.of(1, found=True, epochs=2)
        old["faults"][0]["expected"] = "leak"
        new["filters"]["leak"], old["filters"]["leak"] = {"rule": 2, "version": 3}, {"rule": 2, "version": 1}
        both = record.joined(new, old)
        self.assertEqual((both["filters"]["leak"]["hits"], both["filters"]["rule_busy_loop"]["misses"]), (0, 1))

    def test_what_was_left_out_counts_for_no_later_version_of_its_filter(self):
        both = record.joined(self.of(2, not_run="no time"), self.of(1, found=True, epochs=2))
        self.assertEqual((both["faults"][0]["version"], both["filters"]["rule_busy_loop"]["hits"]), (1, 0))

    def test_where_a_line_came_from_stays_with_it(self):
        first = record.joined(self.of(1, not_run="no time"), self.of(1, found=True, epochs=2))
        again = record.joined({**self.of(1, not_run="no time"), "measured": "2026-01-09"}, {**first, "measured": "2026-01-08"})
        self.assertEqual(again["faults"][0]["apart"], "2026-01-02")

    def test_what_is_left_of_an_earlier_version_says_so_and_counts_for_no_other(self):
        other = {**self.of(2, not_run="no time"), "innocents": []}
        both = record.joined(self.of(1, found=True, epochs=2), other)
        self.assertEqual(both["faults"][0]["version"], 1)
        self.assertEqual((both["filters"]["rule_busy_loop"]["hits"], both["filters"]["rule_busy_loop"]["version"]), (0, 2))

    def test_innocent_loads_that_a_later_version_did_not_see_count_for_the_earlier_one(self):
        this = {**self.of(1, found=False), "innocents": [{"name": "web", "what": "w", "hours": 0.5, "false": []}]}
        both = record.joined(this, self.of(2, found=True, epochs=2))
        self.assertEqual(both["innocents"][0]["older"], {"rule_busy_loop": 1})
        self.assertEqual(both["filters"]["rule_busy_loop"]["loads"], 0)
        self.assertEqual(record.joined(both, self.of(1, found=False))["innocents"], both["innocents"])

    def test_innocent_loads_count_where_the_later_version_saw_them(self):
        def with_load(version, hours, false):
            of = self.of(version, found=True, epochs=2)
            return {**of, "innocents": [{"name": "web", "what": "w", "hours": hours, "false": false}]}

        alarm = {"filter": "rule_busy_loop", "text": "t"}
        later = record.joined(with_load(1, 0.5, [alarm]), with_load(2, 0.1, []))
        self.assertEqual((later["innocents"][0]["hours"], later["filters"]["rule_busy_loop"]["false_alarms"]), (0.1, 0))
        self.assertEqual(later["innocents"][0]["apart"], "2026-01-02")
        same = record.joined(with_load(1, 0.5, [alarm]), with_load(1, 0.1, []))
        self.assertEqual((same["innocents"][0]["hours"], same["filters"]["rule_busy_loop"]["false_alarms"]), (0.5, 1))

    def test_where_this_run_had_no_loads_the_others_say_how_they_ran_and_who_saw_them(self):
        this, other = self.of(2, found=True, epochs=1), self.of(1, found=True, epochs=2)
        this["epoch_s"], other["epoch_s"] = 60, 5
        alarm = {"filter": "rule_busy_loop", "text": "t"}
        other["innocents"] = [{"name": "web", "what": "w", "hours": 0.5, "node_hours": 0.5, "false": [alarm]}, {"name": "x", "not_run": "w"}]
        both = record.joined(this, other)
        web = both["innocents"][0]
        self.assertEqual((web["apart"], web["older"]), ("2026-01-02, in epochs of 5 s", {"rule_busy_loop": 1}))
        row = both["filters"]["rule_busy_loop"]
        self.assertEqual((row["false_alarms"], row["loads"]), (0, 0), "an alarm of another version")
        self.assertEqual(record.false_text("rule_busy_loop", row, {"innocents": [{}]}), "0 in the 0 of 1 that this version saw")
        # One that was taken before that was noted.
        both["innocents"][0] = {**other["innocents"][0], "apart": "2026-01-02"}
        self.assertEqual(record.joined(both, other)["innocents"][0], web)

    def test_a_version_that_was_not_measured_is_said_to_be_none(self):
        this = self.of(1, found=True, epochs=2)
        self.assertEqual(record.built_text(this), [])
        now = record.with_versions(this, {"rule_busy_loop": 3})
        row = now["filters"]["rule_busy_loop"]
        self.assertEqual((row["version"], row["built"], record.version_text(row)), (1, 3, "1; now 3, not measured"))
        self.assertIn("1 of the filters has changed", record.built_text(now)[1])
        joined = record.joined(now, self.of(2, found=True, epochs=1))["filters"]["rule_busy_loop"]
        self.assertEqual((joined["version"], joined["built"]), (2, 3))

    def test_a_share_of_all_faults_has_those_in_it_that_no_rule_names(self):
        faults = [{"found": True, "names_process": True}, {"found": True, "names_process": False}]
        self.assertIn("right process and cause 1 of 2", record.all_text(faults, faults[:1]))
        self.assertEqual(record.all_text(faults[:1], faults[:1]), "")

    def test_who_cannot_speak_in_a_replay_is_named(self):
        replay = {"recorded_epochs": 24, "node_hours": 7000, "nodes": 1000, "epoch_s": 60}
        mute = dict(record.mute_in_replay(replay))
        self.assertLessEqual({"leak", "descriptor_leak", "vanished", "rule_load", "rule_busy_loop", "new_label", "seasonal",
                              "peer_outlier", "silence"}, set(mute))
        self.assertIn("a node has 480", mute["new_label"])
        half_an_hour = {name for name, _ in record.mute_in_replay({**replay, "recorded_epochs": 30})}
        self.assertNotIn("leak", half_an_hour)
        self.assertLessEqual({"vanished", "rule_load", "rule_busy_loop"}, half_an_hour)
        held = record.mute_in_replay({**replay, "recorded_epochs": 60, "recorded": {"hold_epochs": 5}})
        self.assertFalse({"vanished", "rule_load", "rule_busy_loop"} & {name for name, _ in held})

    def test_a_zero_of_who_could_raise_no_false_alarm_is_no_figure(self):
        row, live = {"false_alarms": 0}, {"innocents": [{}], "live": {"epochs": 40, "hold_epochs": 4}}
        none = "0 (0 to 79 % of loads)"
        for name, text in (("rule_held", none), ("rule_load", none), ("leak", "could not speak"), ("vanished", "could not speak"),
                           ("new_label", "could not speak"), ("ewma", "names no process")):
            self.assertEqual(record.false_text(name, row, live), text)
            accused = {**live, "innocents": [{"false": [{"filter": name}, {"filter": name}]}]}
            self.assertEqual(record.false_text(name, {"false_alarms": 2}, accused), "2 (21 to 100 % of loads)")
        self.assertEqual(record.false_text("rule_held", row, {"innocents": []}), "-")
        self.assertEqual(record.false_text("leak", row, {**live, "live": {"epochs": 2000, "hold_epochs": 60}}), none)

    def test_how_soon_a_fault_was_found_and_whether_a_false_alarm_was_possible_goes_into_the_build(self):
        rows = {"leak": {"rule": 2, "epochs": [31, 40], "false_alarms": 0}, "rule_held": {"rule": 7, "epochs": [], "false_alarms": 0},
                "rule_load": {"rule": 9, "epochs": [], "false_alarms": 0}}
        figures = record.with_figures({"filters": rows, "live": {"epochs": 40, "hold_epochs": 4}})["filters"]
        self.assertEqual([figures["leak"][key] for key in ("median", "most", "mute")], [40, 40, 1])
        self.assertEqual([figures["rule_held"][key] for key in ("median", "most", "mute")], [0, 0, 0])
        self.assertEqual(figures["rule_load"]["without_counters"], 0)
        without = record.with_figures({"filters": rows, "unavailable": ["llc"]})["filters"]
        self.assertEqual([without[name]["without_counters"] for name in rows], [0, 0, 1])

    def test_how_long_it_took_who_asks_is_told_where_it_was_measured(self):
        self.assertEqual(record.seconds_text([{"found": True}]), "")
        text = record.seconds_text([{"seconds": 90}, {"found": False}, {"seconds": 130}, {"seconds": 95}])
        self.assertIn("was told of 3 of them 95 s after they began, the median, 2 within 120 s and 3 within 180 s, and of the last after 130 s", text)

    def test_each_incident_of_innocent_loads_alone_is_told(self):
        lines = record.live_text({"live": {"epochs": 40, "hold_epochs": 4, "incidents": ["a | b"]}}, [{"node_hours": 2, "false": []}])
        self.assertIn("0 in 2 node-hours", lines[0])
        self.assertEqual(lines[3], "- a \\| b")
        self.assertIn("The load average was 8.", "".join(record.live_text({"live": {"epochs": 40, "hold_epochs": 4, "load": 8.2}}, [])))
        self.assertNotIn("All incidents", "".join(record.live_text({"live": {"epochs": 40, "hold_epochs": 4}}, [])))

    def test_goals_are_said_to_be_reached_only_where_the_figures_say_so(self):
        faults = [{"found": True, "epochs": 2}] * 9 + [{"found": True, "epochs": 3}]
        replay = {"incidents_of_loads": 0, "incidents": 3, "node_hours": 3000}
        text = record.goals_text({"replay": replay}, faults, faults)[1]
        self.assertIn("of all faults: reached (9 of 10 (60 to 98 %)", text)
        self.assertIn("reached in the replay (at most 0.999)", text)
        self.assertIn("reached in the replay (0.0 a day, at most 24.0)", text)
        self.assertIn("whoever they name: at most 2.58 in 1,000 node-hours, not reached, and 24.0 a day, not reached.", text)
        self.assertIn("not reached (9 of 11 (52 to 95 %); of those whose process can be named 9 of 10 (60 to 98 %))",
                      record.goals_text({}, faults + [{"found": True}], faults)[1])
        for other in ({**replay, "incidents_of_loads": 1}, {**replay, "node_hours": 2990}):
            self.assertIn("not reached in the replay (at most", record.goals_text({"replay": other}, faults, faults)[1])

    def test_loads_of_another_run_are_not_said_to_be_of_this_one(self):
        apart = {"apart": "2026-01-02, in epochs of 5 s"}
        self.assertIn("1 in that of 2026-01-02, in epochs of 5 s", record.loads_text({}, [apart, {}]))
        self.assertIn("2 innocent loads were run in a run of their own (2026-01-02, in", record.loads_text({}, [apart, apart]))
        self.assertEqual(record.loads_text({}, [{}]), " and 1 innocent loads run")
        held = {"held": [{"measured": "2026-01-03", "epoch_s": 60, "false": 0, "hours": 1.2, "named": 0}]}
        self.assertIn("0 in 1.2 node-hours", record.other_live_text(held))

    def test_a_fleet_that_was_not_played_is_taken_and_counts_for_no_filter(self):
        fleet = {"name": "five", "faulty": 5, "of": 20, "found": True}
        ran = {**self.of(1, found=True, epochs=2), "fleets": [fleet]}
        for old in ({**self.of(1, found=True, epochs=2), "fleets": [{"name": "five", "not_run": "w"}]},
                    {**(early := self.of(1, found=True, epochs=2)),
                     "faults": early["faults"] + [{"name": "five", "expected": "", "not_run": "w"}]}):
            both = record.joined(old, ran)
            self.assertEqual([(line["name"], line["apart"]) for line in both["fleets"]], [("five", "2026-01-02")])
            self.assertEqual([line["name"] for line in both["faults"]], ["spin"])
            self.assertEqual(both["filters"]["rule_busy_loop"]["hits"], 1)

    def test_what_real_agents_on_one_kernel_found_is_kept(self):
        scoped = [{"name": "five", "found": True}]
        ran = self.of(1, found=True, epochs=2)
        self.assertEqual(record.joined(ran, {**ran, "scoped": scoped})["scoped"], scoped)
        self.assertEqual(record.joined({**ran, "scoped": scoped}, ran)["scoped"], scoped)

    def test_what_was_found_within_a_budget_is_told_and_stays_out_of_the_figures(self):
        committed = json.loads((COMMITTED / "record.json").read_text()) | {"held": []}
        held = {**committed, "budget": "1%", "measured": "2026-01-02"}
        held["faults"] = [{**fault, "found": False} for fault in held["faults"]]
        told = record.with_held(committed, held)
        section = record.held_text(told)
        self.assertRegex(section[-1], r"^\| 2026-01-02 \| 1% \| \d+ s, \d+ \| .* \| 0 of \d+ .* \| [a-z_, ]+ \|$")
        beside = [line for line in record.page(told).splitlines() if line not in section]
        alone = [line for line in record.page(committed).splitlines() if line]
        self.assertEqual([line for line in alone if line not in beside], [alone[1]])  # which says where it is told

    def test_lines_of_a_run_within_a_budget_are_said_to_count(self):
        held = {**self.of(2, found=True, epochs=2), "budget": "1%", "learned_epochs": 15}
        both = {**record.joined(self.of(1, found=False), held), "held": [], "load": 1}
        self.assertNotIn("in no other figure", "\n".join(record.held_text({**both, "held": [record.totals(
            {**held, "epoch_s": 5, "load": 1})]})))
        self.assertIn("in no other figure", "\n".join(record.held_text({**self.of(1, found=True), "held": [record.totals(
            {**held, "epoch_s": 5, "load": 1})]})))
        self.assertIn("1 in that of 2026-01-02, budget 1%", record.apart_share(both, both["faults"]))

    def test_each_filter_says_when_it_was_measured(self):
        other = {**self.of(2, found=True, epochs=2), "measured": "2026-03-04"}
        row = record.joined(self.of(1, found=True, epochs=2), other)["filters"]["rule_busy_loop"]
        self.assertEqual((row["measured"], record.runs_text(row)), ("2026-03-04", "2026-03-04"))
        row["runs"]["2026-01-02"] = 3
        self.assertEqual(record.runs_text(row), "2026-01-02: 3; 2026-03-04: 1")

    def test_a_replay_says_when_it_was_made_of_what_and_with_which_rules(self):
        told = record.replay_made({"measured": "2026-03-04", "versions": {"rule_held": 5},
                                   "recorded": {"measured": "2026-03-03", "budget": "1%", "epoch_s": 5}})
        self.assertEqual(told, "Recorded on 2026-03-03, budget 1%, in epochs of 5 s; replayed on 2026-03-04 with rule_held 5. ")
        self.assertIn("was not noted", record.replay_made({}))
        self.assertIn("each anomaly could begin one", record.hints_text({}))
        self.assertEqual(record.hints_text({"hints": "affinity,ewma"}), ", which `affinity` and `ewma` do not begin")
        self.assertEqual(record.hints_text({"hints": ""}), ", when each anomaly could begin one (`incidents.hints` empty)")
        for recorded, stretched in (({"recorded": {"epoch_s": 60}}, False), ({"recorded": {"epoch_s": 5}}, True), ({}, True)):
            self.assertEqual("seconds became minutes" in record.stretched_text({"epoch_s": 60, **recorded}), stretched)

    def test_a_run_of_innocent_loads_alone_is_told_of_and_compared_with_nothing(self):
        innocents = {**self.of(2, found=True, epochs=2), "budget": "1%", "epoch_s": 60, "faults": [], "load": 1,
                     "learned_epochs": 5}
        told = record.with_held({**self.of(1, found=True, epochs=2), "budget": "1%"}, innocents)
        self.assertIn("in them only the innocent loads were run", "\n".join(record.held_text(told)))
        self.assertIn("| none planted | none planted |", record.held_text(told)[-1])
        self.assertNotIn("found less", record.budget_text(told))

    def test_a_run_within_a_budget_takes_the_place_of_the_last_one_like_it(self):
        committed = json.loads((COMMITTED / "record.json").read_text()) | {"held": []}
        held = {**committed, "budget": "1%"}
        for epoch_s, measured in ((20, "first"), (5, "second"), (20, "third")):
            committed = record.with_held(committed, {**held, "epoch_s": epoch_s, "measured": measured})
        self.assertEqual([(run["epoch_s"], run["measured"]) for run in committed["held"]], [(5, "second"), (20, "third")])

    def test_what_this_run_did_not_even_name_is_taken(self):
        this, other = self.of(1, found=True, epochs=2), self.of(1, found=True, epochs=1)
        this["epoch_s"], other["epoch_s"], other["replay"] = 60, 5, {"nodes": 1000}
        other["faults"] = [{**other["faults"][0], "name": "spin_two"}]
        other["innocents"] = [{"name": "web", "what": "w", "hours": 0.5, "node_hours": 0.5, "false": []}]
        both = record.joined(this, other)
        self.assertEqual([line.get("apart") for line in both["faults"]], [None, "2026-01-02, in epochs of 5 s"])
        self.assertEqual(([line["name"] for line in both["innocents"]], both["replay"]), (["web"], {"nodes": 1000}))
        self.assertEqual(record.joined({**this, "replay": {"nodes": 200}}, other)["replay"], {"nodes": 200})

    def test_those_that_no_rule_can_find_so_soon_are_told(self):
        found = [{"name": "spin", "found": True, "epochs": 2}, {"name": "leak", "found": True, "epochs": 31, "needs_epochs": 30}]
        self.assertEqual(record.soonest_text(found[:1]), "")
        self.assertEqual(record.soonest_text(found),
                         ", or 1 of 1 (21 to 100 %) of those whose rules can speak so soon (leak need longer)")

    def test_without_hardware_counters_the_page_says_what_stood_in_for_them(self):
        vitals = {"vitals": [{"id": 1, "name": "cpu"}, {"id": 2, "name": "llc"}]}
        nodes = {"nodes": [{"info": {"vitals": [{"id": 1, "state": "VITAL_STATE_ACTIVE"},
                                                {"id": 2, "state": "VITAL_STATE_UNAVAILABLE"}]}}]}
        noted = record.unavailable(vitals, nodes)
        self.assertEqual(noted, ["llc"])
        committed = json.loads((COMMITTED / "record.json").read_text())
        said = "rules 1 and 9 were measured by what stands in for cache misses"
        self.assertIn(said, record.page({**committed, "unavailable": noted}))
        self.assertNotIn(said, record.page({**committed, "unavailable": []}))

    def test_a_miss_stays_a_miss(self):
        both = record.joined(self.of(1, found=False), self.of(1, found=True, epochs=2))
        self.assertEqual(both["filters"]["rule_busy_loop"]["misses"], 1)


class Committed(unittest.TestCase):
    def test_the_page_is_that_of_the_record(self):
        self.assertEqual((COMMITTED / "RECORD.md").read_text(),
                         record.page(json.loads((COMMITTED / "record.json").read_text())))


if __name__ == "__main__":
    facts.main()
