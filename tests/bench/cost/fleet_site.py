"""A collector of its own with a throw-away authority, the fleets that report to it, and questions put
to it meanwhile."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import ssl
import subprocess
import time

import processes

START_LIMIT_S = 60
QUESTION_LIMIT_S = 60
# When a collector counts as at rest: what is left are timers, and for half an hour after each the windows of the hour, which
# come one node after the other.
REST_SHARE, REST_LIMIT_S = 0.3, 600


class FleetFailed(Exception):
    pass


class FleetSite:
    def __init__(self, binaries, directory, options=()):
        """options: of the collector, besides those every site has."""
        self._binaries, self.directory, self._options = binaries, pathlib.Path(directory), options
        self._pki, self.data = self.directory / 'pki', self.directory / 'data'
        self._collector, self._web = None, None
        self.pid = 0

    def __enter__(self):
        if not self._pki.exists():
            self._run('telltale', 'pki', 'init', '--dir', self._pki)
            self._run('telltale', 'pki', 'issue', '--dir', self._pki, '--role', 'collector', '--name', 'collector',
                      '--dns', 'localhost')
            self._run('telltale', 'pki', 'issue', '--dir', self._pki, '--role', 'viewer', '--name', 'bench')
        self._web = ssl.create_default_context(cafile=self._pki / 'ca.crt')
        self._web.load_cert_chain(self._pki / 'viewer-bench.crt', self._pki / 'viewer-bench.key')
        self._log = open(self.directory / 'collector.log', 'w')
        self._start()
        return self

    def __exit__(self, *_):
        self._stop()
        self._log.close()

    def _start(self, options=()):
        (self.data / 'ports').unlink(missing_ok=True)  # of a collector before this one
        self._collector = subprocess.Popen(
            [self._binaries / 'telltale-collector', '--listen-grpc', '127.0.0.1:0', '--listen-https', '127.0.0.1:0',
             '--data', self.data, '--tls-ca', self._pki / 'ca.crt', '--tls-cert', self._pki / 'collector-collector.crt',
             '--tls-key', self._pki / 'collector-collector.key', '--metrics-per-node-limit', '10000',
             *self._options, *options],
            stdout=self._log, stderr=self._log, start_new_session=True)
        self.pid = self._collector.pid
        deadline = time.monotonic() + START_LIMIT_S
        while not (self.data / 'ports').exists():
            if self._collector.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise FleetFailed('the collector did not start: ' + self.log_end())
            time.sleep(0.05)
        self._ports = dict(line.split('=') for line in (self.data / 'ports').read_text().split())

    def _stop(self):
        if self._collector is not None:
            processes.stop(self._collector, signal.SIGTERM)

    def restart(self, options=()):
        """With these options besides; its ports and process id are others afterwards."""
        self._stop()
        self._start(options)

    def settle(self):
        """Waits until the collector is at rest: windows that were due are made, filters have caught up."""
        deadline = time.monotonic() + REST_LIMIT_S
        busy = True
        while busy and time.monotonic() < deadline:
            before = processes.cpu_s([self.pid])
            time.sleep(1)
            busy = processes.cpu_s([self.pid]) - before > REST_SHARE
        if busy:
            raise FleetFailed(f'the collector was still busy {REST_LIMIT_S} s after its start: {self.log_end()}')

    def _run(self, program, *arguments):
        done = subprocess.run([self._binaries / program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60)
        if done.returncode != 0:
            raise FleetFailed(f'{program}: {done.stdout.strip()}')

    def running(self):
        """Whether it is still the process that was started."""
        return self._collector.poll() is None

    def telltale(self, *words):
        """What the command line says to a viewer."""
        done = subprocess.run(
            [self._binaries / 'telltale', *words, '--collector', f"localhost:{self._ports['grpc']}",
             '--ca', self._pki / 'ca.crt', '--cert', self._pki / 'viewer-bench.crt',
             '--key', self._pki / 'viewer-bench.key'],
            capture_output=True, text=True, timeout=QUESTION_LIMIT_S)
        if done.returncode != 0:
            raise FleetFailed(f"telltale {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def log_end(self):
        return ' '.join((self.directory / 'collector.log').read_text(errors='replace').splitlines()[-3:])

    @contextlib.contextmanager
    def fleet(self, nodes, options):
        """A fleet that is running; .result(), once it has ended, is its report."""
        said = open(self.directory / 'fleet.log', 'w')
        fleet = Fleet(subprocess.Popen(
            [self._binaries / 'telltale-fleetsim', '--collector', f"localhost:{self._ports['grpc']}", '--pki', self._pki,
             '--nodes', str(nodes), '--collector-pid', str(self.pid), '--disk', self.directory, '-o', 'json', *options],
            stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True), pathlib.Path(said.name))
        try:
            yield fleet
        finally:
            fleet.end()
            said.close()

    def version(self):
        done = subprocess.run([self._binaries / 'telltale-collector', '--version'], stdout=subprocess.PIPE, text=True, timeout=60)
        return done.stdout.split()[-1]

    def ask(self, method, path, question=None, accept='application/json'):
        """(seconds until the whole answer was there, its bytes)"""
        connection = http.client.HTTPSConnection('localhost', int(self._ports['https']), context=self._web,
                                                 timeout=QUESTION_LIMIT_S)
        try:
            connection.connect()  # people keep theirs
            begun = time.monotonic()
            body = json.dumps(question) if question is not None else None
            connection.request(method, path, body, {'Content-Type': 'application/json', 'Accept': accept} if body else {})
            answer = connection.getresponse()
            text = answer.read()
            took = time.monotonic() - begun
        except OSError as error:
            raise FleetFailed(f'{path}: {error}') from error
        finally:
            connection.close()
        if answer.status != 200:
            raise FleetFailed(f'{path}: HTTP {answer.status}: {text[:200]!r}')
        return took, text


class Fleet:
    def __init__(self, process, said):
        self._process, self._said = process, said

    def progress(self):
        """Its last line; None: it has ended."""
        return self._last_line() if self._process.poll() is None else None

    def cut(self):
        """Epochs of all nodes together; a few seconds old."""
        return int(re.search(r'(\d+) epochs cut', self._last_line())[1])

    def _last_line(self):
        return (self._said.read_text().splitlines() or [''])[-1]

    def enough(self):
        """No more epochs are cut; those that were are settled, then it ends."""
        self._process.send_signal(signal.SIGTERM)

    def result(self):
        text = self._process.stdout.read()
        if self._process.wait() not in (0, 1) or not text:
            raise FleetFailed(f'telltale-fleetsim: {self._last_line()}')
        return json.loads(text)

    def end(self):
        processes.stop(self._process, signal.SIGTERM)
