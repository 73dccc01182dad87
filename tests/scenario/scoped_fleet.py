"""Many real agents on this one kernel, each watching a cgroup of its own, and one real collector, over mutual TLS.

Each node has the same small innocent load in its cgroup; after a while the first ones get the fault besides. All share
the CPUs of one machine, so faults run at a low priority: what they took away from the other nodes would be a fault there.
"""

import os
import pathlib
import subprocess
import time

from fleet_collector import LEARN_EPOCHS, FleetCollector
from planting import CGROUPS
from stack import rfc3339

CALM_EPOCHS = LEARN_EPOCHS + 3
FAULTY_EPOCHS = 6
TOGETHER = 5  # agents that load their programs at a time
INNOCENT = "while :; do head -c 200000 /dev/zero | gzip -1 >/dev/null; sleep 0.5; done"


def hierarchy():
    """The one whose paths sensor.scope takes (deploy/docs/agent.md)."""
    if (CGROUPS / "cgroup.controllers").exists():
        return CGROUPS
    return CGROUPS / "memory"


class ScopedFleet(FleetCollector):
    def __init__(self, programs, epoch_s, faulty, of, keep_in=None):
        super().__init__(programs, epoch_s, faulty, of, keep_in)
        self.dir.chmod(0o711)
        self.group = hierarchy() / f"telltale_fleet_{os.getpid()}"
        self.agent_cpu_s = 0.0  # of one agent, mean
        self.nodes = [f"node-{number:02}" for number in range(1, of + 1)]

    @property
    def faulty_nodes(self):
        return self.nodes[:self.faulty]

    def play(self, entry, say):
        """Until the fault's epochs are stored and looked at. RuntimeError says what did not work."""
        exe = self.dir / f"planted_{entry.name}"
        exe.write_bytes((self.programs / entry.program).read_bytes())
        exe.chmod(0o755)
        self.start_collector()
        self.group.mkdir()
        for node in self.nodes:
            (self.group / node).mkdir()
            self._run_in(node, f"load-{node}", INNOCENT)
        self._start_agents(say)
        began = time.time()
        self._sleep_until(began + CALM_EPOCHS * self.epoch_s)
        planted_s = time.time()
        for node in self.faulty_nodes:
            self._run_in(node, f"fault-{node}", "exec nice -n 10 " + entry.run.removeprefix("exec ").format(it=exe))
            self.began_s[node] = planted_s - planted_s % self.epoch_s
        say(f"the fault is on {self.faulty} of {self.of}")
        self._sleep_until(planted_s + FAULTY_EPOCHS * self.epoch_s)
        ended_s = time.time()
        self.agent_cpu_s = sum(self._cpu_s(node) for node in self.nodes) / (ended_s - began) / self.of
        time.sleep(self.epoch_s + 3)  # until the last epoch is looked at
        for node in self.nodes:
            self._check(node, began, planted_s, ended_s, exe.name)

    def close(self):
        self.end("agent-")
        super().close()
        for node in self.nodes:
            self._empty(self.group / node)
        try:
            self.group.rmdir()
        except OSError:
            pass

    def _check(self, node, began_s, planted_s, ended_s, program):
        """That the fault is seen where it is and nowhere else, and that answers say what was watched."""
        notes = self.ask("coverage", "--node", node, "--from", rfc3339(began_s))["coverage"]["notes"]
        if not any(f"/{node} on {node}" in note for note in notes):
            raise RuntimeError(f"{node}: the coverage of its answers does not say which cgroup they are of: {notes}")
        before = self.programs_on(node, began_s, planted_s - self.epoch_s)
        during = self.programs_on(node, planted_s + self.epoch_s, ended_s)
        if program in before or (program in during) != (node in self.faulty_nodes):
            raise RuntimeError(f"{node}: {program} was {'' if program in during else 'not '}seen; before it was planted: {before}")

    def _run_in(self, node, name, command):
        self.start(name, "bash", "-c", f"echo $$ >{self.group / node}/cgroup.procs; {command}")

    def _start_agents(self, say):
        for first in range(0, self.of, TOGETHER):
            for node in self.nodes[first:first + TOGETHER]:
                self._start_agent(node)
            for node in self.nodes[first:first + TOGETHER]:
                self._await_agent(node)
            say(f"{min(first + TOGETHER, self.of)} of {self.of} agents watch")

    def _start_agent(self, node):
        pki, home = self.dir / "pki", self.dir / node
        home.mkdir()
        self.pki("issue", "--role", "node", "--name", node)
        self.start(f"agent-{node}", self.programs / "telltale-agent", "--collector", f"localhost:{self.port}",
                   "--tls-ca", pki / "ca.crt", "--tls-cert", pki / f"node-{node}.crt", "--tls-key", pki / f"node-{node}.key",
                   "--spool-dir", home / "spool", "--status-socket", home / "agent.sock", "--epoch", f"{self.epoch_s}s",
                   *self._agent_options(node))

    def _agent_options(self, node):
        return ["--sensor-scope", self._scope(node), "--unwind-dir", "", "--sensor-budget", "off"]

    def _scope(self, node):
        return f"cgroup:/{(self.group / node).relative_to(hierarchy())}"

    def _await_agent(self, node):
        deadline = time.monotonic() + self.settle_s
        while "vitals active" not in self.log(f"agent-{node}"):
            if time.monotonic() > deadline or self.running[f"agent-{node}"].poll() is not None:
                raise RuntimeError(f"the agent of {node} does not watch: {self.log(f'agent-{node}')}")
            time.sleep(0.1)

    def _cpu_s(self, node):
        """Of the agent's processes, which are its first one and that one's children."""
        first, ticks = self.running[f"agent-{node}"].pid, os.sysconf("SC_CLK_TCK")
        used = 0
        for entry in pathlib.Path("/proc").iterdir():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split() if entry.name.isdigit() else None
            except OSError:
                continue
            if stat and (int(entry.name) == first or int(stat[1]) == first):
                used += (int(stat[11]) + int(stat[12])) / ticks
        return used

    @staticmethod
    def _sleep_until(unix_s):
        time.sleep(max(0.0, unix_s - time.time()))

    @staticmethod
    def _empty(group):
        for _ in range(50):
            try:
                pids = (group / "cgroup.procs").read_text().split()
                for pid in pids:
                    subprocess.run(["kill", "-KILL", pid], check=False, stderr=subprocess.DEVNULL)
                if not pids:
                    group.rmdir()
                    return
            except FileNotFoundError:
                return
            except OSError:
                pass
            time.sleep(0.1)
