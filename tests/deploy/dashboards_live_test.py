#!/usr/bin/env python3
"""Prometheus and Alertmanager with the sample configurations as given, over a collector with an agent and simulated
nodes: each panel of each dashboard shows data, each alert rule can be evaluated, alerts would arrive. The agent watches
this kernel where it may, so it wants no other sensor beside it; elsewhere it replays, and what only a kernel's sensor has
is skipped.
"""

import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402
import machine_root  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
PROMETHEUS = pathlib.Path("/etc/prometheus")
# Needs hardware counters, which most virtual machines lack: the query must be good, an empty answer is right.
MAY_BE_EMPTY = "llc_misses"
# Reckoned by the governor of the kernel's sensor.
OF_THE_KERNEL = "telltale_agent_part_"


def as_sent(variable, panel_expression, choices):
    """The queries Grafana would send: variables replaced, once for each choice of `variable`."""
    text = panel_expression.replace("$__rate_interval", "4m").replace("offset 1h", "offset 4s")
    text = re.sub(r"\$(group|node)\b", ".*", text)
    return [text.replace("${%s}" % variable, choice) for choice in choices] if "${" in text else [text]


def queries():
    """(dashboard, panel, query) of every target of every panel."""
    for file in sorted((ROOT / "deploy/grafana/dashboards").glob("*.json")):
        dashboard = json.loads(file.read_text())
        custom = {v["name"]: [o["value"] for o in v["options"]]
                  for v in dashboard["templating"]["list"] if v["type"] == "custom"}
        variable, choices = next(iter(custom.items()), ("", []))
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                for query in as_sent(variable, target["expr"], choices):
                    yield dashboard["title"], panel["title"], query


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: ports and /etc/prometheus of its own need root")
@unittest.skipIf(shutil.which("prometheus") is None, "SKIPPED: prometheus is not installed (Debian: prometheus)")
class DashboardsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="telltale-dashboards-"))
        cls.running = []
        try:
            cls.start()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        for process in reversed(cls.running):
            process.kill()
            process.wait()
        shutil.rmtree(cls.dir, ignore_errors=True)

    @classmethod
    def start(cls):
        machine_root.loopback_up()
        pki = cls.dir / "pki"

        def issue(role, name, *more):
            subprocess.run([BIN / "telltale", "pki", "issue", "--dir", pki, "--role", role, "--name", name, *more],
                           check=True, stdout=subprocess.DEVNULL)
        subprocess.run([BIN / "telltale", "pki", "init", "--dir", pki], check=True, stdout=subprocess.DEVNULL)
        issue("collector", "collector", "--dns", "localhost", "--ip", "127.0.0.1")
        issue("collector", "alertmanager", "--dns", "localhost")
        issue("node", "db-1")
        issue("viewer", "prometheus")
        # The samples where their first lines say they go.
        etc = cls.dir / "etc"
        (etc / "telltale").mkdir(parents=True)
        for file in (ROOT / "deploy/prometheus").iterdir():
            shutil.copy(file, etc)
        for source, name in (("ca.crt", "ca.crt"), ("ca.crt", "alertmanager-ca.crt"),
                             ("viewer-prometheus.crt", "viewer.crt"), ("viewer-prometheus.key", "viewer.key"),
                             ("collector-alertmanager.crt", "alertmanager.crt"),
                             ("collector-alertmanager.key", "alertmanager.key")):
            shutil.copy(pki / source, etc / "telltale" / name)
        # The one thing that is not as given: a test cannot wait for scrapes half a minute apart.
        sample = etc / "prometheus.yml"
        sample.write_text(sample.read_text().replace("_interval: 30s", "_interval: 2s"))
        PROMETHEUS.mkdir(exist_ok=True)
        subprocess.run(["mount", "--bind", etc, PROMETHEUS], check=True)

        cls.spawn("collector", BIN / "telltale-collector", "--data", cls.dir / "data", "--tls-ca", pki / "ca.crt",
                  "--tls-cert", pki / "collector-collector.crt", "--tls-key", pki / "collector-collector.key",
                  "--ingest-spread", "1s")
        check = subprocess.run([BIN / "telltale-agent", "check"], capture_output=True, text=True, timeout=120)
        cls.unwatched = check.stderr.strip() if check.returncode != 0 else ""
        cls.spawn("agent", BIN / "telltale-agent", "--collector", "localhost:7410", "--tls-ca", pki / "ca.crt",
                  "--tls-cert", pki / "node-db-1.crt", "--tls-key", pki / "node-db-1.key", "--epoch", "5s",
                  "--spool-dir", cls.dir / "spool", "--unwind-dir", cls.dir / "unwind", "--status-socket", cls.dir / "agent.sock",
                  "--uplink-reconnect-max", "1s", "--sensor-kind", "replay" if cls.unwatched else "bpf")
        cls.await_true(lambda: "ready" in (cls.dir / "collector.log").read_text(), "the collector")
        cls.spawn("fleetsim", BIN / "telltale-fleetsim", "--pki", pki, "--collector", "localhost:7410", "--nodes", "3",
                  "--epoch", "5s", "--epochs", "1000")
        cls.spawn("prometheus", "prometheus", f"--config.file={PROMETHEUS}/prometheus.yml",
                  f"--storage.tsdb.path={cls.dir}/tsdb", "--web.listen-address=127.0.0.1:9090")
        if shutil.which("prometheus-alertmanager") is not None:
            cls.spawn("alertmanager", "prometheus-alertmanager", f"--config.file={PROMETHEUS}/alertmanager.yml",
                      f"--web.config.file={PROMETHEUS}/alertmanager-web.yml", f"--storage.path={cls.dir}/alertmanager",
                      "--cluster.listen-address=", "--web.listen-address=127.0.0.1:9093")

    @classmethod
    def spawn(cls, name, *command):
        with open(cls.dir / f"{name}.log", "ab") as log:
            command = ["setpriv", "--pdeathsig", "KILL", "--", *command]  # whatever becomes of this test
            cls.running.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    @classmethod
    def logs(cls):
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}"
                         for log in sorted(cls.dir.glob("*.log")))

    @classmethod
    def await_true(cls, ask, what, seconds=120):
        end = time.monotonic() + seconds
        while not ask():
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come within {seconds} s\n{cls.logs()}")
            time.sleep(0.5)

    @staticmethod
    def api(path):
        """The data of an answer of Prometheus; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:9090/api/v1/{path}", timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()}") from error
        except OSError:
            return None

    def test_every_query_is_understood(self):
        for entry in queries():
            self.await_true(lambda: self.api("query?query=" + urllib.parse.quote(entry[2])) is not None, entry[2])

    def test_every_panel_shows_data(self):
        entries = [entry for entry in queries() if not any(part in entry[2] for part in (MAY_BE_EMPTY, OF_THE_KERNEL))]
        self.assertGreater(len(entries), 80)
        self.assert_shown(entries)

    def test_what_the_parts_of_the_agent_take_is_shown(self):
        if self.unwatched:
            self.skipTest(f"SKIPPED: the agent replays, as this kernel cannot be watched: {self.unwatched}")
        entries = [entry for entry in queries() if OF_THE_KERNEL in entry[2]]
        self.assertEqual({panel for _, panel, _ in entries}, {"Steps turned down", "CPUs by part"})
        self.assert_shown(entries)

    def assert_shown(self, entries):
        empty = list(entries)

        def shown():
            empty[:] = [entry for entry in empty if not (self.api(
                "query?query=" + urllib.parse.quote(entry[2])) or {"result": []})["result"]]
            return not empty
        try:
            self.await_true(shown, "data")
        except AssertionError as error:
            lines = "\n".join(f"{dashboard} / {panel}: {query}" for dashboard, panel, query in empty)
            self.fail(f"panels without data:\n{lines}\n{error}")

    def test_every_rule_is_evaluated(self):
        def rules():
            groups = (self.api("rules") or {"groups": []})["groups"]
            return [rule for group in groups for rule in group["rules"]]
        self.await_true(lambda: rules() and all(rule["health"] != "unknown" for rule in rules()), "evaluation")
        self.assertEqual([rule for rule in rules() if rule["health"] != "ok"], [])
        # A collector and nodes that are well raise none of those that wake somebody.
        self.assertEqual([rule["name"] for rule in rules() if rule["state"] == "firing" and
                          rule["labels"]["severity"] == "critical"], [])

    def test_alertmanager_hears_over_tls(self):
        if shutil.which("prometheus-alertmanager") is None:
            self.skipTest("SKIPPED: alertmanager is not installed (Debian: prometheus-alertmanager)")
        self.await_true(lambda: len((self.api("alertmanagers") or {"activeAlertmanagers": []})
                                    ["activeAlertmanagers"]) == 1, "Alertmanager")
        trust = ssl.create_default_context(cafile=str(self.dir / "pki/ca.crt"))

        def status():
            try:
                with urllib.request.urlopen("https://localhost:9093/api/v2/status", context=trust, timeout=20) as answer:
                    return json.load(answer)
            except OSError:
                return None
        self.await_true(lambda: status() is not None, "Alertmanager's answer")
        self.assertIn("TelltaleManyAgentsSilent", status()["config"]["original"])

    def test_promtool_finds_the_rules_and_their_tests_good(self):
        for command in (["check", "config", "prometheus.yml"], ["test", "rules", "telltale.rules.test.yml"]):
            done = subprocess.run(["promtool", *command], cwd=PROMETHEUS, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    machine_root.enter_namespaces(processes=False)
    facts.main()
