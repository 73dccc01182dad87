#!/usr/bin/env python3
"""The Debian packages: built, installed, their services' programs run as the units run them, upgraded, removed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402
import machine_root  # noqa: E402
import packages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def quick_start():
    """The lines of "One machine" in deploy/docs/README.md, without what they say about themselves."""
    block = re.search(r"^## One machine\n\n```sh\n(.*?)```", (ROOT / "deploy/docs/README.md").read_text(),
                      flags=re.MULTILINE | re.DOTALL)[1]
    return [re.sub(r"\s+#.*$", "", line) for line in block.splitlines()]


def await_true(ask, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ask():
            return True
        time.sleep(0.3)
    return False


def unit_setting(root, service, key):
    text = (root.path / f"lib/systemd/system/{service}.service").read_text()
    return " ".join(re.findall(rf"^{key}=(.*)$", text, flags=re.M))


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: packages are installed by root only")
class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = packages.build()

    def setUp(self):
        try:
            self.root = machine_root.MachineRoot()
        except subprocess.CalledProcessError as error:
            self.skipTest(f"SKIPPED: no root file system to install into: {error}")
        self.addCleanup(self.root.remove)
        self.running = []
        self.addCleanup(self.stop_all)

    def stop_all(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()

    def path(self, text):
        return self.root.path / text.lstrip("/")

    def logs(self):
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}"
                         for log in sorted(self.root.scratch.glob("*.log")))

    def owner(self, text):
        return self.root.run("stat", "-c", "%U:%G %a", text).stdout.strip()

    def shell(self, *lines):
        """As somebody would at a shell of the machine."""
        return self.root.run("sh", "-ec", "\n".join(lines)).stdout

    def make_collector(self):
        lines = quick_start()
        self.shell(*lines[1:lines.index("systemctl start telltale-collector")])

    def enroll(self):
        token = self.ask("enroll", "token", "--node", "db-1")
        (self.root.path / "root/token").write_text(token["secret"])
        said = self.root.run("telltale-agent", "enroll", "--node", "db-1", "--token-file", "/root/token", "--ca-hash",
                             f"sha256:{token['authoritySha256']}").stdout
        self.assertIn("enrolled as db-1 until", said)
        self.assertEqual(self.owner("/var/lib/telltale-agent/pki/node.key"), "telltale-agent:telltale-agent 600")

    def start_collector(self):
        process = self.root.start("collector.log", "setpriv", "--reuid", "telltale", "--regid", "telltale",
                                  "--clear-groups", "--bounding-set=-all", "--no-new-privs",
                                  *unit_setting(self.root, "telltale-collector", "ExecStart").split(),
                                  "--ingest-spread", "1s")
        self.running.append(process)
        self.assertTrue(await_true(lambda: self.ask("status") is not None), self.logs())
        return process

    def start_agent(self):
        # With what the unit grants and nothing else; the replay sensor stands in for the kernel's one sensor.
        granted = unit_setting(self.root, "telltale-agent", "CapabilityBoundingSet").lower().replace("cap_", "").split()
        process = self.root.start("agent.log", "setpriv", "--bounding-set",
                                  ",".join(["-all", *(f"+{name}" for name in granted)]), "--inh-caps=-all",
                                  "--no-new-privs", *unit_setting(self.root, "telltale-agent", "ExecStart").split(),
                                  "--epoch", "5s", "--sensor-kind", "replay", "--uplink-reconnect-max", "1s")
        self.running.append(process)
        return process

    def ask(self, *arguments):
        done = self.root.run("telltale", *arguments, "-o", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def stored(self):
        nodes = (self.ask("nodes") or {}).get("nodes", [])
        return int(nodes[0].get("epochsReceived", 0)) if nodes else 0

    def stop(self, process):
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 0, self.logs())

    def test_installed_run_as_the_units_do_upgraded_removed_purged(self):
        self.root.install(self.packages.values())
        for name in packages.NAMES:
            self.assertIn("telltale", self.root.run(name, "--version").stdout)
            self.assertTrue(list(self.path("usr/share/man").glob(f"man?/{name}.?.gz")), name)
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
        self.assertTrue(await_true(lambda: self.stored() >= 2), self.logs())

        # The next version, with a configuration somebody has changed: it stays, and so does what was stored.
        changed = self.path("etc/telltale/agent.yaml")
        changed.write_text(changed.read_text().replace("labels: {}", "labels: {role: db}"))
        with tempfile.TemporaryDirectory(dir=self.path("tmp")) as folder:
            self.root.install([packages.newer(self.packages[name], folder) for name in packages.NAMES])
        self.assertIn("labels: {role: db}", changed.read_text())
        self.stop(agent)
        self.stop(collector)
        before = self.stored_after_restart()
        self.assertTrue(await_true(lambda: self.stored() > before), self.logs())
        node = self.ask("nodes")["nodes"][0]
        self.assertEqual(int(node.get("epochsLost", 0)), 0, node)
        for process in self.running:
            if process.poll() is None:
                self.stop(process)

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

    def stored_after_restart(self):
        self.start_collector()
        before = self.stored()
        self.start_agent()
        return before

    def test_the_quick_start_works_as_written(self):
        apt, *lines = quick_start()
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
                self.assertTrue(await_true(lambda: self.stored() >= 1), self.logs())
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
