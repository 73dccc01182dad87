"""What runs beside a load: our agent, and its peers perf record and bpftrace.

A watcher is started before its first run and stopped after its second. start() returns when it
watches; pids() are its processes, whose CPU time counts as its cost.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import processes

HERE = pathlib.Path(__file__).resolve().parent
TRACEFS = pathlib.Path('/sys/kernel/tracing')
START_LIMIT_S, UP_LIMIT_S, DOWN_ATTEMPTS = 30, 120, 10


class WatcherFailed(Exception):
    pass


def wait_until(ready, what, process, limit_s=START_LIMIT_S):
    """Waits for ready() while the process runs."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if ready():
            return
        if process.poll() is not None:
            raise WatcherFailed(f'{what} ended at its start with status {process.returncode}')
        time.sleep(0.02)
    raise WatcherFailed(f'{what} was not ready after {limit_s} s')


class Site:
    """A collector and the configuration of agents, made by deploy/up in a directory of its own."""

    def __init__(self, root, binaries, directory):
        self.root, self.binaries, self.directory = root, binaries, directory

    def __enter__(self):
        try:
            self._up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _up(self):
        up = subprocess.Popen([self.root / 'deploy/up', '--no-build', '--dir', self.directory, '--epoch', '60s'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            said, _ = up.communicate(timeout=UP_LIMIT_S)
        except BaseException:
            os.killpg(up.pid, signal.SIGKILL)  # what it started for good has sessions of its own
            raise
        if up.returncode != 0:
            raise WatcherFailed('deploy/up: ' + ' '.join(said.splitlines()[-5:]))
        # Its agent has shown that all is well; the measured ones are started one by one.
        agent = int(self._pid_file('agent'))
        os.kill(agent, signal.SIGTERM)
        deadline = time.monotonic() + START_LIMIT_S
        while os.path.exists(f'/proc/{agent}') and 'Z' not in processes.read(f'/proc/{agent}/stat').split()[2:3]:
            if time.monotonic() > deadline:
                raise WatcherFailed(f'the agent of deploy/up (pid {agent}) did not stop in {START_LIMIT_S} s')
            time.sleep(0.05)

    def __exit__(self, *_):
        self.thaw()
        for _ in range(DOWN_ATTEMPTS):  # an interrupted deploy/up may hold its lock a moment longer
            down = subprocess.run([self.root / 'deploy/down', '--dir', self.directory, '--purge'], text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
            if down.returncode == 0:
                return
            time.sleep(0.5)
        print(f'tests/bench/run: something may still run: {down.stderr.strip()}', file=sys.stderr)

    def ask(self, program, *arguments):
        return subprocess.run([self.binaries / program, *arguments], stdout=subprocess.PIPE, text=True, timeout=30).stdout

    def log_end(self):
        """Last lines that agents said."""
        return ' '.join((self.directory / 'agent.log').read_text(errors='replace').splitlines()[-3:])

    def _pid_file(self, name):
        return (self.directory / f'{name}.pid').read_text().split()[0]

    def freeze(self):
        """The collector acknowledges nothing until thaw(): what agents cut stays in their spool."""
        os.kill(int(self._pid_file('collector')), signal.SIGSTOP)

    def thaw(self):
        try:
            os.kill(int(self._pid_file('collector')), signal.SIGCONT)
        except (OSError, IndexError, ValueError):  # it never started
            pass

    def records(self):
        return set((self.directory / 'spool').glob('*.rec'))

    def copies(self, records):
        """Of spool records, oldest first; they stay when the collector has taken the records."""
        return [pathlib.Path(shutil.copy(record, self.directory)) for record in sorted(records)]

    def body(self, record):
        """The epoch of a spool record, as JSON."""
        dump = subprocess.run([self.binaries / 'telltale', 'dump', '-o', 'json', record],
                              stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        return next(document for document in concatenated(dump.stdout) if 'gauges' in document)


# agent/spool/FORMAT.md, Summary in proto/telltale/v1/summary.proto
CHUNK_NAMES, CHUNK_SUMMARY = 2, 3
SUMMARY_BODY, SUMMARY_CELLS = 8, 9


def record_sizes(path):
    """Bytes of a spool record that travel: {'body', 'cells', 'names'}."""
    data, at = path.read_bytes(), len('TTSPOOL1')
    sizes = {'body': 0, 'cells': 0, 'names': 0}
    while at < len(data):
        kind, length = struct.unpack_from('<BI', data, at)
        payload = data[at + 5:at + 5 + length]
        at += 5 + length + 8
        if kind == CHUNK_NAMES:
            sizes['names'] += length
        elif kind == CHUNK_SUMMARY:
            parts = field_lengths(payload)
            sizes['body'], sizes['cells'] = parts.get(SUMMARY_BODY, 0), parts.get(SUMMARY_CELLS, 0)
    return sizes


def field_lengths(message):
    """{number: bytes} of a protobuf message's strings, byte fields and messages."""
    at, lengths = 0, {}

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(message):
        number, wire = divmod(varint(), 8)
        if wire == 2:
            length = varint()
            lengths[number] = lengths.get(number, 0) + length
            at += length
        elif wire == 0:
            varint()
        else:
            at += {1: 8, 5: 4}[wire]
    return lengths


def concatenated(text):
    """The JSON documents of a text, one after the other."""
    decoder, at, documents = json.JSONDecoder(), 0, []
    while match := re.compile(r'\s*(?=\S)').match(text, at):
        document, at = decoder.raw_decode(text, match.end())
        documents.append(document)
    return documents


class Agent:
    """budget: 'off', '1%', or None for an agent without a governor."""

    def __init__(self, name, site, settle_s, budget=None):
        self.name, self.settle_s = name, settle_s
        self._site, self._budget = site, budget
        self._process = None
        self.starts = []  # (seconds until it watched, CPU seconds until then)
        self.record = None  # of the epoch cut at the last stop(keep=True)

    def start(self):
        command = [self._site.binaries / 'telltale-agent', '--config', self._site.directory / 'agent.yaml']
        if self._budget:
            command.append(f'--sensor-budget={self._budget}')
        begun = time.monotonic()
        with open(self._site.directory / 'agent.log', 'a') as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                             start_new_session=True)
        status = [self._site.binaries / 'telltale-agent', 'status', '--json', '--status-socket',
                  self._site.directory / 'agent.sock']

        def answers():
            asked = subprocess.run(status, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=10)
            return asked.returncode == 0 and '"active"' in asked.stdout
        try:
            wait_until(answers, 'telltale-agent', self._process)
        except WatcherFailed as failure:
            self.stop()
            raise WatcherFailed(f'{failure}; its log ends: {self._site.log_end()}') from None
        self.starts.append((time.monotonic() - begun, processes.cpu_s(self.pids())))

    def pids(self):
        return processes.tree(self._process.pid)

    def stop(self, keep=False):
        """keep: what it cuts at its stop is read before a collector takes it."""
        try:
            if keep:
                self.record = self._last_record()
        finally:
            processes.stop(self._process, signal.SIGTERM)

    def last_body(self):
        return self._site.body(self.record)

    def _last_record(self):
        """Tells it to stop, and copies what it cuts while the collector takes nothing."""
        before = self._site.records()
        self._site.freeze()
        try:
            self._process.send_signal(signal.SIGTERM)
            wait_until(lambda: self._site.records() - before or self._process.poll() is not None,
                       'the last epoch', self._process)
            if cut := self._site.copies(self._site.records() - before):
                return cut[-1]
            raise WatcherFailed(f'telltale-agent ended with status {self._process.returncode} and cut no last epoch')
        finally:
            self._site.thaw()


class EmptyProgram:
    """A program that does nothing at each system call's exit: what any sensor there costs at least."""
    name, settle_s = 'empty', 0.2

    def __init__(self, binaries):
        self._binary, self._process = binaries / 'event_cost', None

    def start(self):
        self._process = subprocess.Popen([self._binary, '--empty'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, start_new_session=True)
        if not self._process.stdout.readline():
            raise WatcherFailed('event_cost --empty ended at its start')

    def pids(self):
        return processes.tree(self._process.pid)

    def stop(self, keep=False):
        self._process.communicate(timeout=START_LIMIT_S)  # ends its standard input, and so it


class Perf:
    name, settle_s = 'perf', 0.5
    needs = [('perf', 'linux-perf')]
    title = 'perf record -F 99 -a -g'

    def __init__(self, scratch):
        self._data, self._process = scratch / 'perf.data', None

    def start(self):
        self._data.unlink(missing_ok=True)
        self._process = subprocess.Popen(['perf', 'record', '-q', '-F', '99', '-a', '-g', '-o', self._data],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_until(lambda: self._data.exists() and self._data.stat().st_size > 0, self.title, self._process)

    def pids(self):
        return processes.tree(self._process.pid)

    def stop(self, keep=False):
        processes.stop(self._process)
        self._data.unlink(missing_ok=True)


class Bpftrace:
    name, settle_s = 'bpftrace', 0.5
    needs = [('bpftrace', 'bpftrace')]

    def __init__(self, scratch):
        self._said, self._process = scratch / 'bpftrace.out', None

    def start(self):
        # Without it bpftrace finds no tracepoint, and most hosts mount it for their own tools only as they are asked.
        if not (TRACEFS / 'events').is_dir():
            subprocess.run(['mount', '-t', 'tracefs', 'tracefs', TRACEFS], check=True)
        with open(self._said, 'w') as said:
            self._process = subprocess.Popen(['bpftrace', HERE.parent / 'vitals.bt'], stdout=said,
                                             stderr=subprocess.STDOUT, start_new_session=True)
        try:
            wait_until(lambda: 'watching' in self._said.read_text(errors='replace'), 'bpftrace', self._process)
        except WatcherFailed as failure:
            processes.stop(self._process)
            raise WatcherFailed(f'{failure}: {" ".join(self._said.read_text(errors="replace").split()[:30])}') from None

    def pids(self):
        return processes.tree(self._process.pid)

    def stop(self, keep=False):
        processes.stop(self._process)
