"""Plays epochs that one real sensor recorded to a real collector, over mutual TLS, as those of many nodes.

Two recordings of one agent: `calm` and, later, `faulty`, with a fault in each epoch. Most nodes play the calm one. The
others play the calm one and then the faulty one without a pause, for an epoch behind a hole has to wait for what is missing.
The simulator (tests/fleetsim) lets each node begin at a place of the recording that follows from its seed; so a seed is
looked for with which each begins near the start, and what then arrived is checked.
"""

import itertools
import shutil
import subprocess
import time

from fleet_collector import SETTLE_S, FleetCollector
from stack import rfc3339

CALM_EPOCHS = 15   # before the fault; a node may begin with the second or third of them
LEAST_FAULTY_EPOCHS = 4
PLAYED_EPOCHS = CALM_EPOCHS + 6
WORD = (1 << 64) - 1


def mix(*words):
    """Mix of tests/fleetsim/noise.h: the step of splitmix64."""
    *before, z = words
    z = (z + 0x9e3779b97f4a7c15) & WORD
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & WORD
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & WORD
    z ^= z >> 31
    return mix(before[0] ^ z) if before else z


def onset(seed, node, length):
    """Which epoch of the node is its first faulty one, from 1 on, where the recording has that many epochs."""
    at = mix(mix(seed, node), 11) % length
    return (CALM_EPOCHS - at - 1) % length + 1


def seed_for(nodes, length):
    """With it all of these have calm epochs first, and the fault within three epochs of each other."""
    def fits(seed):
        return all(CALM_EPOCHS - 1 <= onset(seed, node, length) <= CALM_EPOCHS + 1 for node in nodes)

    return next(filter(fits, itertools.count(1)))


class PlayedFleet(FleetCollector):
    @property
    def faulty_nodes(self):
        return [f"sim-{number:05}" for number in range(1, self.faulty + 1)]

    def play(self, calm, faulty, program):
        """Until all is stored and looked at. RuntimeError says what did not work."""
        calm, faulty = self._whole(calm)[-CALM_EPOCHS:], self._whole(faulty)
        if len(calm) < CALM_EPOCHS or len(faulty) < LEAST_FAULTY_EPOCHS:
            raise RuntimeError(f"of the agent {len(calm)} whole calm and {len(faulty)} faulty epochs were kept, and "
                               f"{CALM_EPOCHS} and {LEAST_FAULTY_EPOCHS} are needed")
        numbers, length = range(1, self.faulty + 1), len(calm) + len(faulty)
        seed = seed_for(numbers, length)
        self.start_collector()
        self._simulator("innocent", self._recording("calm", calm), self.faulty + 1, self.of - self.faulty, seed)
        self._simulator("faulty", self._recording("both", calm + faulty), 1, self.faulty, seed)
        for name in ("innocent", "faulty"):
            self._await(name)
        time.sleep(3)  # until the last epoch is looked at
        first_s = {node["name"]: node["firstS"] for node in self.ask("nodes")["nodes"]}
        for number, node in zip(numbers, self.faulty_nodes):
            self.began_s[node] = first_s[node] + (onset(seed, number, length) - 1) * self.epoch_s
            self._check(node, first_s[node], program)

    def _check(self, node, first_s, program):
        """That the simulator played what it was to play: the program runs from that epoch on, and not before."""
        # What touches an epoch counts, and clocks of nodes differ a little: so from inside of one to inside of one.
        began_s, little = self.began_s[node], self.epoch_s / 4
        for from_s, to_s, there in ((first_s + little, began_s - little, False), (began_s + little, began_s + 2 * little, True)):
            if (program in self.programs_on(node, from_s, to_s)) != there:
                raise RuntimeError(f"{node}: {program} is {'not ' if there else ''}there from {rfc3339(from_s)} to "
                                   f"{rfc3339(to_s)}; the simulator played the recording from another place on")

    def _whole(self, recording):
        """Its whole epochs: the simulator leaves out the others, those that began late or ended early."""
        def whole(file):
            done = subprocess.run([self.programs / "telltale", "dump", file, "-o", "json"], capture_output=True, text=True)
            return '"EPOCH_KIND_FULL"' in done.stdout

        return [file for file in sorted(recording.glob("*.rec")) if whole(file)]

    def _recording(self, name, files):
        to = self.dir / name
        to.mkdir()
        for file in files:
            shutil.copy(file, to)
        return to

    def _simulator(self, name, recording, first, count, seed):
        self.start(name, self.programs / "telltale-fleetsim", "--pki", self.dir / "pki",
                    "--collector", f"localhost:{self.port}", "--recordings", recording, "--first", str(first),
                    "--nodes", str(count), "--epoch", f"{self.epoch_s}s", "--epochs", str(PLAYED_EPOCHS), "--warmup", "0",
                    "--drain", "10s", "--seed", str(seed))

    def _await(self, name):
        limit_s = (PLAYED_EPOCHS + 1) * self.epoch_s + SETTLE_S
        try:
            code = self.running[name].wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"the simulator {name} was still playing after {limit_s} s: {self.log(name)}") from None
        if code != 0:
            raise RuntimeError(f"the simulator {name} ended with {code}: {self.log(name)}")
