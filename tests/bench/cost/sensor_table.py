"""The whole table of `run sensor`: which parts there are, in which order they run and stand."""
import subprocess

import load_rows
import loads
import processes
import watchers
from event_rows import ATTACHED, GROUP as EVENTS, SAMPLES, EventRows
from life_rows import GROUP as AGENT, IDLE, LifeRows
from one_run_rows import GROUP as ONE_RUN, OneRunRows
from rows import Row

FAILURES = (watchers.WatcherFailed, loads.LoadFailed, RuntimeError, subprocess.SubprocessError)
NO_GOVERNOR = 'not measured: this agent has no governor'


class SensorTable:
    """site: where agents run; only: names of loads, empty for the whole table; turns: None for as many
    as is usual; progress(text) is told what runs."""

    def __init__(self, site, only, quick, turns, scratch, progress):
        self._site, self._only, self._quick = site, only, quick
        self._scratch, self._progress = scratch, progress
        self._loads, self._hot_loops = loads.all_loads(scratch)
        self._seconds = 0.5 if quick else 1.6
        self._turns = turns or (1 if quick else 4)
        governed = '--sensor-budget' in site.ask('telltale-agent', '--help')
        off = 'off' if governed else None
        # Floor: samples of the first seconds are over, the first cut is not yet there. Held: it is
        # over too, and the governor has found its place.
        self._floor = watchers.Agent('floor', site, 1.5 if quick else 3.5, off)
        self._watchers = {'floor': self._floor}
        if governed:
            self._watchers['held'] = watchers.Agent('held', site, 2 if quick else 12, '1%')
        self._absent = {} if governed else {'held': NO_GOVERNOR}
        peers = [watchers.Perf(scratch), watchers.Bpftrace(scratch)]
        for peer in peers:
            if missing := [package for program, package in peer.needs if not processes.installed(program)]:
                self._absent[peer.name] = f'install {missing[0]}'
            else:
                self._watchers[peer.name] = peer
        self._hot = load_rows.LoadRows({'floor': self._floor}, [], self._seconds / 2, scratch, progress)
        self._pairs = load_rows.LoadRows(self._watchers, [peer.name for peer in peers], self._seconds, scratch, progress)

    def others(self):
        return self._pairs.others()

    def runs(self):
        """Of each turn of each load, in the order they were made."""
        return self._pairs.runs + [runs for runs in self._hot.runs if runs not in self._pairs.runs]

    def rows(self):
        only = self._only
        wanted = [load for load in self._loads if not only or load.name in only]
        events = EventRows(self._site.binaries, self._quick, self._scratch, self._progress)
        if only:
            idle = self._or_why(IDLE, lambda: self._only_idle(events)) if 'idle' in only else []
            if 'mix' in only:
                events.measure_statistics()
            return self._load_rows(wanted) + idle + (self._one_run(events.empty_ns) if 'mix' in only else [])
        programs = self._or_why(EVENTS, events.programs)
        life = self._or_why(AGENT, lambda: self._life(events.empty_ns))
        rows = self._one_run(events.empty_ns) + self._load_rows(wanted)
        rows += [row for row in life if row.group == IDLE] + programs
        rows += self._or_why(ATTACHED, lambda: self._attached(events))
        rows += self._or_why(SAMPLES, events.samples) + self._or_why(SAMPLES, events.unwinding)
        return rows + [row for row in life if row.group != IDLE]

    @staticmethod
    def _or_why(group, measure):
        """Its rows; should it fail, one that says so: what was measured before is not lost."""
        try:
            return measure()
        except FAILURES as failure:
            return [Row(group, 'this part', note=f'not measured: {failure}')]

    def _load_rows(self, wanted):
        self._pairs.measure([load for load in wanted if not load.missing()], self._turns)
        return [self._pairs.row(load, column, self._absent.get(column, ''))
                for load in wanted for column in load_rows.COLUMNS]

    def _life_of(self, agent, empty_ns):
        return LifeRows(self._site, agent, empty_ns, self._quick, self._progress)

    def _held_idle(self, empty_ns):
        if 'held' in self._watchers:
            return self._life_of(self._watchers['held'], empty_ns).idle()
        return [Row(IDLE, 'agent and BPF time, share of all CPUs: held at 1 %', target='held', note=self._absent['held'])]

    def _one_run(self, empty_ns):
        if 'held' not in self._watchers:
            return [Row(ONE_RUN, 'this part', note=self._absent['held'])]
        kinds = [load for load in self._loads if load.name in ('build', 'nginx')]
        if missing := [package for kind in kinds for package in kind.missing()]:
            return [Row(ONE_RUN, 'this part', note=f'not measured: install {missing[0]}')]
        run = OneRunRows(self._site, self._watchers['held'], empty_ns, self._quick, self._scratch, self._progress)
        return self._or_why(ONE_RUN, lambda: run.measure(kinds))

    def _only_idle(self, events):
        events.measure_statistics()
        return self._life_of(self._floor, events.empty_ns).idle() + self._held_idle(events.empty_ns)

    def _life(self, empty_ns):
        build = next(load for load in self._loads if load.name == 'build')
        life = self._life_of(self._floor, empty_ns)
        if build.missing():
            rows = life.measure(None)
        else:
            with loads.Fitted(build, self._seconds, self._scratch) as fitted:
                rows = life.measure(fitted)
        return rows + self._held_idle(empty_ns)

    def _attached(self, events):
        self._hot.measure(self._hot_loops, self._turns, keep=False)
        syscalls = [load for load in self._loads if load.name == 'getppid' and not load.missing()]
        empty = load_rows.LoadRows({'empty': watchers.EmptyProgram(self._site.binaries)}, [], self._seconds / 2,
                                   self._scratch, self._progress)
        empty.measure(syscalls, self._turns, keep=False)
        self._hot.runs += empty.runs + [runs for runs in self._pairs.runs if runs[0].load == 'getppid']
        return events.attached(self._hot)
