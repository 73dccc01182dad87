"""The loads with and without a watcher beside them, interleaved; a row for each load and watcher."""
import statistics
import subprocess

import pairs
import processes
from loads import Fitted, LoadFailed
from rows import Row, coverage, coverage_words
from watchers import Agent, WatcherFailed

GROUP = 'Loads: CPU time with / without'
TITLES = {'floor': 'floor', 'held': 'held at 1 %', 'perf': 'perf record -F 99 -a -g',
          'bpftrace': 'bpftrace, counts by command', 'empty': 'an empty program'}
COLUMNS = ('floor', 'held', 'perf', 'bpftrace')


class LoadRows:
    """Runs turn after turn of every load and keeps all runs. progress(text) is told what runs."""

    def __init__(self, watchers, peers, seconds, scratch, progress):
        self._watchers, self._peers = watchers, peers
        self._seconds, self._scratch, self._progress = seconds, scratch, progress
        self.runs = []
        self._amounts = {}
        self.failures = {}  # (load, watcher or '') -> why
        self.seen = {}  # (load, watcher) -> coverage

    def measure(self, loads, turns, keep=True):
        """keep: read what the agent says it saw, in the last turn."""
        for turn in range(turns):
            for load in loads:
                if (load.name, '') in self.failures:
                    continue
                # The peers need less precision: every other turn.
                names = [w for w in self._watchers if w not in self._peers or turn % 2 == 0]
                names = [w for w in names if (load.name, w) not in self.failures]
                try:
                    self._turn(load, turn, names, keep=keep and turn == turns - 1)
                except LoadFailed as failure:
                    self.failures[load.name, ''] = str(failure)

    def _turn(self, load, turn, names, keep):
        self._progress(f'turn {turn + 1}: {load.title}')
        with Fitted(load, self._seconds, self._scratch, self._amounts.get(load.name)) as fitted:
            self._amounts[load.name] = fitted.amount
            runs = []
            for name in pairs.order(names, turn):
                if name == pairs.ALONE:
                    runs.append(fitted.run(name, turn))
                elif not runs or runs[-1].watcher != name:  # the second of two runs is made with the first
                    runs += self._watched(fitted, name, turn, keep)
            self.runs.append(runs)

    def _watched(self, fitted, name, turn, keep):
        watcher = self._watchers[name]
        self._progress(f'turn {turn + 1}: {fitted.load.title}, {TITLES[name]}')
        try:
            watcher.start()
        except WatcherFailed as failure:
            self.failures[fitted.load.name, name] = str(failure)
            return []
        try:
            # What it sees first costs more (stacks of all that is new): that is not the long run.
            fitted.run_for(watcher.settle_s)
            own = watcher.pids()
            return [fitted.run(name, turn, own) for _ in range(2)]
        finally:
            self._stop(watcher, fitted.load.name, keep)

    def _stop(self, watcher, load, keep):
        try:
            watcher.stop(keep)
            if keep and isinstance(watcher, Agent):
                self.seen[load, watcher.name] = coverage(watcher.last_body())
        except (WatcherFailed, subprocess.SubprocessError) as failure:
            self.failures[load, watcher.name] = str(failure)

    def pairs_of(self, load, watcher):
        return [pair for runs in self.runs if runs and runs[0].load == load for pair in pairs.pair(runs, watcher)]

    def row(self, load, watcher, absent=''):
        """absent: why this watcher was not there at all."""
        name = f'{load.title}: {TITLES[watcher]}'
        why = absent or self.failures.get((load.name, watcher)) or self.failures.get((load.name, ''))
        if load.missing():
            why = f'install {", ".join(sorted(set(load.missing())))}'
        found = self.pairs_of(load.name, watcher)
        if not found:
            return Row(GROUP, name, note=why or 'no pair of runs')
        host = pairs.figure(100 * (b.cpu_s + b.own_cpu_s - a.cpu_s) / (processes.CPUS * a.wall_s) for b, a in found)
        ratio = pairs.figure(100 * ((b.cpu_s + b.own_cpu_s) / a.cpu_s - 1) for b, a in found)
        own = statistics.median(100 * b.own_cpu_s / a.cpu_s for b, a in found)
        wall = statistics.median(100 * (b.wall_s / a.wall_s - 1) for b, a in found)
        note = f'its own processes {own:.2f} of it; wall {wall:+.1f} %'
        seen = self.seen.get((load.name, watcher))
        if watcher == 'held':
            note = f'{ratio.value:+.2f} % of the load; ' + note
            floor = self.seen.get((load.name, 'floor'))
            note += '; ' + (coverage_words(seen) if seen else 'coverage not read')
            note += f' (floor: {coverage_words(floor)})' if floor else ''
        else:
            note += f'; {host.value:.2f} % of the host'
        target = {'floor': f'floor.{load.name}', 'held': 'held'}.get(watcher, '')
        more = {'load': load.name, 'column': watcher, 'own_percent': own, 'wall_percent': wall,
                'host_percent': host.value, 'coverage': seen}
        return Row(GROUP, name, host if watcher == 'held' else ratio, '% of host' if watcher == 'held' else '%',
                   target, note, more)

    def extra_ns(self, load, watcher='floor', per=lambda run: run.amount):
        """CPU time that the watcher adds to one operation, in the load itself."""
        return pairs.figure(1e9 * (b.cpu_s / per(b) - a.cpu_s / per(a)) for b, a in self.pairs_of(load, watcher))

    def others(self):
        """(share of the host that others used, number of runs with another agent on the kernel, of how many)."""
        runs = [run for turn in self.runs for run in turn]
        share = [run.other_cpu_s / (processes.CPUS * run.wall_s) for run in runs]
        return statistics.median(share) if share else 0, sum(run.sensors > 0 for run in runs), len(runs)
