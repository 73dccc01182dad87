#!/usr/bin/env python3
"""Records the loads of tests/bench/record_loads at the same time: each is a node, watched in a cgroup of its own, and
one node more is the whole host. Called by record_loads --side-by-side."""

import argparse
import pathlib
import shutil
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scenario"), str(HERE.parent / "support")]

from planting import CGROUPS  # noqa: E402
from scoped_fleet import ScopedFleet, hierarchy  # noqa: E402
from spool_keeper import SpoolKeeper  # noqa: E402
from stack import BIN  # noqa: E402

HOST = "host"
LATE_S = 5  # until the last epoch is stored


class SideBySide(ScopedFleet):
    """DIR/data is the collector's, DIR/recording/NODE holds what the agents spooled."""

    settle_s = 300  # whoever else uses this host is not asked to stop

    def __init__(self, directory, loads, epoch_s):
        self.loads = loads
        super().__init__(BIN, epoch_s, 0, len(loads) + 1, directory)
        self.nodes = [*loads, HOST]
        # Of version 1 CPU time is shared out in a hierarchy of its own.
        self.shared = hierarchy() if hierarchy() == CGROUPS else CGROUPS / "cpu"
        self.keepers = []

    def record(self, minutes, say):
        """RuntimeError says what did not work."""
        self.start_collector()
        for group in {self.group, self.shared / self.group.name}:
            group.mkdir()
        self._yield_to_others(self.shared / self.group.name)
        for load in self.loads:
            for group in {self.group, self.shared / self.group.name}:
                (group / load).mkdir()
            scratch = self.dir / "scratch" / load
            scratch.mkdir(parents=True)
            self._run_in(load, f"load-{load}", f"echo $$ >{self.shared / self.group.name / load}/cgroup.procs; "
                         f"TMPDIR={scratch} exec nice -n 19 {HERE / 'record_loads'} --play {load} --minutes {minutes + 60}")
        self._start_agents(say)
        self.keepers = [SpoolKeeper(self.dir / node / "spool", self.dir / "recording" / node) for node in self.nodes]
        for keeper in self.keepers:
            keeper.on = True
        whole_from = (time.time() // self.epoch_s + 1) * self.epoch_s
        for epochs in sorted({2, 60 * minutes // self.epoch_s}):
            self._sleep_until(whole_from + epochs * self.epoch_s + LATE_S)
            stored = self._check(epochs)
        say("epochs stored: " + ", ".join(f"{node} {stored[node]}" for node in self.nodes))

    def _check(self, epochs):
        """That all goes on as it should after so many whole ones; how many are stored, by node."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended before its time: {self.log(name)}")
        stored = {node["name"]: node["epochsReceived"] for node in self.ask("nodes")["nodes"]}
        if few := [node for node in self.nodes if stored.get(node, 0) < epochs]:
            raise RuntimeError(f"of {', '.join(few)} fewer than {epochs} epochs are stored: {stored}; {self.log('collector')}")
        return stored

    def close(self):
        for keeper in self.keepers:
            keeper.close()
        super().close()
        for load in self.loads:
            self._empty(self.shared / self.group.name / load)
        if (self.shared / self.group.name).exists():
            (self.shared / self.group.name).rmdir()
        shutil.rmtree(self.dir / "scratch", ignore_errors=True)

    def _agent_options(self, node):
        return ["--unwind-dir", self.dir / node / "unwind", *(["--sensor-scope", self._scope(node)] if node != HOST else [])]

    @staticmethod
    def _yield_to_others(group):
        """All loads together weigh half of what one other session does; with the least weight a host at work would starve them."""
        try:
            if (group / "cpu.shares").exists():
                (group / "cpu.shares").write_text("512")
            else:
                (group.parent / "cgroup.subtree_control").write_text("+cpu")
                (group / "cpu.weight").write_text("50")
        except OSError as error:
            print(f"record_loads: the loads have no lower weight, only nice 19: {error}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/record_loads --side-by-side")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("loads", nargs="+")
    parser.add_argument("--minutes", type=int, required=True)
    parser.add_argument("--epoch", type=int, required=True, help="seconds")
    given = parser.parse_args()
    # Also where a shell started this in the background and had the signal ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("record_loads: interrupted"))
    began = time.time()
    fleet = SideBySide(given.dir.resolve(), given.loads, given.epoch)
    try:
        fleet.record(given.minutes, lambda text: print(f"{time.time() - began:6.0f} s  {text}", flush=True))
    except RuntimeError as failed:
        sys.exit(f"record_loads: {failed}")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        fleet.close()
    print(f"recorded: tests/bench/stored_bytes {given.dir}/data --all-nodes, "
          f"tests/bench/run collector --recording {given.dir}/recording")


if __name__ == "__main__":
    main()
