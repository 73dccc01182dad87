#!/usr/bin/env python3
"""The Debian packages: built, installed, their services' programs run as the units run them, upgraded, removed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402
import installed  # noqa: E402
import machine_root  # noqa: E402
import packages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: packages are installed by root only")
class PackagesTest(installed.InstalledTest):
    def cut(self):
        """How many epochs the agents of this node have cut, once all of them are stored; else None."""
        spool = self.spool()
        return spool["nextSequence"] - 1 if spool and not spool["records"] + spool["heldInMemory"] else None

    def epochs(self):
        """Each stored epoch by its beginning, with what it says."""
        series = self.ask("series", "--vital", "cpu", "--vital", "syscall", "--tier", "raw", "--per-node", "--from", "-1h")["series"]
        found = {}
        for line in series:
            for start, *says in zip(*(line[column] for column in ("startS", "lengthS", "rate", "events"))):
                found.setdefault(start, {})[line["vital"], line.get("sub", "")] = says
        return found

    def assert_documented_by_itself(self):
        """Each command has its manual page, and shells complete commands where they look for that."""
        said = self.root.run("telltale", "--help").stdout
        commands = re.findall(r"^  ([a-z-]+)  ", said[said.index("\nSubcommands:"):], flags=re.M)
        self.assertGreater(len(commands), 20, said)
        for command in commands:
            self.assertTrue(self.path(f"usr/share/man/man1/telltale-{command}.1.gz").exists(), command)
        offered = self.root.run("bash", "-ec", ". /usr/share/bash-completion/completions/telltale; COMP_WORDS=(telltale top --hi)\n"
                                "COMP_CWORD=2; _telltale; echo ${COMPREPLY[@]}").stdout
        self.assertEqual(offered, "--hide-self\n")
        completion = self.path("usr/share/zsh/vendor-completions/_telltale").read_text()
        self.assertTrue(completion.startswith("#compdef telltale\n"), completion[:100])

    def test_installed_run_as_the_units_do_upgraded_removed_purged(self):
        self.root.install(self.packages.values())
        for name in packages.NAMES:
            self.assertIn("telltale", self.root.run(name, "--version").stdout)
            self.assertTrue(list(self.path("usr/share/man").glob(f"man?/{name}.?.gz")), name)
        self.assert_documented_by_itself()
        self.assertEqual(self.owner("/var/lib/telltale-agent/spool"), "root:telltale-agent 2750")
        self.assertEqual(self.owner("/var/lib/telltale-collector"), "telltale:telltale 750")
        for service in ("telltale-agent", "telltale-collector"):
            link = self.path(f"etc/systemd/system/multi-user.target.wants/{service}.service")
            self.assertTrue(link.is_symlink(), f"{service} is not enabled")
        self.make_collector()
        self.assertIn(": good", self.root.run("telltale-collector", "--check-config").stdout)
        collector = self.start_collector()
        self.enroll()
        self.assertIn(": good, node db-1", self.root.run("telltale-agent", "--check-config").stdout)
        agent = self.start_agent()
        self.assertTrue(installed.await_true(lambda: self.stored() >= 2), self.logs())

        # The next version while both run, with a configuration somebody has changed: it stays, and so does what was stored.
        changed = self.path("etc/telltale/agent.yaml")
        changed.write_text(changed.read_text().replace("labels: {}", "labels: {role: db}"))
        with tempfile.TemporaryDirectory(dir=self.path("tmp")) as folder:
            self.root.install([packages.newer(self.packages[name], folder) for name in packages.NAMES])
        self.assertIn("labels: {role: db}", changed.read_text())
        before = self.epochs()
        # The collector first, as the documents say: the agent keeps its epochs meanwhile.
        self.stop(collector)
        self.assertTrue(installed.await_true(lambda: self.spool().get("records", 0) >= 1), self.logs())
        collector = self.start_collector()
        self.assertTrue(installed.await_true(lambda: self.stored() > len(before) and self.cut() is not None), self.logs())
        self.stop(agent)
        restarted = self.stored()
        agent = self.start_agent()
        self.assertTrue(installed.await_true(lambda: self.stored() >= restarted + 2), self.logs())

        # None is lost, none is there twice, and those of the older version still say what they said.
        counts = {}

        def all_stored():
            counts.update(cut=self.cut(), received=self.stored(), listed=len(self.epochs()))
            return len(set(counts.values())) == 1
        self.assertTrue(installed.await_true(all_stored), f"{counts}\n{self.logs()}")
        after = self.epochs()
        self.assertGreaterEqual(len(before), 2)
        self.assertEqual({start: after.get(start) for start in before}, before)
        node = self.ask("nodes")["nodes"][0]
        self.assertEqual(int(node.get("epochsLost", 0)), 0, node)
        self.stop(agent)
        self.stop(collector)
        verified = self.root.run("setpriv", "--reuid", "telltale", "--regid", "telltale", "--clear-groups",
                                 "telltale-collector", "verify", "--data", "/var/lib/telltale-collector", check=False)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)

        self.root.run("dpkg", "-r", *packages.NAMES)
        self.assertFalse(self.path("usr/bin/telltale-agent").exists())
        self.assertTrue(self.path("etc/telltale/agent.yaml").exists())
        said = self.root.run("dpkg", "-P", "telltale-collector").stderr
        self.assertIn("/var/lib/telltale-collector is kept", said)
        self.assertTrue(list(self.path("var/lib/telltale-collector").iterdir()))
        self.assertFalse(self.path("etc/telltale/collector.yaml").exists())
        self.root.run("dpkg", "-P", "telltale-agent", "telltale", TELLTALE_PURGE_DATA="yes")
        self.assertFalse(self.path("var/lib/telltale-agent").exists())
        self.assertFalse(self.path("etc/systemd/system/multi-user.target.wants/telltale-agent.service").is_symlink())

    def test_the_way_to_a_new_version_and_back_works_as_written(self):
        self.root.install(self.packages.values())
        self.make_collector()
        self.collector = self.start_collector()
        self.enroll()
        agent = self.start_agent()
        self.assertTrue(installed.await_true(lambda: self.stored() >= 2), self.logs())
        before, old = self.epochs(), self.installed_version()
        forth, back = installed.documented("operations.md", "Upgrade and rollback")
        with tempfile.TemporaryDirectory(dir=self.path("tmp")) as folder:
            self.follow(forth, "NEW", {name: packages.newer(self.packages[name], folder) for name in packages.NAMES})
        self.assertEqual(self.installed_version(), f"{old}.next")
        self.assertTrue(installed.await_true(lambda: self.stored() > len(before)), self.logs())
        self.follow(back, "OLD", self.packages)
        self.assertEqual(self.installed_version(), old)
        restored = self.stored()
        self.assertTrue(installed.await_true(lambda: self.stored() > restored), self.logs())
        after = self.epochs()
        self.assertEqual({start: after.get(start) for start in before}, before)
        self.stop(agent)
        self.stop(self.collector)

    def installed_version(self):
        return self.root.run("dpkg-query", "-W", "-f=${Version}", "telltale-collector").stdout

    def follow(self, lines, which, files):
        """As typed; apt starts the collector, as its package does where systemd runs."""
        for line in lines:
            if line == "systemctl stop telltale-collector":
                self.stop(self.collector)
            elif line.startswith("apt install "):
                self.root.install([files[name] for name in re.findall(rf"\./([a-z-]+)_{which}\.deb", line)])
                self.collector = self.start_collector()
            elif line != "systemctl status telltale-collector":
                self.shell(line)

    def test_the_quick_start_works_as_written(self):
        apt, *lines = installed.quick_start()
        folder = self.packages["telltale"].parent
        self.assertTrue(apt.startswith("apt install ./"), apt)
        self.root.install([file for word in apt.split()[2:] for file in folder.glob(word.removeprefix("./"))])
        node = self.shell("hostname").strip()
        start = {"telltale-collector": self.start_collector, "telltale-agent": self.start_agent}
        typed, said = [], ""
        for line in lines:
            if line.startswith("systemctl start "):  # no systemd runs in there: what it would start
                self.shell(*typed)
                typed = []
                start[line.split()[2]]()
            elif line.startswith("telltale enroll token "):
                said = self.shell(line)
            elif line.startswith("telltale-agent enroll "):
                shown = said[said.index("telltale-agent enroll "):]
                one_line = " ".join(shown.replace("\\\n", "").split())
                self.assertEqual(re.sub(r"(sha256:|enroll_)\w+", r"\1...", one_line), line)
                self.assertIn(f"enrolled as {node} until", self.shell(shown))
            elif line.startswith("telltale nodes "):
                self.assertTrue(installed.await_true(lambda: self.stored() >= 1), self.logs())
                answers = self.shell(line)
                self.assertIn(node, answers)
                self.assertIn("covers ", answers)
            elif not line.startswith("systemctl status "):
                typed.append(line)
        self.assertEqual((typed, len(self.running)), ([], 2))

    def test_systemd_has_nothing_to_say_about_the_units_and_finds_them_as_closed_as_documented(self):
        self.root.install(self.packages.values())
        documented = re.search(r"finds ([0-9.]+) for the agent's unit and ([0-9.]+) for the collector's",
                               (ROOT / "deploy/docs/security.md").read_text()).groups()
        for service, exposure in zip(("telltale-agent", "telltale-collector"), documented):
            unit = f"/lib/systemd/system/{service}.service"
            verify = self.root.run("systemd-analyze", "verify", "--man=no", unit)
            self.assertEqual(verify.stdout + verify.stderr, "")
            security = self.root.run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", security.stdout)
            self.assertIsNotNone(found, security.stdout)
            self.assertEqual(found[1], exposure, security.stdout)

    def test_lintian_has_nothing_to_say(self):
        if shutil.which("lintian") is None:
            self.skipTest("SKIPPED: lintian is not installed (Debian: lintian)")
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *self.packages.values()],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    machine_root.enter_namespaces()
    facts.main()
