"""One agent's life: an idle host, then a build, and what its memory, its cuts and its summaries take."""
import contextlib
import json
import subprocess
import time

import pairs
import processes
import watchers
from load_rows import TITLES
from rows import Row, coverage, coverage_words, once
from targets import KB, MB

GROUP, IDLE = 'Agent', 'Idle host'
FIRST_CUT_S = 12  # the first epoch is cut 10 s after the start
WINDOW_S, WINDOWS = 10, 6  # together an epoch's length, so with one cut
QUICK_SETTLE_S, QUICK_WINDOW_S = 3, 6  # both before the first cut
PROCESSES = ('telltale-agent', 'telltale-sensor', 'telltale-uplink')
RUN_BY_THE_AGENT = ('pass', 'flush_cpu', 'start_beat')  # agent/sensor/bpf/cut.bpf.c
STATISTICS = '/proc/sys/kernel/bpf_stats_enabled'


@contextlib.contextmanager
def run_time_statistics():
    """Turns on what the kernel counts about BPF programs; afterwards it is as it was."""
    with open(STATISTICS) as file:
        before = file.read()
    try:
        with open(STATISTICS, 'w') as file:
            file.write('1')
        yield
    finally:
        with open(STATISTICS, 'w') as file:
            file.write(before)


def program_use(pids):
    """(seconds, runs) of the BPF programs these processes hold, in what others do: what they run themselves (iterators,
    at cuts) is in their own CPU time."""
    shown = subprocess.run(['bpftool', '-j', 'prog', 'show'], stdout=subprocess.PIPE, text=True, check=True).stdout
    own = {one['id'] for one in json.loads(shown) if one.get('name') in RUN_BY_THE_AGENT}
    use = [program for pid in pids for number, program in processes.bpf_objects(pid, 'prog').items() if number not in own]
    return sum(one.get('run_time_ns', 0) for one in use) / 1e9, sum(one.get('run_cnt', 0) for one in use)


class LifeRows:
    """progress(text) is told what runs; empty_ns: what run-time statistics cost a run."""

    def __init__(self, site, agent, empty_ns, quick, progress):
        self._site, self._agent, self._empty_ns = site, agent, empty_ns
        self._quick, self._progress = quick, progress

    def measure(self, build):
        """All rows. `build`: the g++ build, fitted, or None if there is no compiler."""
        self._progress('agent start')
        self._agent.start()
        try:
            rows = [self._start_row()]
            rows += self._idle(1 if self._quick else WINDOWS)
            if build is None:
                return rows + [Row(GROUP, 'memory and summaries', note='not measured: install g++')]
            return rows + self._loaded(build)
        finally:
            self._agent.stop()

    def idle(self):
        """Only the idle row, of one window."""
        self._agent.start()
        try:
            return self._idle(1)
        finally:
            self._agent.stop()

    def _start_row(self):
        waited, used = self._agent.starts[-1]
        return Row(GROUP, 'start: programs loaded and attached', once(1e3 * used), 'ms CPU', '',
                   f'watches after {waited:.1f} s')

    def _idle(self, count):
        time.sleep(QUICK_SETTLE_S if self._quick else FIRST_CUT_S)
        length = QUICK_WINDOW_S if self._quick else WINDOW_S
        pids = self._agent.pids()
        windows, own_part, bpf_part, other = [], 0, 0, 0
        with run_time_statistics():
            for window in range(count):
                self._progress(f'idle: {length} s, {window + 1} of {count}')
                own, (bpf, runs), busy = processes.cpu_s(pids), program_use(pids), processes.host_busy_s()
                begun = time.monotonic()
                time.sleep(length)
                wall = time.monotonic() - begun
                own = processes.cpu_s(pids) - own
                after, runs_after = program_use(pids)
                bpf = max(0, after - bpf - (runs_after - runs) * self._empty_ns / 1e9)
                other += (processes.host_busy_s() - busy - own) / (wall * processes.CPUS) / count
                windows.append(100 * (own + bpf) / (wall * processes.CPUS))
                own_part += 100 * own / (wall * processes.CPUS) / count
                bpf_part += 100 * bpf / (wall * processes.CPUS) / count
        middle = pairs.figure(windows)
        mean = sum(windows) / count
        # The mean, not the median: the cut is in one window of them.
        figure = pairs.Figure(mean, middle.low, middle.high, count)
        note = f'processes {own_part:.3f}, BPF {bpf_part:.3f}' + (', one cut in it' if count == WINDOWS else '')
        note += f'; others used {100 * max(0, other):.1f} % of the host' + (': not idle' if other > 0.05 else '')
        held = self._agent.name == 'held'
        return [Row(IDLE, f'agent and BPF time, share of all CPUs: {TITLES[self._agent.name]}', figure, '%',
                    'held' if held else 'floor.idle', note,
                    {'windows': windows, 'own_percent': own_part, 'bpf_percent': bpf_part})]

    def _loaded(self, build):
        before = self._site.records()
        self._site.freeze()
        try:
            if self._quick:
                self._progress('g++ build for 10 s')
                build.run_for(10)
            else:
                # The first cut ends the epoch that began idle, the second one a whole epoch of building.
                self._progress('g++ build for a whole epoch, up to 2 min')
                build.run_for(150, until=lambda: len(self._site.records() - before) >= 2)
            memory, maps = self._memory(), self._maps()
            self._progress('reading summaries')
            cut = self._site.copies(self._site.records() - before)
            self._agent.stop(keep=True)
        finally:
            self._site.thaw()
        if not self._quick and not cut:
            raise watchers.WatcherFailed('telltale-agent cut no epoch in 150 s of building')
        record = self._agent.record if self._quick else cut[-1]
        body, sizes = self._site.body(record), watchers.record_sizes(record)
        # Each epoch says how long the cut before its own took.
        cut_us = int(self._agent.last_body()['gauges'].get('cutUs', 0))
        return memory + maps + self._summary(sizes, body, cut_us)

    def _memory(self):
        found = {processes.command_name(pid): processes.memory_kb(pid) for pid in self._agent.pids()}
        rows = []
        for name in PROCESSES:
            rss, pss = found.get(name, (0, 0))
            rows.append(Row(GROUP, f'resident: {name}', once(rss / KB) if rss else None, 'MB', '',
                            f'{pss / KB:.1f} MB with shared pages counted by part' if rss else
                            f'not measured: did not run at the end of the load; the log ends: {self._site.log_end()}'))
        whole = all(row.figure for row in rows)
        resident, share = sum(rss for rss, _ in found.values()), sum(pss for _, pss in found.values())
        rows.append(Row(GROUP, 'resident: all', once(resident / KB) if whole else None, 'MB', 'rss',
                        f'shared pages counted each time; {share / KB:.1f} MB by part' if whole else 'not measured: one is missing'))
        return rows

    def _maps(self):
        locked = sum(one['memlock'] for pid in self._agent.pids()
                     for one in processes.bpf_objects(pid, 'map').values())
        return [Row(GROUP, 'maps', once(locked / MB), 'MB', 'maps', 'memory the kernel accounts to them'),
                Row(GROUP, 'touched part of an event in L1', note='not measured: needs hardware counters')]

    @staticmethod
    def _summary(sizes, body, cut_us):
        seen = coverage(body)
        stacks = body.get('userStacks', {})
        frames, unwind_ns = int(stacks.get('frames', 0)), int(stacks.get('unwindNs', 0))
        ends = dict(zip(stacks.get('end', []), map(int, stacks.get('samples', []))))
        where = f'g++ build, epoch of {seen["seconds"]:.0f} s'
        return [
            Row(GROUP, 'summary on the wire, body', once(sizes['body'] / KB), 'KB/epoch', 'wire',
                f'{where}; beside it {sizes["cells"] / KB:.1f} KB of sketch cells, and once for all epochs '
                f'{sizes["names"] / KB:.1f} KB of names'),
            Row(GROUP, 'cut', once(cut_us / 1e3), 'ms CPU', '', f'of the sensor thread; {where}'),
            Row(GROUP, 'samples', once(seen['samples'] / seen['seconds']), '1/s', 'samples',
                f'{where}; {coverage_words(seen)}', {'coverage': seen}),
            Row(GROUP, 'unwinding in the agent', once(unwind_ns / frames) if frames else None, 'ns/frame', 'unwind.frame',
                f'{where}; reading maps and building tables included'),
            Row(GROUP, 'stacks whole, whole host', once(100 * ends.get('STACK_END_COMPLETE', 0) / sum(ends.values()))
                if ends else None, '%', 'unwind.complete', where),
        ]
