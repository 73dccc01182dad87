#!/usr/bin/env python3
"""The agent as one file: it names no library and no loader, and runs where there is nothing but it, its certificate and
/proc, and in the oldest Debian."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402
import machine_root  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
AGENT = ROOT / "build/static-agent/bin/telltale-agent"
OLDEST = "bullseye"  # of what the mirrors of Debian still have


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **options).stdout


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: a root directory and ports of its own need root")
class StaticAgentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for step in (["cmake", "--preset", "static-agent"], ["cmake", "--build", "--preset", "static-agent"]):
            done = subprocess.run(step, cwd=ROOT, capture_output=True, text=True, timeout=1100)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(step)}: {done.stdout[-4000:]}{done.stderr[-4000:]}")

    def test_it_names_no_library_and_no_loader(self):
        self.assertIn("There is no dynamic section", run("readelf", "--dynamic", AGENT))
        self.assertNotIn("INTERP", run("readelf", "--program-headers", "--wide", AGENT))

    def test_it_reports_from_a_root_with_nothing_else_in_it(self):
        root = self.scratch() / "root"
        root.mkdir()
        refused = self.make_agent(root)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("mount /proc", refused.stdout + refused.stderr)
        (root / "proc").mkdir()
        self.reports_from(root)

    def test_it_reports_from_the_oldest_debian_there_is_to_be_had(self):
        root = self.scratch() / "root"
        try:
            machine_root.MachineRoot.with_network("debootstrap", "--variant=minbase", OLDEST, root)
        except subprocess.CalledProcessError as error:
            self.skipTest(f"SKIPPED: no {OLDEST}: {error}")
        self.make_agent(root)
        self.reports_from(root)

    def scratch(self):
        machine_root.loopback_up()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="telltale-static-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        return self.dir

    def make_agent(self, root):
        """Puts the agent and its certificate there, and starts it once without /proc."""
        pki = self.dir / "pki"
        run(BIN / "telltale", "pki", "init", "--dir", pki)
        for role, name, *more in (("collector", "collector", "--dns", "localhost", "--ip", "127.0.0.1"),
                                  ("node", "bare-1"), ("viewer", "ann")):
            run(BIN / "telltale", "pki", "issue", "--dir", pki, "--role", role, "--name", name, *more)
        for file in (AGENT, pki / "ca.crt", pki / "node-bare-1.crt", pki / "node-bare-1.key"):
            shutil.copy(file, root)
        self.assertIn("telltale", run("chroot", root, "/telltale-agent", "--version"))
        self.agent = ["chroot", root, "/telltale-agent", "--collector", "127.0.0.1:7410", "--tls-ca", "/ca.crt", "--tls-cert",
                      "/node-bare-1.crt", "--tls-key", "/node-bare-1.key", "--epoch", "5s", "--spool-dir", "/spool",
                      "--unwind-dir", "", "--status-socket", "/agent.sock", "--sensor-kind", "replay",
                      "--uplink-reconnect-max", "1s"]
        return subprocess.run(self.agent, capture_output=True, text=True, timeout=60)

    def reports_from(self, root):
        run("mount", "-t", "proc", "proc", root / "proc")
        self.addCleanup(run, "umount", "--lazy", root / "proc")
        pki = self.dir / "pki"
        self.start(self.dir / "collector.log", BIN / "telltale-collector", "--data", self.dir / "data", "--tls-ca",
                   pki / "ca.crt", "--tls-cert", pki / "collector-collector.crt", "--tls-key",
                   pki / "collector-collector.key", "--ingest-spread", "1s")
        self.start(self.dir / "agent.log", *self.agent)

        def stored():
            asked = subprocess.run([BIN / "telltale", "nodes", "-o", "json", "--collector", "localhost:7410", "--ca",
                                    pki / "ca.crt", "--cert", pki / "viewer-ann.crt", "--key", pki / "viewer-ann.key"],
                                   capture_output=True, text=True, timeout=60)
            nodes = json.loads(asked.stdout).get("nodes", []) if asked.returncode == 0 else []
            return sum(int(node.get("epochsReceived", 0)) for node in nodes)
        end = time.monotonic() + 120
        while stored() == 0:
            logs = "\n".join(f"{log}:\n{log.read_text(errors='replace')[-2000:]}" for log in self.dir.glob("*.log"))
            self.assertLess(time.monotonic(), end, logs)
            time.sleep(0.5)
        self.assertIn("bare-1", run("chroot", root, "/telltale-agent", "status", "--status-socket", "/agent.sock"))

    def start(self, log, *command):
        with open(log, "ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)


if __name__ == "__main__":
    machine_root.enter_namespaces()
    facts.main()
