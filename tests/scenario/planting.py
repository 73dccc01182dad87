"""Starts a load of the corpus on this host and takes it away again, with all it left behind."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

CGROUPS = pathlib.Path("/sys/fs/cgroup")
SETTLE_S = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Planted:
    """One load while it runs. It has a user and a directory of its own; {it} is a copy of its program, `planted_NAME`.

    `problem` says why it could not be planted, `left` what of it could not be taken away.
    """

    def __init__(self, entry, place, uid, programs, epoch_s=5):
        self.entry, self.uid = entry, 0 if entry.root else uid
        self.dir = pathlib.Path(place) / "work" / entry.name
        self.exe = pathlib.Path(place) / "bin" / f"planted_{entry.name}"
        self.rounds = pathlib.Path(place) / "work" / f"{entry.name}.rounds"
        self.cgroups, self.process, self.problem, self.left = [], None, "", ""
        self.started_s = self.planted_s = self.ended_s = 0.0
        self._programs, self._port, self._epoch_s = pathlib.Path(programs), free_port(), epoch_s

    def start(self):
        self.dir.mkdir(parents=True)
        self.exe.parent.mkdir(exist_ok=True)
        if self.entry.program:
            shutil.copy(self._programs / self.entry.program, self.exe)
            self.exe.chmod(0o755)
        try:
            if self.entry.before:
                self._as_root(self.entry.before)
            self._limit()
        except (subprocess.SubprocessError, OSError) as error:
            self.problem = str(getattr(error, "stderr", "") or error).strip()[-200:]
            return
        self._as_root(f"chown -R {self.uid} {self.dir} 2>/dev/null || true")
        command = self._filled(self.entry.run)
        if self.entry.kind == "innocent":
            # How each round ended, and what this host lacks: what only ever fails is no load.
            self.rounds.touch()
            os.chown(self.rounds, self.uid, self.uid)
            command = (f"command_not_found_handle() {{ echo missing-$1 >>{self.rounds}; return 127; }}\n"
                       f"while :; do ({command}); echo $? >>{self.rounds}; done")
        who = [] if self.entry.root else ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        joined = "".join(f"echo $$ >{group}/cgroup.procs; " for group in self.cgroups)
        if self.entry.kind == "fault":
            who = ["nice", "-n", "-5", *who]
            # Sessions share the CPUs first; within one its processes do.
            joined += "(echo -5 >/proc/self/autogroup) 2>/dev/null; "
        self.process = subprocess.Popen(
            ["bash", "-c", joined + 'exec "$@"', "bash", *who, "bash", "-c", command], cwd=self.dir,
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.dir), "LC_ALL": "C.UTF-8"})
        self.started_s = self.planted_s = time.time()

    def strike(self):
        """Makes a fault of what ran well so far."""
        self.planted_s = time.time()
        try:
            self._as_root(self.entry.strike)
        except subprocess.SubprocessError as error:
            self.problem = f"was gone before: {error}"

    def stop(self):
        self.ended_s = time.time()
        if self.entry.kind == "innocent" and not self.problem:
            self.problem = self.why_it_did_not_run()
        deadline = time.monotonic() + SETTLE_S
        while self.process is not None and (pids := self.pids()) and time.monotonic() < deadline:
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)
            self.process.poll()
        if self.process is not None:
            try:
                self.process.wait(timeout=SETTLE_S)
            except subprocess.TimeoutExpired:
                self.left = "a process that cannot be ended"
        if self.entry.after:
            try:
                self._as_root(self.entry.after)
            except subprocess.SubprocessError as error:
                self.left = str(getattr(error, "stderr", "") or error).strip()
        for group in self.cgroups:
            for _ in range(20):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)
        shutil.rmtree(self.dir, ignore_errors=True)

    def why_it_did_not_run(self):
        """Of an innocent load; "": it did. A round that goes on yet counts as one that works, if processes do."""
        ended = self.rounds.read_text().split() if self.rounds.exists() else []
        if missing := sorted({word.removeprefix("missing-") for word in ended if word.startswith("missing-")}):
            return f"it did not run: this host has no {', '.join(missing)}"
        if "0" in ended or (not ended and len(self.pids()) > 1):
            return ""
        return f"it did not run: its {len(ended)} rounds ended with {', '.join(sorted(set(ended))) or 'nothing'}"

    def pids(self):
        """Its living processes: of its user or, if that is root, of its session or its program."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if stat[0] == "Z":
                    continue
                mine = entry.stat().st_uid == self.uid if self.uid else (
                    self.process is not None and int(stat[3]) == self.process.pid or
                    os.readlink(entry / "exe") == str(self.exe))
            except OSError:
                continue  # it ended meanwhile
            if mine:
                found.append(int(entry.name))
        return found

    def _filled(self, command):
        pids = " ".join(str(pid) for pid in self.pids()) if "{pids}" in command else ""
        values = {"it": str(self.exe), "dir": str(self.dir), "name": self.entry.name, "port": str(self._port),
                  "pids": pids, "epoch_s": str(self._epoch_s)}
        return re.sub(r"\{(it|dir|name|port|pids|epoch_s)\}", lambda match: values[match[1]], command)

    def _as_root(self, command):
        subprocess.run(["bash", "-c", self._filled(command)], cwd=self.dir, check=True, timeout=60, text=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def _limit(self):
        """Its cgroups: of version 1 where the controller is mounted so, else of version 2."""
        device = os.stat(self.dir).st_dev
        disk = f"{os.major(device)}:{os.minor(device)}"
        for limit, value in self.entry.cgroup.items():
            controller, old, new = {
                "memory_mib": ("memory", [("memory.limit_in_bytes", value << 20)], [("memory.max", value << 20)]),
                "cpu_percent": ("cpu", [("cpu.cfs_quota_us", value * 1000)], [("cpu.max", f"{value * 1000} 100000")]),
                "write_kbps": ("blkio", [("blkio.throttle.write_bps_device", f"{disk} {value << 10}")],
                               [("io.max", f"{disk} wbps={value << 10}")]),
            }[limit]
            first = (CGROUPS / controller).is_dir()
            group = (CGROUPS / controller if first else CGROUPS) / self.exe.name
            group.mkdir(exist_ok=True)
            self.cgroups.append(group)
            for file, text in old if first else new:
                (group / file).write_text(str(text))
