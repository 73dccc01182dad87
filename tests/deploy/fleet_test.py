#!/usr/bin/env python3
"""deploy/fleet over hosts that are roots of their own with their own sshd, some broken on purpose. One kernel: the agents
run the replay sensor, and a small program stands in for systemctl, as no host has a systemd.
"""

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
import packages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
GOOD, OLD, DOWN = ("web-1", "web-2", "db-1"), "old-1", "down-1"

SYSTEMCTL = """#!/bin/sh
# Stands in for systemctl: one service, as its unit starts it.
pid=/run/telltale-agent.pid
alive() { [ -s $pid ] && kill -0 "$(cat $pid)" 2>/dev/null; }
stop() {
  alive || return 0
  kill "$(cat $pid)"
  for i in $(seq 200); do alive || return 0; sleep 0.1; done
}
case "$1" in
  is-active) if alive; then echo active; else echo inactive; fi ;;
  stop) stop ;;
  restart)
    stop
    TELLTALE_AGENT_SENSOR_KIND=replay TELLTALE_AGENT_EPOCH=5s TELLTALE_AGENT_UPLINK_RECONNECT_MAX=1s \\
      setsid telltale-agent --config /etc/telltale/agent.yaml >>/run/agent.log 2>&1 </dev/null &
    echo $! >$pid
    ;;
esac
"""


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: hosts with roots and ports of their own need root")
@unittest.skipIf(shutil.which("sshd", path="/usr/sbin") is None, "SKIPPED: sshd is not installed (Debian: openssh-server)")
class FleetTest(unittest.TestCase):
    def setUp(self):
        self.package = packages.build()["telltale-agent"]
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="telltale-fleet-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.running, self.hosts = [], {}
        self.addCleanup(self.stop_all)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.dir / "key"], check=True)
        lines = [f"{DOWN} group=shop ssh=root@127.0.0.1 port=2299"]
        for number, name in enumerate((OLD, *GOOD)):
            lines.append(f"{name} group=shop ssh=root@127.0.0.1 port={2201 + number}")
            try:
                self.add_host(name, 2201 + number)
            except subprocess.CalledProcessError as error:
                self.skipTest(f"SKIPPED: no root file system for hosts: {error}")
        release = self.hosts[OLD].path / "etc/os-release"
        release.unlink()  # a link
        release.write_text('ID=debian\nVERSION_ID="10"\nPRETTY_NAME="Debian GNU/Linux 10 (buster)"\n')
        self.inventory = self.dir / "fleet.txt"
        self.inventory.write_text("# broken ones first: they must not stop the others\n" + "\n".join(lines) + "\n")
        self.start_collector()

    def stop_all(self):
        for process in self.running:
            process.kill()
            process.wait()
        for host in self.hosts.values():
            host.remove()

    def add_host(self, name, port):
        root = self.hosts[name] = machine_root.MachineRoot()
        for file, text, mode in (("usr/bin/systemctl", SYSTEMCTL, 0o755),
                                 ("etc/ssh/fleet.conf", f"Port {port}\nListenAddress 127.0.0.1\nHostKey /etc/ssh/fleet.key\n"
                                  "AuthorizedKeysFile /etc/ssh/fleet.pub\nPermitRootLogin yes\nUsePAM no\n"
                                  "StrictModes no\nPidFile none\n", 0o644),
                                 ("etc/ssh/fleet.pub", (self.dir / "key.pub").read_text(), 0o644),
                                 ("etc/ssh/fleet.key", (self.dir / "key").read_text(), 0o600)):
            path = root.path / file
            path.unlink(missing_ok=True)
            path.write_text(text)
            path.chmod(mode)
        (root.path / "run/sshd").mkdir()
        self.running.append(root.start("sshd.log", "/usr/sbin/sshd", "-D", "-e", "-f", "/etc/ssh/fleet.conf"))

    def start_collector(self):
        self.pki = self.dir / "pki"
        for words in (["init"], ["issue", "--role", "collector", "--name", "collector", "--dns", "localhost"],
                      ["issue", "--role", "operator", "--name", "root"]):
            subprocess.run([BIN / "telltale", "pki", words[0], "--dir", self.pki, *words[1:]], check=True,
                           stdout=subprocess.DEVNULL)
        log = open(self.dir / "collector.log", "wb")
        self.addCleanup(log.close)
        self.running.append(subprocess.Popen(
            [BIN / "telltale-collector", "--data", self.dir / "data", "--tls-ca", self.pki / "ca.crt", "--tls-cert",
             self.pki / "collector-collector.crt", "--tls-key", self.pki / "collector-collector.key",
             "--ingest-spread", "1s"], stdout=log, stderr=log))
        self.environment = {**os.environ, "TELLTALE_COLLECTOR": "localhost:7410", "TELLTALE_TLS_DIR": str(self.pki)}
        end = time.monotonic() + 60
        while subprocess.run([BIN / "telltale", "status"], env=self.environment, capture_output=True).returncode != 0:
            self.assertLess(time.monotonic(), end, (self.dir / "collector.log").read_text())
            time.sleep(0.3)

    def fleet(self, command, *more):
        words = []
        for option in ("UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no", "LogLevel=ERROR",
                       f"IdentityFile={self.dir}/key"):
            words += ["--ssh-option=-o", f"--ssh-option={option}"]
        done = subprocess.run([sys.executable, ROOT / "deploy/fleet", command, self.inventory, "--telltale",
                               BIN / "telltale", *words, *more], capture_output=True, text=True, timeout=400,
                              env=self.environment)
        return done.returncode, done.stdout + done.stderr + self.logs()

    def logs(self):
        return "".join(f"--- {name}\n{log.read_text(errors='replace')[-500:]}" for name, host in self.hosts.items()
                       if (log := host.path / "run/agent.log").exists())

    def version(self, name):
        return self.hosts[name].run("dpkg-query", "-W", "-f=${Version}", "telltale-agent", check=False).stdout

    def test_rolled_out_upgraded_taken_back_removed(self):
        first = ["--agent", self.package, "--pki", self.pki, "--collector", "localhost:7410", "--wave", "50%"]
        code, said = self.fleet("rollout", *first)
        self.assertEqual(code, 3, said)
        self.assertIn("not reached: ", said)
        self.assertIn("is Debian GNU/Linux 10 (buster)", said)
        self.assertIn("3 of 5 hosts are as they should be", said)
        for name in GOOD:
            self.assertTrue(self.version(name), name)
        self.assertEqual(self.version(OLD), "")
        state = json.loads(pathlib.Path(f"{self.inventory}.state").read_text())["hosts"]
        self.assertEqual([state[name]["outcome"] for name in GOOD], ["done"] * 3)

        # Again: nothing to do, and nobody is restarted.
        before = [(self.hosts[name].path / "run/telltale-agent.pid").read_text() for name in GOOD]
        code, said = self.fleet("rollout", *first)
        self.assertEqual(said.count("as it should be\n"), 3, said)
        self.assertEqual([(self.hosts[name].path / "run/telltale-agent.pid").read_text() for name in GOOD], before)

        # One that starts and sees nothing: the canary is taken back, the others never hear of it.
        def breaks(tree):
            (tree / "usr/bin/telltale-agent").write_text('#!/bin/sh\n[ "$1" = --check-config ] || sleep 60\n')
        with tempfile.TemporaryDirectory() as folder:
            bad = packages.newer(self.package, folder, breaks)
            code, said = self.fleet("upgrade", "--agent", bad, "--pki", self.pki, "--health", "15")
            self.assertEqual(code, 1, said)
            self.assertIn("halted", said)
            self.assertEqual([name for name in GOOD if self.version(name).endswith(".next")], [], said)
            end = time.monotonic() + 90  # the one that was taken back has to be heard of first
            while True:
                code, said = self.fleet("status", "--only", "web-.*|db-.*")
                if code == 0 or time.monotonic() > end:
                    break
            self.assertEqual((code, said.count(" active, reports")), (0, 3), said)

            good = packages.newer(self.package, folder)
            code, said = self.fleet("upgrade", "--agent", good, "--pki", self.pki, "--only", "web-.*|db-.*")
            self.assertEqual(code, 0, said)
        self.assertEqual([name for name in GOOD if not self.version(name).endswith(".next")], [], said)

        code, said = self.fleet("remove", "--only", "web-.*")
        self.assertEqual(code, 0, said)
        self.assertFalse((self.hosts["web-1"].path / "usr/bin/telltale-agent").exists())
        self.assertTrue((self.hosts["db-1"].path / "usr/bin/telltale-agent").exists())


if __name__ == "__main__":
    machine_root.enter_namespaces()
    facts.main()
