#!/usr/bin/env python3
"""What deploy/fleet decides and what its scripts do on a host, with stand-ins for hosts, clock and collector."""

import argparse
import contextlib
import importlib.machinery
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
INVENTORY = "web-1 group=shop\nweb-2 group=shop\ndb-1 group=store\nold-1\n"


def fleet_module():
    return importlib.machinery.SourceFileLoader("fleet", str(ROOT / "deploy/fleet")).load_module()


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="telltale-fleet-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.programs = self.folder / "bin"
        self.programs.mkdir()

    def stand_in(self, name, *lines):
        path = self.programs / name
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)
        return path

    def script(self, name, inside, places):
        """Runs a script of fleet_on_host in a directory, with other places for what it looks at."""
        text = (ROOT / "deploy/fleet_on_host" / f"{name}.sh").read_text()
        for place, other in places.items():
            text = text.replace(place, str(other))
        return subprocess.run(["sh", "-c", text], cwd=inside, env={"PATH": f"{self.programs}:{os.environ['PATH']}"},
                              capture_output=True, text=True)


class WayBackTest(Folder):
    """The script that takes a host back, with stand-ins for what it calls."""

    def take_back(self, turn, *kept):
        cache = self.folder / "cache"
        cache.mkdir()
        for name in ("apt-get", "systemctl", "dpkg-query"):
            self.stand_in(name, f'echo {name} "$@" >>{self.folder}/called')
        for name in kept:
            (cache / name).write_text("kept")
        (cache / "turn").write_text("this run")
        (self.folder / "turn").write_text(turn)
        done = self.script("back", self.folder, {"/var/cache/telltale": cache, "/etc/telltale": self.folder})
        called = self.folder / "called"
        return done, called.read_text() if called.exists() else ""

    def test_a_host_that_this_run_has_not_changed_is_left_alone(self):
        done, called = self.take_back("another run", "agent.deb")
        self.assertEqual((done.returncode, called), (0, ""), done.stderr)

    def test_an_agent_that_somebody_else_brought_is_not_removed(self):
        done, called = self.take_back("this run", "agent.deb", "foreign")
        self.assertEqual((done.returncode, called), (9, ""))
        self.assertIn("not brought by deploy/fleet", done.stderr)

    def test_what_was_there_before_comes_back(self):
        done, called = self.take_back("this run", "agent.deb", "previous.deb", "previous.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(called, "apt-get install .*previous.deb")
        self.assertIn("systemctl restart telltale-agent", called)

    def test_a_host_without_an_agent_before_has_none_afterwards(self):
        done, called = self.take_back("this run", "agent.deb")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("apt-get remove", called)


class InstallTest(Folder):
    """The script that brings the package, with stand-ins for what it calls; enrolling fails the first time."""

    def test_a_second_try_keeps_what_was_there_before_the_first(self):
        cache, here = self.folder / "cache", self.folder / "brought"
        cache.mkdir(), here.mkdir()
        (cache / "agent.deb").write_text("old package")
        (self.folder / "agent.yaml").write_text("old configuration")
        for name in ("turn", "name", "agent.deb", "agent.yaml", "token", "hash", "enroll"):
            (here / name).write_text(f"new {name}")
        for name in ("apt-get", "systemctl", "dpkg-query"):
            self.stand_in(name, "exit 0")
        self.stand_in("telltale-agent", f'[ "$1" != enroll ] || [ -e {self.folder}/tried ] || {{ touch {self.folder}/tried; exit 1; }}')
        places = {"/var/cache/telltale": cache, "/etc/telltale": self.folder}
        codes = [self.script("install", here, places).returncode for _ in range(2)]
        self.assertEqual(codes, [9, 0])
        self.assertEqual((cache / "agent.deb").read_text(), "new agent.deb")
        self.assertEqual((cache / "previous.deb").read_text(), "old package")
        self.assertEqual((cache / "previous.yaml").read_text(), "old configuration")


class LookTest(Folder):
    """The script that looks at a host before anything comes to it. Disks: of each directory, which and how many KB are free."""

    ROOMY = ("root", 10 << 20)
    DISKS = {"/var/cache": ROOMY, "/usr": ROOMY, "/var/lib": ROOMY, "*": ("tmp", 1 << 20)}

    def look(self, package="amd64 1200 9000", own="amd64", disks=(), wanted="another"):
        here = self.folder / "tmp.1"
        here.mkdir(exist_ok=True)
        for name, text in (("package", f"{package}\n"), ("wanted", wanted), ("name", "web-1")):
            (here / name).write_text(text)
        (self.folder / "release").write_text("ID=debian\nVERSION_ID=12\n")
        for name in ("btf", "agent.deb", "agent.yaml"):
            (self.folder / name).touch()
        self.stand_in("dpkg", f"echo {own}")
        self.stand_in("systemctl", "echo active")
        self.stand_in("telltale-agent", "echo configuration /etc/telltale/agent.yaml: good, node web-1")
        table = {**self.DISKS, **dict(disks)}
        self.stand_in("stat", 'case "$3" in', *(f"{dir}) echo {disk} ;;" for dir, (disk, _) in table.items()), "esac")
        self.stand_in("df", "echo Filesystem", 'case "$2" in',
                      *(f"{dir}) echo disk 0 0 {free} ;;" for dir, (_, free) in table.items()), "esac")
        return self.script("look", here, {"/etc/os-release": self.folder / "release", "/etc/telltale": self.folder,
                                          "/var/cache/telltale": self.folder, "/sys/kernel/btf/vmlinux": self.folder / "btf"})

    def refused(self, **host):
        done = self.look(**host)
        self.assertEqual(done.returncode, 9, done.stdout + done.stderr)
        return done.stderr.splitlines()[-1]

    def test_a_host_with_room_for_it_says_its_state(self):
        done = self.look()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith(" active named\n"), done.stdout)

    def test_a_machine_of_another_architecture_is_told_with_what_the_package_is_for(self):
        self.assertEqual(self.refused(own="arm64"), "is an arm64 machine; the package is for amd64")
        self.assertEqual(self.look(own="arm64", package="all 10 20").returncode, 0)

    def test_the_directory_the_package_is_unpacked_in_has_to_hold_it(self):
        self.assertEqual(self.refused(disks={"*": ("tmp", 2000)}), f"has 1 MB free below {self.folder}, 3 are needed")

    def test_what_comes_onto_one_disk_adds_up(self):
        free = 605 << 10  # enough for each of them alone
        small = {dir: ("root", free) for dir in self.DISKS}
        self.assertEqual(self.refused(disks=small),
                         f"has 605 MB free below {self.folder} and /var/cache and /usr and /var/lib, 614 are needed")
        self.assertEqual(self.look(disks={dir: (f"disk {dir}", free) for dir in self.DISKS}).returncode, 0)

    def test_each_disk_that_is_too_small_is_told(self):
        self.assertEqual(self.refused(disks={"/usr": ("usr", 1024), "/var/lib": ("var", 65536)}),
                         "has 1 MB free below /usr, 9 are needed; has 64 MB free below /var/lib, 600 are needed")

    def test_a_host_that_is_as_it_should_be_needs_no_room(self):
        state = self.look().stdout.strip()
        full = {dir: ("root", 0) for dir in self.DISKS}
        self.assertEqual(self.refused(disks=full).count("are needed"), 1)
        done = self.look(disks=full, wanted=state)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, state), done.stderr)


class Clock:
    """A time that passes only while somebody sleeps."""

    now = 1e9
    strftime, gmtime = staticmethod(time.strftime), staticmethod(time.gmtime)

    def monotonic(self):
        return self.now

    time = monotonic

    def sleep(self, seconds):
        self.now += seconds


class Rig(Folder):
    """A fleet whose hosts do as they are told: `calls` has (host, script) of what ran there."""

    def make(self, **options):
        self.module = fleet_module()
        self.clock = self.module.time = Clock()
        self.module.read_package = lambda path: self.module.Package(b"package", "amd64", 0)
        inventory = self.folder / "fleet.txt"
        inventory.write_text(INVENTORY)
        self.fleet = self.module.Fleet(argparse.Namespace(**{
            "inventory": inventory, "agent": "agent.deb", "collector": "c:7410", "pki": None, "config": None, "only": "web-.*", "group": [],
            "wave": "10%", "canaries": 1, "retries": 1, "parallel": 1, "timeout": 300, "look_timeout": 60, "health": 180, "budget": "",
            "revoke": False, "telltale": self.programs / "telltale", **options}))
        self.calls = []
        self.fleet.remote = self.remote
        self.fleet.token_of = lambda host: []
        return self.fleet

    def remote(self, host, script, files=(), timeout=None):
        self.calls.append((host.name, script))
        return {"look": "none none inactive nameless", "status": "1.0 active"}.get(script, "")

    def ran(self, *scripts):
        return [call for call in self.calls if call[1] in scripts]

    def run_command(self, command):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = command()
        return code, said.getvalue()


class HealthTest(Rig):
    """When a wave is healthy. `cost` gives what the agents took of their hosts, by seconds since the beginning."""

    def rollout(self, cost, own=0.01, until=1e9, **options):
        fleet = self.make(**options)
        start = self.clock.now

        def reporting():
            ended = min(self.clock.now, start + until)
            return {name: self.module.Report(ended, cost(ended - start), 1.2 * own) for name in ("web-1", "web-2")}
        fleet.reporting = reporting
        return self.run_command(fleet.rollout)

    def test_a_wave_that_takes_more_than_its_budget_is_taken_back_when_time_is_up(self):
        code, said = self.rollout(lambda seconds: 0.031)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"(?m)^web-1 +takes 3\.1 % of the host's CPU time, more than 1\.2 %$")
        self.assertEqual(self.ran("install", "back"), [("web-1", "install"), ("web-1", "back")])
        self.assertEqual(self.clock.now - Clock.now, 180)

    def test_a_start_may_cost_more_than_what_follows(self):
        code, said = self.rollout(lambda seconds: 0.031 if seconds < 70 else 0.004)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"(?m)^web-1 +reports, 0\.4 % of the host$")
        self.assertEqual(self.ran("back"), [])

    def test_the_limit_is_the_operators_or_12_tenths_of_the_nodes_own(self):
        for cost, own, asked, code in (
                (0.012, 0.01, "", 0), (0.0121, 0.01, "", 1), (0.0121, 0.02, "", 0), (0.031, 0.01, "5%", 0),
                (0.004, 0.01, "0.3%", 1), (0.9, 0.01, "off", 0), (0.9, 0, "", 0), (0.9, 0, "2%", 1)):
            judged = self.rollout(lambda seconds, cost=cost: cost, own, budget=asked)
            self.assertEqual(judged[0], code, f"{cost} of {own}, --budget {asked}: {judged[1]}")

    def test_a_node_that_does_not_say_what_it_takes_is_healthy_and_told(self):
        code, said = self.rollout(lambda seconds: 0)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"(?m)^web-2 +reports, cost unknown$")

    def test_what_the_agent_from_before_said_does_not_count(self):
        code, said = self.rollout(lambda seconds: 0.004, until=0)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"(?m)^web-1 +does not report within 180 s$")

    def test_a_costly_node_proves_nothing_for_the_others(self):
        fleet = self.make()
        fleet.remote = lambda host, script, files=(), timeout=None: self.remote(host, script) if host.name == "web-2" else \
            dict(files).get("wanted", b"").decode()
        fleet.reporting = lambda: {"web-1": self.module.Report(self.clock.now, 0.031, 0.012),
                                   "web-2": self.module.Report(self.clock.now + 1, 0.004, 0.012)}
        code, said = self.run_command(fleet.rollout)
        self.assertEqual(code, 0, said)
        self.assertIn("wave 1: 1 host, to see whether it does", said)

    def test_status_tells_what_each_takes(self):
        fleet = self.make(only="(web|old)-.*")
        self.stand_in("telltale", "cat <<'END'", '{"nodes": [', '{"name": "web-1", "state": "REPORTING", "lastS": 5.5, '
                      '"agentCost": 0.004, "agentLimit": 0.012},', '{"name": "web-2", "state": "REPORTING", "lastS": 5.5},',
                      '{"name": "old-1", "state": "SILENT", "lastS": 1}]}', "END")
        code, said = self.run_command(fleet.status)
        self.assertEqual(code, 3, said)
        for line in ("web-1 +1.0 active, reports, 0.4 % of the host", "web-2 +1.0 active, reports, cost unknown",
                     "old-1 +1.0 active, does not report"):
            self.assertRegex(said, f"(?m)^{line}$")


class RetryTest(Rig):
    """Hosts with trouble, once more at the end. `trouble` gives what is wrong with a host, by script and how often it ran."""

    def rollout(self, trouble, **options):
        fleet = self.make(only="(web|db)-.*", **options)

        def remote(host, script, files=(), timeout=None):
            said = self.remote(host, script)
            wrong = trouble(host.name, script, self.calls.count((host.name, script)))
            if wrong:
                raise wrong
            return said
        fleet.remote = remote
        fleet.reporting = lambda: {name: self.module.Report(self.clock.now, 0.004, 0.012) for name in ("web-1", "web-2", "db-1")}
        return self.run_command(fleet.rollout)

    def test_a_host_that_is_back_meanwhile_gets_it_in_the_same_run(self):
        code, said = self.rollout(lambda host, script, times: self.module.Unreached("not reached: no route")
                                  if (host, script, times) == ("web-1", "look", 1) else None)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"(?m)^once more, 1 host that had trouble$")
        self.assertEqual(self.ran("install"), [("web-2", "install"), ("db-1", "install"), ("web-1", "install")])
        self.assertIn("3 of 3 hosts are as they should be", said)

    def test_what_has_not_changed_is_said_once(self):
        code, said = self.rollout(lambda host, script, times: self.module.Unreached("not reached: no route")
                                  if host == "web-1" else None)
        self.assertEqual((code, said.count("not reached: no route")), (3, 1), said)
        self.assertEqual(self.calls.count(("web-1", "look")), 2)
        code, said = self.rollout(lambda host, script, times: self.module.Unreached("not reached: no route")
                                  if host == "web-1" else None, retries=0)
        self.assertEqual((code, self.calls.count(("web-1", "look"))), (3, 1), said)

    def test_a_package_that_fails_on_one_host_again_halts_nobody(self):
        code, said = self.rollout(lambda host, script, times: self.module.Trouble("apt-get: E: broken")
                                  if (host, script) == ("db-1", "install") else None, wave="100%")
        self.assertEqual((code, self.ran("back")), (3, []), said)
        self.assertEqual(self.calls.count(("db-1", "install")), 2)
        self.assertIn("2 of 3 hosts are as they should be", said)


class WayThereTest(Rig):
    """How scripts come to a host: ssh is a stand-in that runs them here."""

    def run_there(self, script, files=()):
        fleet = self.make(ssh_option=[])
        self.stand_in("ssh", 'for last; do :; done', 'exec sh -c "$last"')
        with mock.patch.dict(os.environ, PATH=f"{self.programs}:{os.environ['PATH']}", TMPDIR=str(self.folder)):
            return self.module.Fleet.remote(fleet, fleet.hosts[0], script, files)

    def test_what_was_brought_is_gone_afterwards(self):
        self.stand_in("dpkg-query", "echo installed 1.0; touch ran")
        self.stand_in("systemctl", "cat name")
        self.assertEqual(self.run_there("status", [("name", b"web-1")]), "1.0 web-1")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["bin", "fleet.txt"])

    def test_an_agent_that_was_removed_is_none(self):
        self.stand_in("dpkg-query", "echo config-files 1.0")
        self.stand_in("systemctl", "echo inactive; exit 3")
        self.assertEqual(self.run_there("status"), "no agent inactive")

    def test_a_host_that_cannot_be_written_to_says_where_and_what_is_free(self):
        self.stand_in("tar", "cat >/dev/null", "echo tar: Exiting with failure status due to previous errors >&2", "exit 2")
        with self.assertRaisesRegex(Exception, rf"^cannot write below {self.folder}, which has \d+ MB free$"):
            self.run_there("status")


class ChoiceTest(Rig):
    def chosen(self, **options):
        return [host.name for host in self.make(**options).hosts]

    def test_groups_are_chosen_by_label(self):
        self.assertEqual(self.chosen(only=".*", group=["shop"]), ["web-1", "web-2"])
        self.assertEqual(self.chosen(only=".*", group=["store", "default"]), ["db-1", "old-1"])
        self.assertEqual(self.chosen(only=".*-1", group=["shop", "store"]), ["web-1", "db-1"])

    def test_an_unknown_group_lists_those_there_are(self):
        with self.assertRaisesRegex(SystemExit, "is of group stroe; there are: default, shop, store$"):
            self.make(group=["shop", "stroe"])
        with self.assertRaisesRegex(SystemExit, "no host of .* of these groups matches web-.*"):
            self.make(group=["store"])

    def test_a_budget_is_a_share_or_off(self):
        for budget in ("2", "0%", "101%", "-1%", "on", "1e9%"):
            done = subprocess.run([sys.executable, ROOT / "deploy/fleet", "status", "fleet.txt", f"--budget={budget}"],
                                  capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--budget {budget}: must be more than 0% and at most 100%, or off", done.stderr)

    def test_only_an_agents_package_is_taken(self):
        control = self.folder / "tree/DEBIAN/control"
        control.parent.mkdir(parents=True)
        package = self.folder / "other.deb"

        def make(name):
            control.write_text(f"Package: {name}\nVersion: 1\nArchitecture: arm64\nMaintainer: nobody\nInstalled-Size: 70\n"
                               "Description: none\n")
            subprocess.run(["dpkg-deb", "-Znone", "-b", control.parents[1], package], check=True, capture_output=True)
        make("telltale-agent")
        read = fleet_module().read_package(package)
        self.assertEqual((read.architecture, read.installed_kb, read.content), ("arm64", 70, package.read_bytes()))
        make("telltale-collector")
        with self.assertRaisesRegex(SystemExit, "is the package of telltale-collector, not of telltale-agent"):
            fleet_module().read_package(package)
        package.write_text(INVENTORY)
        with self.assertRaisesRegex(SystemExit, "other.deb.*is not a Debian format archive"):
            fleet_module().read_package(package)


class SettingsTest(Rig):
    """What --config brings to agent.yaml, and who keeps it."""

    SETTINGS = "# for a month\nsensor:\n  budget: 2%\nspool: {max_bytes: 1GiB}\n"

    def given(self, text):
        path = self.folder / "settings.yaml"
        path.write_text(text)
        return path

    def config(self, **options):
        fleet = self.make(**options)
        return fleet.config_of(fleet.hosts[0]).decode()

    def test_settings_stand_behind_what_is_written_for_each_host(self):
        without, config = self.config(), self.config(config=self.given(self.SETTINGS))
        self.assertTrue(config.endswith(f"\nrun_as: telltale-agent\n{self.SETTINGS}"), config)
        self.assertIn('collector: c:7410\nlabels:\n  group: "shop"\n', config)
        keys = re.findall(r"(?m)^[a-z_.]+(?=:)", config)
        self.assertEqual(len(keys), len(set(keys)), "no key twice")
        self.assertIn("\nspool:\n  dir: /var/lib/telltale-agent/spool\n", without)

    def test_what_is_written_for_each_host_is_no_setting(self):
        for text, said in (("sensor: {}\ncollector: c:1\n", "settings.yaml:2: collector is written for each host"),
                           ("labels:\n  role: db\n", "settings.yaml:1: labels is written for each host"),
                           ("tls.ca: /ca\n", "tls is written for each host"), ("- sensor\n", "'- sensor' is not KEY: VALUE")):
            with self.assertRaisesRegex(SystemExit, said):
                self.make(config=self.given(text))

    def test_a_host_keeps_its_settings_over_upgrades_until_others_are_given(self):
        fleet = self.make(config=self.given(self.SETTINGS))
        fleet.note(fleet.hosts[0], "done")
        fleet.note(fleet.hosts[1], "taken back")
        fleet = self.make()
        self.assertEqual([fleet.settings_of(host) for host in fleet.hosts], [self.SETTINGS, ""])
        fleet.note(fleet.hosts[0], "does not report")
        self.assertIn("budget: 2%", self.config())
        self.assertNotIn("budget", self.config(config=self.given("")))


class RemoveTest(Rig):
    def answers(self, **codes):
        """telltale, which writes down what it is asked, and fails with these exit codes."""
        fails = [f"{words.replace('_', '-')}) echo telltale: no >&2; exit {code} ;;" for words, code in codes.items()]
        self.stand_in("telltale", f'echo "$@" >>{self.folder}/asked', 'case "$2-$3" in', *fails, "esac")

    def asked(self):
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def test_it_says_that_certificates_are_still_good(self):
        self.answers()
        code, said = self.run_command(self.make().remove)
        self.assertEqual((code, self.asked()), (0, []), said)
        self.assertIn("certificates are still good: telltale enroll revoke NODE", said.splitlines()[-1])

    def test_it_ends_those_of_each_host_that_was_removed(self):
        self.answers(revoke_web_2=5)
        fleet = self.make(revoke=True, only=".*")

        def remote(host, script, files=(), timeout=None):
            if host.name == "db-1":
                raise self.module.Unreached("not reached: down")
        fleet.remote = remote
        code, said = self.run_command(fleet.remove)
        self.assertEqual(code, 3, said)
        self.assertEqual(self.asked(), ["enroll list", "enroll revoke web-1", "enroll revoke web-2", "enroll revoke old-1"])
        self.assertRegex(said, r"(?m)^web-1 +removed and revoked; its data stays$")
        self.assertRegex(said, r"(?m)^web-2 +removed; its data stays; the collector has no certificate of it to revoke$")
        self.assertNotIn("still good", said)

    def test_a_host_that_could_not_be_revoked_is_told_as_trouble(self):
        self.answers(revoke_web_1=3)
        code, said = self.run_command(self.make(revoke=True).remove)
        self.assertEqual(code, 3, said)
        self.assertRegex(said, r"(?m)^web-1 +removed, but its certificates are still good: telltale: no$")

    def test_nothing_is_removed_by_who_may_not_revoke(self):
        self.answers(list_=4)
        fleet = self.make(revoke=True)
        with self.assertRaisesRegex(SystemExit, "nothing was removed: telltale: no"):
            fleet.remove()
        self.assertEqual(self.calls, [])


if __name__ == "__main__":
    facts.main()
