"""The loads, each a fixed amount of work that ends by itself, and one run of it.

The amount is fitted to the machine once, so that a run takes about as long as asked for. Loads that
switch or call on one CPU are held to one: spread over two they come in two speeds.
"""
import contextlib
import dataclasses
import os
import pathlib
import socket
import subprocess
import sys
import time

import processes

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIMIT_S = 120
CLIENTS = 8
PINNED = ['taskset', '-c', str(processes.LAST_CPU)]

NGINX = '''daemon off; pid {dir}/pid; error_log {dir}/error.log; worker_processes {workers};
events {{ worker_connections 512; }}
http {{ access_log off; keepalive_requests 1000000; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p;
fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
server {{ listen 127.0.0.1:{port}; location / {{ return 200 "hello"; }} }} }}
'''

# 256 pages faulted in by a copy, taken from and given back to the page allocator, a turn.
PAGES = '''import mmap, sys
page = b"x" * (1 << 20)
for _ in range(int(sys.argv[1])):
    m = mmap.mmap(-1, 1 << 20)
    m.write(page)
    m.close()
'''
# Two processes that give way to each other: nothing but system calls and switches.
YIELD = '''import os, sys
child = os.fork()
for _ in range(int(sys.argv[1])):
    os.sched_yield()
if child:
    os.wait()
else:
    os._exit(0)
'''


class LoadFailed(Exception):
    pass


def python(text, *arguments):
    return [*PINNED, sys.executable, '-S', '-c', text, *map(str, arguments)]


def build_command(files):
    """Compiles so many of our own sources, as many at a time as there are CPUs; no preprocessor cache."""
    sources = sorted(str(path) for path in (ROOT / 'sketch').glob('*.cc'))
    listed = '\n'.join(sources[at % len(sources)] for at in range(files))
    return ['sh', '-c', f'echo "{listed}" | xargs -P {processes.CPUS} -n 1 '
            f'env CCACHE_DISABLE=1 g++ -std=c++20 -O1 -I{ROOT} -S -o /dev/null']


@dataclasses.dataclass
class Load:
    name: str
    title: str
    needs: list  # (program, Debian package)
    command: object  # amount -> argument list
    amount: int  # to begin fitting with
    server: object = None  # context manager that yields the servers' pids
    operations: int = 1  # a unit of amount

    def missing(self):
        return [package for program, package in self.needs if not processes.installed(program)]


@dataclasses.dataclass
class Run:
    load: str
    watcher: str
    turn: int
    amount: int
    wall_s: float
    cpu_s: float  # of the load, interrupts in it included
    own_cpu_s: float  # of the watcher's processes
    other_cpu_s: float  # of everything else on the host
    switches: int
    faults: int
    sensors: int  # processes of other agents on this kernel


def nginx_server(scratch):
    """A context manager that runs nginx on a free port; yields (pids, url)."""

    @contextlib.contextmanager
    def serve():
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        configuration = scratch / 'nginx.conf'
        configuration.write_text(NGINX.format(dir=scratch, port=port, workers=processes.CPUS))
        server = subprocess.Popen([processes.installed('nginx'), '-c', configuration], start_new_session=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_port(port, server)
            yield processes.tree(server.pid), f'http://127.0.0.1:{port}/'
        finally:
            processes.stop(server)

    return serve


def wait_for_port(port, server, limit_s=10):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline and server.poll() is None:
        # Its backlog is there before its workers are.
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), 1):
            time.sleep(0.2)
            return
        time.sleep(0.05)
    raise LoadFailed(f'nginx: nothing listens on port {port} after {limit_s} s')


def all_loads(scratch):
    """The loads of the table, then those that only serve to tell what one event costs."""
    web = [('nginx', 'nginx-light'), ('ab', 'apache2-utils')]
    perf = [('perf', 'linux-perf')]
    serve = nginx_server(scratch)

    def ab(*options):
        return lambda amount, url: ['ab', '-q', *options, '-c', str(CLIENTS), '-n', str(amount), url]

    return [
        Load('build', 'g++ build', [('g++', 'g++')], build_command, 2),
        Load('nginx', 'nginx + ab, new connections', web, ab(), 2_000, serve),
        Load('keepalive', 'nginx + ab -k', web, ab('-k'), 8_000, serve),
        Load('messaging', 'perf bench sched messaging', perf,
             lambda amount: ['perf', 'bench', 'sched', 'messaging', '-g', '10', '-l', str(amount)], 40),
        Load('pipe', 'perf bench sched pipe', perf,
             lambda amount: [*PINNED, 'perf', 'bench', 'sched', 'pipe', '-l', str(amount)], 20_000),
        Load('getppid', 'getppid loop', perf,
             lambda amount: [*PINNED, 'perf', 'bench', 'syscall', 'basic', '-l', str(amount)], 500_000),
    ], [
        Load('yield', 'two processes that yield', [], lambda amount: python(YIELD, amount), 50_000, operations=2),
        Load('pages', 'pages faulted in', [], lambda amount: python(PAGES, amount), 200, operations=256),
    ]


class Fitted:
    """A load ready to run: its servers run, its amount is given or fitted. Use as a context manager."""

    def __init__(self, load, seconds, scratch, amount=None):
        self.load = load
        self._seconds = seconds
        self._log = scratch / f'{load.name}.log'
        self._stack = contextlib.ExitStack()
        self._servers, self._arguments = [], []
        self._apart = processes.interrupts_are_apart()
        self._fitted = amount is not None
        self.amount = amount or load.amount

    def __enter__(self):
        try:
            if self.load.server:
                self._servers, url = self._stack.enter_context(self.load.server())
                self._arguments = [url]
            if not self._fitted:
                self._fit()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _fit(self):
        for _ in range(6):
            wall = self.run('fit', 0).wall_s
            if wall > 0.5 * self._seconds:
                break
            self.amount = int(self.amount * min(8, 0.8 * self._seconds / wall)) + 1
        self.amount = max(1, round(self.amount * self._seconds / wall))

    def run(self, watcher, turn, own=()):
        """One run; `own`: processes of the watcher."""
        command = self.load.command(self.amount, *self._arguments)
        foreign = len([pid for pid in processes.named('telltale-sensor') if pid not in own])
        busy, interrupts = processes.host_busy_s(), processes.host_interrupts_s()
        served, watched = processes.cpu_s(self._servers), processes.cpu_s(own)
        begun = time.monotonic()
        with open(self._log, 'w') as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                       stdin=subprocess.DEVNULL)
            status, usage = processes.wait_with_usage(process, LIMIT_S)
        wall = time.monotonic() - begun
        if status != 0:
            said = ' '.join(self._log.read_text(errors='replace').split()[-30:])
            raise LoadFailed(f'{self.load.name}: {" ".join(map(str, command[:6]))} ... ended with {status}: {said}')
        watched = processes.cpu_s(own) - watched
        cpu = usage.ru_utime + usage.ru_stime + processes.cpu_s(self._servers) - served
        if self._apart:
            cpu += processes.host_interrupts_s() - interrupts
        other = max(0, processes.host_busy_s() - busy - cpu - watched)
        return Run(self.load.name, watcher, turn, self.amount * self.load.operations, wall, cpu, watched, other,
                   usage.ru_nvcsw + usage.ru_nivcsw, usage.ru_minflt, foreign)

    def run_for(self, seconds, until=lambda: False):
        """Runs that nobody counts, until so many seconds have passed or until() holds."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            self.run('unmeasured', 0)
