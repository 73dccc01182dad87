"""What one event, one sample and one frame cost.

In the program (One event): the kernel's run-time statistics (event_cost) less what the statistics themselves cost,
by an empty program in the same run. Attached: what a hot loop gets slower by, dispatch included.
"""
import json
import re
import subprocess

import loads
import pairs
import processes
from rows import Row, once

GROUP, ATTACHED, SAMPLES = 'One event', 'One event, attached', 'Samples and stacks'
LIMIT_S = 180
EMPTY = 'empty'
FEW = 20  # runs: fewer say nothing
LEAST_SAMPLES = 100

SOCKET = '''import socket, sys
a, b = socket.socketpair()
for _ in range(int(sys.argv[1])):
    a.send(b"x"); b.recv(1)
'''
SIGNAL = '''import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None)
for _ in range(int(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGUSR1)
'''
SOFTIRQ = '''import socket, sys
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
for _ in range(int(sys.argv[1])):
    a.sendto(b"x", a.getsockname()); a.recv(1)
'''
GETPPID = '''import os, sys
for _ in range(int(sys.argv[1])):
    os.getppid()
'''

# Loop, its turns in a second or so, and the programs whose event it makes again and again.
HOT = [
    (GETPPID, 5_000_000, ['on_syscall']),
    (loads.YIELD, 500_000, ['on_switch', 'on_switch_exit']),
    (loads.PAGES, 4_000, ['on_fault', 'on_alloc', 'on_free']),
    (SOCKET, 700_000, ['on_send', 'on_receive']),
    (SIGNAL, 500_000, ['on_generate', 'on_deliver']),
    (SOFTIRQ, 250_000, ['on_softirq', 'on_softirq_exit']),
]
VITALS = {
    'on_syscall': 'syscall', 'on_switch': 'sched_delay, blocking: switch', 'on_switch_exit': 'their stacks: switch exit',
    'on_waking': 'blocking: who woke', 'on_fault': 'user_page', 'on_alloc': 'kernel_page: alloc',
    'on_free': 'kernel_page: free', 'on_send': 'socket: sent', 'on_receive': 'socket: received',
    'on_generate': 'signal: generated', 'on_deliver': 'signal: delivered', 'on_softirq': 'softirq: entry',
    'on_softirq_exit': 'softirq: exit', 'on_timer': 'cpu: tick', 'on_timer_exit': 'cpu: end of tick',
    'on_issue': 'disk_io: issued', 'on_complete': 'disk_io: done', 'on_contention': 'lock: begin',
    'on_contention_e': 'lock: end', 'on_exec': 'process: exec', 'on_exit': 'process: exit', 'on_irq': 'interrupt: entry',
    'on_irq_exit': 'interrupt: exit',
}
# Keeps the compiler busy for seconds, so often repeated.
COMPILED = '''struct SNUMBER { std::map<int, std::map<std::string, SNUMBER*>> all; };
int fNUMBER(SNUMBER& s) {
  int found = 0;
  for (auto& outer : s.all)
    for (auto& inner : outer.second) found += std::regex_match(inner.first, std::regex("aNUMBER")) ? 1 : 0;
  return found;
}'''
# What has a kernel stack in its samples, and what has none, by vital and its programs.
WITH_STACK = [('kernel_page', ['on_alloc', 'on_free'])]
WITHOUT_STACK = [('syscall', ['on_syscall']), ('user_page', ['on_fault'])]


def event_cost(binary, command, sample_ms=0):
    """({program: (runs, ns a run)}, {vital: samples})"""
    options = ['--samples', str(sample_ms)] if sample_ms else []
    done = subprocess.run([binary, *options, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT_S, cwd=loads.ROOT)
    if done.returncode != 0:
        raise RuntimeError(f'event_cost: {done.stderr.strip()[-300:]}')
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    return ({line['program']: (line['runs'], line['ns']) for line in lines if 'program' in line},
            {line['vital']: line['samples'] for line in lines if 'vital' in line})


def sample_us(vitals, few, many):
    """Time of a sample more, by two event_cost results; None if there were too few more."""
    extra_ns = extra = 0
    for vital, names in vitals:
        runs = [sum(programs.get(name, (0, 0))[0] for name in names) for programs, _ in (few, many)]
        for name in names:
            extra_ns += many[0].get(name, (0, 0))[0] * (many[0].get(name, (0, 0))[1] - few[0].get(name, (0, 0))[1])
        # The few are in the base, as many as there are of events.
        extra += many[1].get(vital, 0) - few[1].get(vital, 0) * runs[1] / max(1, runs[0])
    return extra_ns / extra / 1e3 if extra >= LEAST_SAMPLES else None


class EventRows:
    def __init__(self, binaries, quick, scratch, progress):
        self._binaries, self._quick = binaries, quick
        self._scratch, self._progress = scratch, progress
        self.empty_ns = 0  # what run-time statistics cost a run

    def measure_statistics(self):
        """Sets empty_ns."""
        self._progress('cost of run-time statistics')
        seen, _ = event_cost(self._binaries / 'event_cost', loads.python(GETPPID, 1_000_000))
        self.empty_ns = seen[EMPTY][1]

    def programs(self):
        """Rows of every program: hot where a loop can make its event, and in a build."""
        binary = self._binaries / 'event_cost'
        self.measure_statistics()
        hot = {}
        for text, turns, names in HOT:
            self._progress(f'hot events: {", ".join(VITALS[name] for name in names)}')
            seen, _ = event_cost(binary, loads.python(text, turns // (4 if self._quick else 1)))
            hot |= {name: seen[name] for name in names if name in seen}
        self._progress('events in a g++ build')
        build, _ = event_cost(binary, loads.build_command(4 if self._quick else 12))
        rows = []
        if hot:
            nets = [ns - self.empty_ns for _, ns in hot.values()]
            rows.append(Row(GROUP, 'hot, above dispatch: median over programs', pairs.figure(nets), 'ns', 'event.hot',
                            f'less {self.empty_ns:.0f} ns that statistics cost'))
        for name, vital in VITALS.items():
            cold = build.get(name)
            if name not in hot and (not cold or cold[0] < FEW):
                continue
            in_build = f'{max(0, cold[1] - build[EMPTY][1]):.0f} ns in a build ({cold[0]:,} runs, their samples included)' \
                if cold else 'none in a build'
            net = hot[name][1] - self.empty_ns if name in hot else cold[1] - build[EMPTY][1]
            target = 'event.switch_alone' if name == 'on_switch' and name in hot else ''
            rows.append(Row(GROUP, f'{vital} ({name})', once(net), 'ns', target,
                            ('hot; ' if name in hot else 'no hot loop; ') + in_build,
                            {'hot_ns': hot.get(name), 'build_ns': cold}))
        return rows

    def attached(self, load_rows):
        """Rows of what the hot loops of load_rows got slower by; needs its loads getppid, yield, pages."""
        syscall = load_rows.extra_ns('getppid')
        empty = load_rows.extra_ns('getppid', 'empty')
        rows = [self._or_why('syscall exit', syscall, 'event.syscall', 'no pair of runs'),
                self._or_why('an empty program at the same place', empty, '', 'no pair of runs'),
                Row(ATTACHED, 'syscall exit at 10 % duty', target='event.syscall_duty',
                    note='not measured: no way to ask for a duty')]
        switch = None
        if syscall:
            # A turn is a call and, most times, a switch.
            found = []
            for b, a in load_rows.pairs_of('yield', 'floor'):
                extra = 1e9 * (b.cpu_s - a.cpu_s) - b.amount * syscall.value
                found.append(extra / max(1, b.switches))
            switch = pairs.figure(found)
        rows.append(self._or_why('context switch with its stack hook', switch, 'event.switch', 'no pair of runs'))
        page = load_rows.extra_ns('pages', per=lambda run: max(1, run.faults))
        rows.append(self._or_why('page fault with its alloc and free', page, 'event.page', 'no pair of runs'))
        return rows

    @staticmethod
    def _or_why(name, figure, target, why):
        return Row(ATTACHED, name, figure, 'ns', target, '' if figure else f'not measured: {why}')

    def samples(self):
        """Rows of a sample: what a build's programs take longer when they keep as many samples as they can
        than when they keep few."""
        binary, files = self._binaries / 'event_cost', 4 if self._quick else 10
        figures = {'with': [], 'without': []}
        for _ in range(1 if self._quick else 3):
            self._progress('samples in a g++ build')
            runs = [event_cost(binary, loads.build_command(files), sample_ms) for sample_ms in (0, 50)]
            figures['with'].append(sample_us(WITH_STACK, *runs))
            figures['without'].append(sample_us(WITHOUT_STACK, *runs))
        rows = []
        for what, target in (('with', 'sample.kernel_stack'), ('without', 'sample.plain')):
            figure = pairs.figure([value for value in figures[what] if value is not None])
            rows.append(Row(SAMPLES, f'sample {what} kernel stack', figure, 'us', target,
                            'in a g++ build, caches cold; the user stack copied too' if figure else
                            'not measured: too few samples'))
        return rows

    def unwinding(self):
        """Rows of unwind_bench on the compiler."""
        group, name = SAMPLES, 'unwinding, caches warm'
        binary = self._binaries / 'unwind_bench'
        if not binary.exists():
            return [Row(group, name, target='unwind.frame', note='not measured: unwind_bench is built on x86-64 only')]
        if not processes.installed('g++'):
            return [Row(group, name, target='unwind.frame', note='not measured: install g++')]
        self._progress('unwinding cc1plus')
        source = self._scratch / 'big.cc'
        source.write_text('#include <map>\n#include <regex>\n#include <string>\n' + '\n'.join(
            COMPILED.replace('NUMBER', str(number)) for number in range(40)))
        cc1plus = subprocess.run(['g++', '-print-prog-name=cc1plus'], stdout=subprocess.PIPE, text=True, timeout=10).stdout.strip()
        done = subprocess.run([binary, cc1plus, '-quiet', '-O2', '-std=c++20', '-imultiarch', self._multiarch(), source,
                               '-o', '/dev/null'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            return [Row(group, name, target='unwind.frame', note='not measured: ' + done.stderr.strip()[-200:])]
        complete = re.search(r'([\d.]+) frames each, ([\d.]+) % complete', done.stdout)
        frame = {what: float(ns) for what, ns in re.findall(r'^(\w+).*?(\d+) ns a frame', done.stdout, re.MULTILINE)}
        return [Row(group, name, once(frame['median']), 'ns/frame', 'unwind.frame', f'cc1plus, {complete[1]} frames a stack'),
                Row(group, 'unwinding, caches emptied', once(frame['CPU']), 'ns/frame', 'unwind.frame',
                    'as in an agent that sleeps between drains'),
                Row(group, 'stacks whole, cc1plus', once(float(complete[2])), '%', 'unwind.complete')]

    @staticmethod
    def _multiarch():
        return subprocess.run(['g++', '-print-multiarch'], stdout=subprocess.PIPE, text=True, timeout=10).stdout.strip()
