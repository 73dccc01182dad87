#!/usr/bin/env python3
"""deploy/docs/troubleshooting.md, followed on a machine with the packages: each trouble is brought about, the answer has the
words of the document, and what it says to do then helps. Not followed: what systemctl and journalctl say (no systemd runs
here), a full disk, a clone, and a certificate that was replaced.
"""

import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402
import installed  # noqa: E402
import machine_root  # noqa: E402

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "deploy/docs/troubleshooting.md").read_text()
PKI = "/var/lib/telltale-agent/pki"


def rows(heading):
    """The cells of the table below a heading."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", TEXT, flags=re.M | re.S)[1]
    return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: packages are installed by root only")
class TroubleshootingTest(installed.InstalledTest):
    def setUp(self):
        super().setUp()
        self.root.install(self.packages.values())
        self.make_collector()
        self.collector = self.start_collector()

    def token(self, pattern, *more):
        token = self.ask("enroll", "token", "--node", pattern, *more)
        self.hash = f"sha256:{token['authoritySha256']}"
        return token["secret"]

    def enrol(self, *more, code=0):
        done = self.root.run("telltale-agent", "enroll", "--node", "web-1", *more, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def assert_documented(self, said, words):
        """The words, in which ... stands for anything, are in what was said and in one row of the table; returns its advice."""
        self.assertRegex(said, ".*".join(map(re.escape, words.split("..."))))
        found = [does for says, does in rows("A node does not enrol") if words in says]
        self.assertEqual(len(found), 1, words)
        return found[0]

    def restart_collector(self, *more):
        self.stop(self.collector)
        self.collector = self.start_collector(*more)

    def test_a_node_does_not_enrol(self):
        token = self.token("web-1")
        said = self.enrol("--token", token, "--ca-hash", f"sha256:{'a' * 64}", code=1)
        self.assertIn("`telltale pki show ca.crt`", self.assert_documented(said, "has another authority ... than --ca-hash"))
        shown = self.shell("cd /etc/telltale/pki", "telltale pki show ca.crt")
        self.assertIn(self.hash.removeprefix("sha256:"), shown.replace(":", ""))
        trusted = ("--ca-hash", self.hash)
        self.enrol("--token", token, *trusted)

        for used, words in ((token, "is used up"), (token[:-1] + ("1" if token[-1] == "0" else "0"), "is unknown")):
            said = self.enrol("--again", "--token", used, *trusted, code=1)
            self.assertIn("`telltale enroll token --node NAME`", self.assert_documented(said, words))
            self.enrol("--again", "--token", self.token("web-1"), *trusted)

        self.shell(f"rm {PKI}/*")  # its disk was wiped
        said = self.enrol("--token", self.token("web-*"), *trusted, code=1)
        self.assert_documented(said, "has a certificate until ...; only a token for this very name replaces it")
        self.enrol("--token", self.token("web-1"), *trusted)

        self.restart_collector("--enroll-by-hand", "true")
        waits = self.root.start("enrol.log", "telltale-agent", "enroll", "--node", "web-1", "--again", *trusted)
        self.running.append(waits)
        log = self.root.scratch / "enrol.log"
        self.assertTrue(installed.await_true(lambda: "key: " in log.read_text()), log.read_text())
        self.assertIn("`telltale enroll approve ID`", self.assert_documented(log.read_text(), "waits for an operator"))
        self.assertIn(re.search(r"key: (\w+)", log.read_text())[1], self.shell("telltale enroll list"))
        self.shell("telltale enroll approve " + re.search(r"approve (\w+)", log.read_text())[1])
        self.assertEqual(waits.wait(timeout=90), 0, log.read_text())

        self.restart_collector("--enroll-ca-cert", "", "--enroll-ca-key", "")
        said = self.enrol("--again", "--token", token, "--wait", "3s", *trusted, code=1)
        self.assertIn("`enroll.ca_cert`", self.assert_documented(said, "nobody listens there"))

        self.restart_collector()
        agent = self.start_agent()
        self.assertTrue(installed.await_true(lambda: self.stored() >= 1), self.logs())
        self.shell("telltale enroll revoke web-1")
        log = self.root.scratch / "agent.log"
        self.assertTrue(installed.await_true(lambda: "web-1 is revoked" in log.read_text()), self.logs())
        self.assert_documented(log.read_text(), "certificate: serial ... is revoked")
        before = self.stored()
        self.enrol("--again", "--token", self.token("web-1"), *trusted)
        self.assertTrue(installed.await_true(lambda: self.stored() > before), self.logs())
        self.stop(agent)

    def test_no_data_from_a_node(self):
        asked = [re.search(r"`(.*?)`", row[0])[1] for row in rows("No data from a node")]
        self.assertEqual(asked, ["telltale nodes --node web-1", "systemctl status telltale-agent", "telltale-agent --check-config",
                                 "telltale-agent status", "telltale-agent check", "telltale status"])
        nodes, _, config, status, _, collector = asked
        missing = self.root.run(*config.split(), check=False)
        self.assertIn(f"{PKI}/node.crt", missing.stderr)
        token = self.token("web-1")
        self.enrol("--token", token, "--ca-hash", self.hash)
        unknown = self.root.run(*nodes.split(), check=False)
        self.assertIn('"web-1" is unknown', unknown.stderr)

        agent = self.start_agent()
        self.assertTrue(installed.await_true(lambda: self.stored() >= 1), self.logs())
        for command, well in ((nodes, "reporting"), (config, "good, node web-1"), (status, "connected to "), (status, " 0 to send"),
                              (collector, " 1 reporting"), ("telltale vitals --node web-1", "active|of the usual samples"),
                              ("telltale coverage", "before the node's first epoch")):
            # The next epoch may just be on its way.
            self.assertTrue(installed.await_true(lambda: re.search(well, self.shell(command))), self.shell(command))
        self.stop(self.collector)
        self.assertTrue(installed.await_true(lambda: self.spool().get("records", 0) >= 1), self.logs())
        # Until the next attempt it says how the last one ended: the collector was stopping.
        self.assertTrue(installed.await_true(lambda: "nobody listens there" in self.shell(status)), self.shell(status))
        said = self.shell(status)
        self.assertRegex(said, r"spool +[1-9]\d* epoch")
        before = self.spool()["nextSequence"] - 1
        self.collector = self.start_collector()
        self.assertTrue(installed.await_true(lambda: self.stored() >= before), self.logs())  # "they will arrive"

        self.stop(agent)
        self.shell("telltale pki issue --dir /root/pki --role node --name other",
                   f"cp --preserve {PKI}/node.key /root/node.key", f"cat /root/pki/node-other.key >{PKI}/node.key")
        wrong = self.root.run(*config.split(), check=False)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn(f"{PKI}/node.key", wrong.stderr)
        self.shell(f"cp --preserve /root/node.key {PKI}/node.key", "echo 'spol: {}' >>/etc/telltale/agent.yaml")
        wrong = self.root.run("telltale-agent", check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("spol", wrong.stderr.splitlines()[-1])

    def test_prometheus_shows_nothing(self):
        if not list(self.root.path.glob("usr/bin/curl")):
            self.skipTest("SKIPPED: no curl in the root")
        command = re.search(r"^`(curl .*?)`", TEXT, flags=re.M)[1].replace("//collector:", "//localhost:")
        self.shell("cd /root/pki", "telltale pki issue --dir . --role viewer --name prometheus",
                   "ln -s viewer-prometheus.crt viewer.crt", "ln -s viewer-prometheus.key viewer.key")
        self.assertIn("telltale_epochs_received_total", self.shell("cd /root/pki", command))
        stranger = re.sub(r"--(cert|key) \S+ ?", "", command)
        self.assertTrue(self.shell("cd /root/pki", f"{stranger} -s -o /dev/null -w '%{{http_code}}'").endswith("401"))


if __name__ == "__main__":
    machine_root.enter_namespaces()
    facts.main()
