#!/usr/bin/env python3
"""deploy/fleet over hosts that are network and mount namespaces with a root and an sshd of their own, some broken on
purpose: seven, or twenty with TELLTALE_FLEET=20 (FLEET.md has the record); and the quick starts of the documents, as
written. One kernel: the agents run the replay sensor, and a small program stands in for systemctl, as no host has a systemd.
"""

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
import installed  # noqa: E402
import machine_root  # noqa: E402
import packages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
# What is wrong with a host, and what the roll-out has to say about it.
BROKEN = {"down-1": "not reached: ", "old-1": "is Debian GNU/Linux 10 (buster)",
          "arm-1": "is an arm64 machine; the package is for amd64", "tight-1": "MB free below /tmp, "}
GOOD = ["web-1", "web-2", "db-1"]
if os.environ.get("TELLTALE_FLEET") == "20":
    BROKEN |= {"kernel-1": "kernel 4.19.0-27-amd64 has no BTF", "full-1": "MB free below /var/lib, 600 are needed",
               "refused-1": "not reached: ", "hung-1": "did not finish within 60 s"}
    GOOD += [f"web-{number}" for number in range(3, 10)] + ["db-2", "slow-1"]
HOST_SECONDS = 240

SYSTEMCTL = """#!/bin/sh
# Stands in for systemctl: one service, as its unit starts it.
pid=/run/telltale-agent.pid
# One that has ended stays a zombie here, as there is no init to take it away.
alive() { [ -s $pid ] && grep -q '^State:.[^ZX]' "/proc/$(cat $pid)/status" 2>/dev/null; }
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
class Hosts(unittest.TestCase):
    """A collector and these hosts; nothing is installed there."""

    names = ()

    def setUp(self):
        self.package = packages.build()["telltale-agent"]
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="telltale-fleet-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.running, self.hosts = [], {}
        self.addCleanup(self.stop_all)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.dir / "key"], check=True)
        lines = []
        subprocess.run(["ip", "link", "add", "fleet", "type", "bridge"], check=True)
        subprocess.run(["ip", "address", "add", "10.99.0.1/24", "dev", "fleet"], check=True)
        subprocess.run(["ip", "link", "set", "fleet", "up"], check=True)
        self.addresses = {name: f"10.99.0.{number}" for number, name in enumerate(self.names, 2)}
        for name, address in self.addresses.items():
            lines.append(f"{name} group=shop ssh=root@{address}")
            if name == "down-1":
                continue
            try:
                self.add_host(name, address)
            except subprocess.CalledProcessError as error:
                self.skipTest(f"SKIPPED: no root file system or network for hosts: {error}")
        self.inventory = self.dir / "fleet.txt"
        self.inventory.write_text("# broken ones first: they must not stop the others\n" + "\n".join(lines) + "\n")
        self.start_collector()

    def stop_all(self):
        for process in self.running:
            process.kill()
            process.wait()
        for name, host in self.hosts.items():
            pid = host.path / "run/telltale-agent.pid"
            if pid.exists():
                subprocess.run(["kill", "-9", pid.read_text().strip()], check=False, capture_output=True)
            host.remove()
            subprocess.run(["ip", "link", "delete", self.link(name)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", "fleet"], check=False, capture_output=True)

    def link(self, name):
        return f"host{self.addresses[name].rsplit('.', 1)[1]}"

    def add_host(self, name, address):
        root = self.hosts[name] = machine_root.MachineRoot()
        allowed = (self.dir / "key.pub").read_text() if name != "refused-1" else ""
        forced = {"slow-1": 'ForceCommand sleep 2; exec sh -c "$SSH_ORIGINAL_COMMAND"\n',
                  "hung-1": "ForceCommand sleep 3600\n"}.get(name, "")
        files = [("usr/bin/systemctl", SYSTEMCTL, 0o755),
                 ("etc/ssh/fleet.conf", "Port 22\nHostKey /etc/ssh/fleet.key\nAuthorizedKeysFile /etc/ssh/fleet.pub\n"
                  "PermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\n" + forced, 0o644),
                 ("etc/ssh/fleet.pub", allowed, 0o644),
                 ("etc/ssh/fleet.key", (self.dir / "key").read_text(), 0o600),
                 ("etc/hosts", "127.0.0.1 localhost\n10.99.0.1 collector.example.org\n", 0o644)]
        if name == "old-1":
            files.append(("etc/os-release", 'ID=debian\nVERSION_ID="10"\nPRETTY_NAME="Debian GNU/Linux 10 (buster)"\n', 0o644))
        if name == "arm-1":
            files.append(("usr/bin/dpkg", "#!/bin/sh\necho arm64\n", 0o755))
        if name == "tight-1":
            subprocess.run(["mount", "-o", "remount,size=1m", root.path / "tmp"], check=True)
        if name == "kernel-1":
            files.append(("usr/bin/uname", "#!/bin/sh\necho 4.19.0-27-amd64\n", 0o755))
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", root.path / "sys/kernel/btf"], check=True)
        if name == "full-1":
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", root.path / "var/lib"], check=True)
        for file, text, mode in files:
            path = root.path / file
            path.unlink(missing_ok=True)  # it may be a link
            path.write_text(text)
            path.chmod(mode)
        (root.path / "run/sshd").mkdir()
        # Its namespaces live as long as this process.
        holder = subprocess.Popen(["unshare", "--mount", "--net", "--", "sleep", "infinity"])
        self.running.append(holder)
        own = os.readlink("/proc/self/ns/net")
        end = time.monotonic() + 30
        while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
            self.assertLess(time.monotonic(), end, "no network namespace of its own")
            time.sleep(0.02)
        inside = ["nsenter", "--target", str(holder.pid), "--mount", "--net", "--"]
        link = self.link(name)
        for command in (["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid)],
                        ["ip", "link", "set", link, "master", "fleet", "up"],
                        [*inside, "ip", "link", "set", "lo", "up"],
                        [*inside, "ip", "address", "add", f"{address}/24", "dev", "eth0"],
                        [*inside, "ip", "link", "set", "eth0", "up"]):
            subprocess.run(command, check=True)
        self.running.append(root.start("sshd.log", "/usr/sbin/sshd", "-D", "-e", "-f", "/etc/ssh/fleet.conf",
                                       inside=inside))

    def start_collector(self):
        self.pki = self.dir / "pki"
        for words in (["init"], ["issuing"],
                      ["issue", "--role", "collector", "--name", "collector", "--dns", "localhost", "--dns",
                       "collector.example.org", "--ip", "10.99.0.1"],
                      ["issue", "--role", "operator", "--name", "root"]):
            subprocess.run([BIN / "telltale", "pki", words[0], "--dir", self.pki, *words[1:]], check=True,
                           stdout=subprocess.DEVNULL)
        log = open(self.dir / "collector.log", "wb")
        self.addCleanup(log.close)
        self.running.append(subprocess.Popen(
            [BIN / "telltale-collector", "--data", self.dir / "data", "--tls-ca", self.pki / "ca.crt", "--tls-cert",
             self.pki / "collector-collector.crt", "--tls-key", self.pki / "collector-collector.key",
             "--enroll-ca-cert", self.pki / "issuing.crt", "--enroll-ca-key", self.pki / "issuing.key",
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
        begin = time.monotonic()
        done = subprocess.run([sys.executable, ROOT / "deploy/fleet", command, self.inventory, "--telltale",
                               BIN / "telltale", "--timeout", str(HOST_SECONDS), *words, *more], capture_output=True,
                              text=True, timeout=1800, env=self.environment)
        print(f"{command}: {time.monotonic() - begin:.0f} s, exit code {done.returncode}")
        return done.returncode, done.stdout + done.stderr + self.logs()

    def logs(self):
        return "".join(f"--- {name}\n{log.read_text(errors='replace')[-500:]}" for name, host in self.hosts.items()
                       if (log := host.path / "run/agent.log").exists())

    def version(self, name):
        return self.hosts[name].run("dpkg-query", "-W", "-f=${Version}", "telltale-agent", check=False).stdout

    def certificates(self):
        """By node, of what the collector has signed."""
        listed = json.loads(subprocess.run([BIN / "telltale", "enroll", "list", "-o", "json"], env=self.environment,
                                           capture_output=True, text=True, check=True).stdout)
        return {each["node"]: each for each in listed["certificates"]}, listed["tokens"]


class FleetTest(Hosts):
    names = (*BROKEN, *GOOD)

    def test_rolled_out_upgraded_taken_back_removed(self):
        first = ["--agent", self.package, "--collector", "10.99.0.1:7410", "--wave", "50%"]
        code, said = self.fleet("rollout", *first)
        self.assertEqual(code, 3, said)
        for name, trouble in BROKEN.items():
            self.assertRegex(said, rf"(?m)^{name} +.*{re.escape(trouble)}")
        self.assertIn(f"{len(GOOD)} of {len(GOOD) + len(BROKEN)} hosts are as they should be", said)
        for name in GOOD:
            self.assertTrue(self.version(name), name)
        self.assertEqual(self.version("old-1"), "")
        state = json.loads(pathlib.Path(f"{self.inventory}.state").read_text())["hosts"]
        self.assertEqual([state[name]["outcome"] for name in GOOD], ["done"] * len(GOOD))

        # Each made its own key, with a token that was good once and for its name.
        signed, tokens = self.certificates()
        self.assertEqual(sorted(signed), sorted(GOOD))
        self.assertEqual([token["used"] for token in tokens if token["pattern"] in GOOD], [1] * len(GOOD))
        for name in GOOD:
            key = self.hosts[name].run("stat", "-c", "%U %a", "/var/lib/telltale-agent/pki/node.key").stdout.strip()
            self.assertEqual(key, "telltale-agent 600")

        # Again: nothing to do, and nobody is restarted.
        before = [(self.hosts[name].path / "run/telltale-agent.pid").read_text() for name in GOOD]
        code, said = self.fleet("rollout", *first)
        self.assertEqual(said.count("as it should be\n"), len(GOOD), said)
        self.assertEqual([(self.hosts[name].path / "run/telltale-agent.pid").read_text() for name in GOOD], before)

        # One that starts and sees nothing: the canary is taken back, the others never hear of it.
        def breaks(tree):
            (tree / "usr/bin/telltale-agent").write_text('#!/bin/sh\n[ "$1" = --check-config ] || sleep 60\n')
        with tempfile.TemporaryDirectory() as folder:
            bad = packages.newer(self.package, folder, breaks)
            code, said = self.fleet("upgrade", "--agent", bad, "--health", "15")
            self.assertEqual(code, 1, said)
            self.assertIn("halted", said)
            self.assertEqual([name for name in GOOD if self.version(name).endswith(".next")], [], said)
            end = time.monotonic() + 90  # the one that was taken back has to be heard of first
            while True:
                code, said = self.fleet("status", "--only", "(web|db|slow)-.*")
                if code == 0 or time.monotonic() > end:
                    break
            self.assertEqual((code, said.count(" active, reports, cost unknown\n")), (0, len(GOOD)), said)

            good = packages.newer(self.package, folder)
            code, said = self.fleet("upgrade", "--agent", good, "--only", "(web|db|slow)-.*")
            self.assertEqual(code, 0, said)
        self.assertEqual([name for name in GOOD if not self.version(name).endswith(".next")], [], said)

        code, said = self.fleet("remove", "--only", "web-.*")
        self.assertEqual(code, 0, said)
        self.assertFalse((self.hosts["web-1"].path / "usr/bin/telltale-agent").exists())
        code, said = self.fleet("remove", "--only", "web-.*")
        self.assertEqual(code, 0, "removed twice: " + said)
        self.assertTrue((self.hosts["db-1"].path / "usr/bin/telltale-agent").exists())


class QuickStartTest(Hosts):
    """The commands of deploy/docs/README.md, to the letter. What differs here is around them: ssh finds the hosts by a
    configuration of its own, and the clone is a directory with its parts."""

    names = ("web-1", "web-2", "db-1")

    def setUp(self):
        super().setUp()
        self.clone, programs = self.dir / "clone", self.dir / "bin"
        (self.clone / "build/release").mkdir(parents=True)
        (self.clone / "deploy").symlink_to(ROOT / "deploy")
        (self.clone / "build/release/packages").symlink_to(self.package.parent)
        programs.mkdir()
        (programs / "telltale").symlink_to(BIN / "telltale")
        config = "".join(f"Host {at}\n  HostName {self.addresses[name]}\n" for name, at in
                         (("web-1", "web-1"), ("web-2", "web-2"), ("db-1", "10.0.0.7")))
        (self.dir / "ssh_config").write_text(f"{config}Host *\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n"
                                             f"  LogLevel ERROR\n  IdentityFile {self.dir}/key\n")
        ssh = programs / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.dir}/ssh_config "$@"\n')
        ssh.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"

    def typed(self, lines):
        done = subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=self.clone, env=self.environment, capture_output=True,
                              text=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + self.logs())
        return done.stdout

    def assert_as_they_should_be(self, said):
        self.assertIn("3 of 3 hosts are as they should be", said)
        self.assertEqual(said.count(" active, reports"), 3, said)

    def test_ten_machines_one_that_leaves_and_a_thousand(self):
        ten, leaves = installed.documented("README.md", "Ten machines")
        (thousand,) = installed.documented("README.md", "A thousand machines")
        self.assert_as_they_should_be(self.typed(ten))
        self.assertEqual(sorted(self.certificates()[0]), sorted(self.names))

        self.assertIn("removed and revoked", self.typed(leaves))
        self.assertEqual([name for name in self.names if not (self.hosts[name].path / "usr/bin/telltale-agent").exists()],
                         ["web-2"])
        self.assertEqual([name for name, each in self.certificates()[0].items() if each.get("revokedBy")], ["web-2"])

        # It comes back with the rest of a larger fleet, though its disk has the certificate that was revoked.
        said = self.typed(thousand)
        self.assert_as_they_should_be(said)
        self.assertRegex(said, r"(?m)^web-2 +installed$")
        self.assertEqual(said.count(" as it should be\n"), 2, said)


if __name__ == "__main__":
    machine_root.enter_namespaces()
    facts.main()
