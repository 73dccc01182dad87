"""Coverage, cost, bytes and memory of one and the same run of one agent, held by its governor, beside what Chopstix
(OSDI '08, section 5) says of each: a figure alone can be bought with another."""
import contextlib
import re
import sys
import time

import loads
import processes
import watchers
from life_rows import program_use, run_time_statistics
from rows import Row, coverage, once
from targets import KB, MB

sys.path.append(str(loads.ROOT / 'tests/scenario'))
from record import wilson  # noqa: E402

GROUP = 'One and the same run'
EPOCHS, QUICK_EPOCHS = 4, 1
WARM_UP = 2  # the epoch of the start, and one in which what may be sent at once is used up (agent/epoch/byte_bucket.h)
TURN_S = 5  # of each load, then of nothing
LIMIT_S = 90  # for an epoch of 60 s to be cut
DAY_S = 86_400
VITAL_IDS = loads.ROOT / 'sketch/vital_ids.h'


def vital_names():
    """{id: name}"""
    ids = VITAL_IDS.read_text().split('};')[0]
    return {int(number): name.lower() for name, number in re.findall(r'TELLTALE_(\w+) = (\d+)', ids)}


def missed_labels(bodies):
    """{id of a vital: (cases, missed, unlisted)} of labels at least as heavy as the mean cell of their vital, of the group whose
    labels the agent counts one by one: missed had no sample in their epoch, unlisted had some and its summary none."""
    found = {}
    for body in bodies:
        for vital in body['vitals']:
            sketch = vital.get('sketch', {})
            before = found.get(vital['id'], (0, 0, 0))
            now = (sketch.get(name, 0) for name in ('controlHeavy', 'controlHeavyMissed', 'controlHeavyUnlisted'))
            found[vital['id']] = tuple(map(sum, zip(before, now)))
    return {vital: figures for vital, figures in found.items() if figures[0]}


def worst(labels, at):
    """Of what stands at that place in what missed_labels found: ", 3 of 50 of signal, ..." of the three vitals with the most."""
    names = vital_names()
    most = sorted(((figures[at], figures[0], vital) for vital, figures in labels.items() if figures[at]), reverse=True)[:3]
    return ''.join(f', {count} of {cases} of {names.get(vital, vital)}' for count, cases, vital in most)


class OneRunRows:
    """progress(text) is told what runs; empty_ns: what run-time statistics cost a run of a program."""

    def __init__(self, site, agent, empty_ns, quick, scratch, progress):
        self._site, self._agent, self._empty_ns = site, agent, empty_ns
        self._epochs, self._scratch, self._progress = QUICK_EPOCHS if quick else EPOCHS, scratch, progress

    def measure(self, kinds):
        """All rows; kinds: the loads that take turns, and then nothing does."""
        with contextlib.ExitStack() as stack:
            fitted = [stack.enter_context(loads.Fitted(kind, 1, self._scratch)) for kind in kinds]
            before = self._site.records()
            self._site.freeze()
            stack.callback(self._site.thaw)
            self._agent.start()
            stack.callback(self._agent.stop)
            self._work(fitted, before, WARM_UP)
            pids = self._agent.pids()
            with run_time_statistics():
                begun, own, (bpf_s, runs) = time.monotonic(), processes.cpu_s(pids), program_use(pids)
                self._work(fitted, before, WARM_UP + self._epochs)
                passed, own = time.monotonic() - begun, processes.cpu_s(pids) - own
                after_s, runs_after = program_use(pids)
            bpf_s = max(0, after_s - bpf_s - (runs_after - runs) * self._empty_ns / 1e9)
            share_kb = sum(processes.memory_kb(pid)[1] for pid in pids)
            locked = sum(one['memlock'] for pid in pids for one in processes.bpf_objects(pid, 'map').values())
            records = self._site.copies(self._site.records() - before)[WARM_UP:WARM_UP + self._epochs]
        bodies = [self._site.body(record) for record in records]
        sizes = [watchers.record_sizes(record) for record in records]
        what = f'{len(records)} epochs of 60 s, governor at 1 %: {", ".join(kind.title for kind in kinds)} and nothing in turn'
        return [self._cost(own, bpf_s, passed, what), *self._coverage(bodies), self._bytes(bodies, sizes),
                Row(GROUP, 'memory', once(share_kb / KB + locked / MB), 'MB', '',
                    f'{share_kb / KB:.1f} of processes, shared pages by part, {locked / MB:.2f} of maps; '
                    'Chopstix: 256 KB, of its counters alone')]

    def _work(self, fitted, before, epochs):
        """Until so many epochs were cut since `before`."""
        deadline = time.monotonic() + LIMIT_S * (WARM_UP + self._epochs)

        def cut():
            return len(self._site.records() - before) >= epochs
        while not cut():
            if time.monotonic() > deadline:
                raise watchers.WatcherFailed(f'telltale-agent did not cut {epochs} epochs; its log ends: {self._site.log_end()}')
            self._progress(f'one run of {self._epochs} epochs')
            for load in fitted:
                load.run_for(TURN_S, until=cut)
            end = time.monotonic() + TURN_S
            while time.monotonic() < end and not cut():
                time.sleep(0.1)

    @staticmethod
    def _cost(own_s, bpf_s, passed_s, what):
        part = 100 / (passed_s * processes.CPUS)
        return Row(GROUP, 'agent and BPF time, share of all CPUs', once((own_s + bpf_s) * part), '%', 'held',
                   f'processes {own_s * part:.3f}, BPF {bpf_s * part:.3f}; {what}; Chopstix: below 1 %')

    @staticmethod
    def _coverage(bodies):
        seen = [coverage(body) for body in bodies]
        there = sum(one['there'] for one in seen)
        counted = sum(one['counted'] * one['there'] for one in seen)
        labels = missed_labels(bodies)
        cases, missed, unlisted = (sum(figures[at] for figures in labels.values()) for at in range(3))
        low, high = wilson(missed, cases)
        return [
            Row(GROUP, 'events counted', once(100 * counted / max(there, 1)), '%', '',
                f'of {there:,.0f}; the rest by estimate, and told with the epoch'),
            Row(GROUP, 'labels at least as heavy as the mean cell, without a sample',
                once(100 * missed / cases) if cases else None, '%', 'one.missed',
                f'{missed} of {cases} ({100 * low:.2g} to {100 * high:.2g} %){worst(labels, 1)}; of labels the agent counts one by '
                'one; Chopstix: more than 99.9 % of relevant events captured' if cases else 'not measured: no such label'),
            Row(GROUP, 'of these with a sample, but in no summary, whose bytes ran out',
                once(100 * unlisted / cases) if cases else None, '%', '',
                f'{unlisted} of {cases}{worst(labels, 2)}; that they were there is in totals and bounds alone'
                if cases else 'not measured: no such label'),
        ]

    @staticmethod
    def _bytes(bodies, sizes):
        seconds = sum(coverage(body)['seconds'] for body in bodies)
        a_day = {part: sum(size[part] for size in sizes) / seconds * DAY_S / MB for part in ('body', 'cells', 'names')}
        return Row(GROUP, 'summaries', once(sum(a_day.values())), 'MB/day', 'one.bytes',
                   f'{a_day["body"]:.1f} of bodies, {a_day["cells"]:.1f} of sketch cells, {a_day["names"]:.1f} of names, fewer in a longer '
                   'run; Chopstix: 16 MB a day')
