"""A whole Telltale on this host, started the way a user does: deploy/up, queried with the telltale program."""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TELLTALE_BIN", ROOT / "build" / "release" / "bin"))


def rfc3339(unix_s):
    return datetime.datetime.fromtimestamp(unix_s, datetime.timezone.utc).isoformat(timespec="milliseconds")


class Stack:
    """Started by `up`, stopped and removed by `down`. One at a time: budgets hold for one sensor a kernel."""

    def __init__(self, epoch_s=10, learn_epochs=30, budget="off"):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="telltale-stack-"))
        self.epoch_s = epoch_s
        self.learn_epochs = learn_epochs
        # What is planted is compared with all that happened: on two CPUs the loads alone would use up the agent's budget.
        self.budget = budget
        self.output = ""

    def up(self):
        done = subprocess.run([ROOT / "deploy" / "up", "--no-build", "--dir", self.dir, "--epoch",
                               f"{self.epoch_s}s"], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "TELLTALE_AGENT_SENSOR_BUDGET": self.budget,
                                   "TELLTALE_COLLECTOR_FILTERS_LEARN": str(self.learn_epochs)})
        self.output = done.stdout + done.stderr
        if done.returncode != 0:
            raise RuntimeError(f"deploy/up ended with {done.returncode}:\n{self.output}\n{self.logs()}")
        return self

    def down(self):
        subprocess.run([ROOT / "deploy" / "down", "--dir", self.dir], capture_output=True, timeout=60)
        shutil.rmtree(self.dir, ignore_errors=True)

    def environment(self):
        """What `source DIR/env` sets."""
        lines = subprocess.run(["bash", "-c", f"set -a; source {self.dir}/env; env -0"], capture_output=True,
                               check=True).stdout.decode().split("\0")
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def run(self, *arguments, timeout=60):
        return subprocess.run([BIN / "telltale", *arguments], capture_output=True, text=True,
                              timeout=timeout, env=self.environment())

    def ask(self, *arguments):
        """The JSON answer of a telltale command."""
        done = self.run(*arguments, "-o", "json")
        if done.returncode != 0:
            raise RuntimeError(f"telltale {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def get(self, path):
        """The body of an HTTPS answer, as an operator's browser gets it."""
        environment = self.environment()
        port = dict(line.split("=") for line in (self.dir / "ports").read_text().split())["http_port"]
        return subprocess.run(["curl", "-sS", "--fail", "--max-time", "30", "--cacert", environment["TELLTALE_TLS_CA"],
                               "--cert", environment["TELLTALE_TLS_CERT"], "--key", environment["TELLTALE_TLS_KEY"],
                               f"https://localhost:{port}{path}"], capture_output=True, text=True, check=True,
                              timeout=60).stdout

    def pid(self, name):
        return int((self.dir / f"{name}.pid").read_text().split()[0])

    def logs(self):
        return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}"
                         for p in sorted(self.dir.glob("*.log")) if p.name != "build.log")
