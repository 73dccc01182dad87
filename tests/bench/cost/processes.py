"""CPU time and memory of processes and of the host, as /proc tells them."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

TICK_S = 1 / os.sysconf('SC_CLK_TCK')
CPUS = os.cpu_count()
LAST_CPU = max(os.sched_getaffinity(0))


def read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:  # it ended meanwhile
        return ''


def tree(pid):
    """The process and all below it."""
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit() and (stat := read(f'/proc/{name}/stat')):
            parents[int(name)] = int(stat.rpartition(')')[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def cpu_s(pids):
    """CPU time all threads of these processes have used, to the nanosecond."""
    total = 0
    for pid in pids:
        try:
            threads = os.listdir(f'/proc/{pid}/task')
        except OSError:
            continue
        for thread in threads:
            if used := read(f'/proc/{pid}/task/{thread}/schedstat'):
                total += int(used.split()[0])
    return total / 1e9


def host_busy_s():
    """CPU time of the whole host since boot that was neither idle nor stolen, interrupts included."""
    ticks = [int(word) for word in read('/proc/stat').splitlines()[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4] - ticks[7]) * TICK_S


def host_interrupts_s():
    ticks = [int(word) for word in read('/proc/stat').splitlines()[0].split()[1:9]]
    return (ticks[5] + ticks[6]) * TICK_S


def interrupts_are_apart():
    """Whether this kernel takes interrupt time out of the tasks' accounts; then it must be added."""
    release = os.uname().release
    text = read(f'/boot/config-{release}')
    if not text and os.path.exists('/proc/config.gz'):
        text = subprocess.run(['zcat', '/proc/config.gz'], stdout=subprocess.PIPE, text=True, timeout=10).stdout
    return 'CONFIG_IRQ_TIME_ACCOUNTING=y' in text


def memory_kb(pid):
    """(resident, proportional share of it) in KB."""
    resident = re.search(r'VmRSS:\s+(\d+)', read(f'/proc/{pid}/status'))
    share = re.search(r'^Pss:\s+(\d+)', read(f'/proc/{pid}/smaps_rollup'), re.MULTILINE)
    return int(resident[1]) if resident else 0, int(share[1]) if share else 0


def command_name(pid):
    return read(f'/proc/{pid}/comm').strip()


def named(name):
    """Processes of that command name."""
    return [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and command_name(pid) == name]


def bpf_objects(pid, kind):
    """{id: {field: number}} of the BPF programs ('prog') or maps ('map') a process holds. Run-time
    statistics of programs are there while kernel.bpf_stats_enabled is on."""
    objects = {}
    try:
        names = os.listdir(f'/proc/{pid}/fdinfo')
    except OSError:
        return objects
    for name in names:
        text = read(f'/proc/{pid}/fdinfo/{name}')
        # A link names its program too; only the program's own entry says how much memory it locks.
        if f'{kind}_id:' in text and 'memlock:' in text:
            fields = {field: int(number) for field, number in re.findall(r'^(\w+):\s+(\d+)$', text, re.MULTILINE)}
            objects[fields[f'{kind}_id']] = fields
    return objects


def installed(program):
    return shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin')


def wait_with_usage(process, limit_s):
    """Waits for a child that leads its own session; (status, resource usage of it and what it waited
    for). After the limit its whole group is killed."""
    watchdog = threading.Timer(limit_s, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        watchdog.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def stop(process, number=signal.SIGINT, limit_s=30):
    """Ends a child that we started; it is killed if it does not go."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
