"""A real collector of its own for a fleet of nodes, over mutual TLS, and what it found out.

Everything it and the fleet start lives as long as this program; stopped and removed by `close`.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from planting import free_port
from stack import rfc3339

LEARN_EPOCHS = 12  # the rules, of each node
SETTLE_S = 60


class FleetCollector:
    """The first `faulty` nodes of `of` are those with the fault. `keep_in`: a directory that stays, with all that was stored."""

    settle_s = SETTLE_S  # until what was started is ready, and until what was asked to end has ended

    def __init__(self, programs, epoch_s, faulty, of, keep_in=None):
        self.programs, self.epoch_s, self.faulty, self.of = pathlib.Path(programs), epoch_s, faulty, of
        self.dir, self.kept = keep_in or pathlib.Path(tempfile.mkdtemp(prefix="telltale-fleet-")), keep_in is not None
        self.running = {}  # by name
        self.began_s = {}  # by node, where its first faulty epoch begins

    def incidents(self):
        """All, whole."""
        return [self.ask("incidents", str(incident["number"]))["incidents"][0]
                for incident in self.ask("incidents", "--all", "--limit", "1000").get("incidents", [])]

    def anomalies(self):
        return self.ask("anomalies", "--from", "-1h", "--limit", "10000").get("anomalies", [])

    def filters(self):
        return {row["name"]: (row.get("rule", 0), row["version"]) for row in self.ask("filter", "list")["filters"]}

    def programs_on(self, node, from_s, to_s):
        """Names of the programs that used the CPU there."""
        top = self.ask("top", "--node", node, "--vital", "cpu", "--by", "process", "--limit", "1000",
                       "--from", rfc3339(from_s), "--to", rfc3339(to_s))
        return {pathlib.PurePath(row["exe"]).name for table in top["tables"] for row in table["rows"] if row["exe"]}

    def ask(self, *arguments):
        pki = self.dir / "pki"
        done = subprocess.run([self.programs / "telltale", *arguments, "-o", "json"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "TELLTALE_COLLECTOR": f"localhost:{self.port}",
                                   "TELLTALE_TLS_CA": str(pki / "ca.crt"),
                                   "TELLTALE_TLS_CERT": str(pki / "operator-operator.crt"),
                                   "TELLTALE_TLS_KEY": str(pki / "operator-operator.key")})
        if done.returncode != 0:
            raise RuntimeError(f"telltale {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def close(self):
        if self.kept:
            self.end("collector")  # a killed one would leave out what it has not synced yet
        for process in self.running.values():
            process.kill()
            process.wait()
        if not self.kept:
            shutil.rmtree(self.dir, ignore_errors=True)

    def end(self, name):
        """Asks those whose names begin so to end, all at once; one that does not is killed by `close`."""
        ending = [process for running, process in self.running.items() if running.startswith(name)]
        for process in ending:
            process.terminate()
        for process in ending:
            try:
                process.wait(timeout=self.settle_s)
            except subprocess.TimeoutExpired:
                pass

    def start_collector(self):
        pki = self.dir / "pki"
        self.pki("init")
        self.pki("issue", "--role", "collector", "--name", "collector", "--dns", "localhost", "--ip", "127.0.0.1")
        self.pki("issue", "--role", "operator", "--name", "operator")
        self.port = free_port()
        self.start("collector", self.programs / "telltale-collector", "--data", self.dir / "data",
                   "--listen-grpc", f"127.0.0.1:{self.port}", "--listen-https", f"127.0.0.1:{free_port()}",
                   "--tls-ca", pki / "ca.crt", "--tls-cert", pki / "collector-collector.crt",
                   "--tls-key", pki / "collector-collector.key", "--ingest-spread", "1s",
                   "--filters-learn", str(LEARN_EPOCHS))
        deadline = time.monotonic() + self.settle_s
        while "ready" not in self.log("collector"):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the collector of the fleet was not ready after {self.settle_s} s: "
                                   f"{self.log('collector')}")
            time.sleep(0.2)

    def start(self, name, *command):
        with open(self.dir / f"{name}.log", "wb") as log:
            self.running[name] = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command], stdout=log,
                                                  stderr=log, stdin=subprocess.DEVNULL)

    def log(self, name):
        return (self.dir / f"{name}.log").read_text(errors="replace")[-2000:]

    def pki(self, verb, *arguments):
        subprocess.run([self.programs / "telltale", "pki", verb, "--dir", self.dir / "pki", *arguments], check=True,
                       stdout=subprocess.DEVNULL)
