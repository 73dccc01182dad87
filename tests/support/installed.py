"""A machine with this build's packages on it, whose services' programs run as their units run them: what the tests of
packages and of what the documents say share.
"""

import json
import pathlib
import re
import subprocess
import time
import unittest

import machine_root
import packages

ROOT = pathlib.Path(__file__).resolve().parents[2]


def documented(document, heading):
    """The lines to type below a heading of a document, by block, without what they say about themselves."""
    text = (ROOT / "deploy/docs" / document).read_text()
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)[1]
    return [[re.sub(r"\s+#.*$", "", line) for line in block.splitlines()]
            for block in re.findall(r"^```sh\n(.*?)^```", section, flags=re.M | re.S)]


def quick_start():
    return documented("README.md", "One machine")[0]


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


class InstalledTest(unittest.TestCase):
    """Each test has a root of its own; the packages are built once."""

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

    def start_collector(self, *more):
        process = self.root.start("collector.log", "setpriv", "--reuid", "telltale", "--regid", "telltale",
                                  "--clear-groups", "--bounding-set=-all", "--no-new-privs",
                                  *unit_setting(self.root, "telltale-collector", "ExecStart").split(),
                                  "--ingest-spread", "1s", *more)
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

    def spool(self):
        """What the running agent says of its epochs."""
        done = self.root.run("telltale-agent", "status", "--json", check=False)
        return json.loads(done.stdout)["spool"] if done.returncode == 0 else {}

    def stop(self, process):
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 0, self.logs())
