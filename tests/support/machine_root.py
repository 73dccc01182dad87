"""A root file system to install packages into, thrown away afterwards: a copy of this machine (an overlay over /, the
default), or a bare Debian when TELLTALE_CLEAN_ROOT is set: 1 makes one for each root (debootstrap, minutes), a directory
is one that was made before (debootstrap --variant=minbase --include=systemd,iproute2 bookworm DIR). Call `enter_namespaces` first, once a process:
mounts, ports and processes are the test's own then, and end with it.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

INSIDE = "TELLTALE_TEST_HOST_NETWORK"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def enter_namespaces(processes=True):
    """Starts this very test again in namespaces of its own; returns in that one only. Not as root: the tests skip. The
    kernel's sensor names processes as the host does: with `processes` false they stay in sight, and do not end with the test."""
    if os.environ.get(INSIDE) or os.geteuid() != 0:
        return
    network = os.open("/proc/self/ns/net", os.O_RDONLY)
    os.set_inheritable(network, True)
    os.environ[INSIDE] = str(network)
    own = ["--pid", "--fork", "--kill-child", "--mount-proc"] if processes else []
    os.execvp("unshare", ["unshare", "--mount", "--net", *own, "--propagation", "private", "--", sys.executable, *sys.argv])


def loopback_up():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def host_network(*command):
    """The command in the network of the host, as the test's own has none; and the descriptors it needs."""
    network = int(os.environ[INSIDE])
    return ["nsenter", f"--net=/proc/self/fd/{network}", *command], [network]


def add_devices(folder):
    """What programs expect below /dev."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder], check=True)
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        os.mknod(folder / name, 0o020666, os.makedev(1, minor))
        (folder / name).chmod(0o666)


def refuse_to_start_services(root):
    """Services are started by the tests, not by dpkg."""
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)


class MachineRoot:
    """`path` is the root directory; `run` runs a command in it."""

    def __init__(self):
        loopback_up()
        lower = os.environ.get("TELLTALE_CLEAN_ROOT") or "/"
        self.clean = lower != "/"
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="telltale-root-"))
        self.path = self.scratch / "root"
        subprocess.run(["mount", "-t", "tmpfs", "telltale", self.scratch], check=True)
        self.path.mkdir()
        if lower == "1":
            self.with_network("debootstrap", "--variant=minbase", "--include=systemd,iproute2", "bookworm", self.path)
        else:
            for name in ("upper", "work"):
                (self.scratch / name).mkdir()
            subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                            f"lowerdir={lower},upperdir={self.scratch}/upper,workdir={self.scratch}/work", self.path],
                           check=True)
        for name in ("run", "tmp"):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.path / name], check=True)
        (self.path / "tmp").chmod(0o1777)
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        subprocess.run(["mount", "-t", "sysfs", "-o", "ro", "sysfs", self.path / "sys"], check=True)
        add_devices(self.path / "dev")
        hosts = self.path / "etc/hosts"  # an installer's work: debootstrap makes none
        if not hosts.exists():
            hosts.write_text("127.0.0.1 localhost\n::1 localhost\n")
        refuse_to_start_services(self.path)

    def remove(self):
        subprocess.run(["umount", "--recursive", "--lazy", self.scratch], check=True)
        self.scratch.rmdir()

    @staticmethod
    def with_network(*command):
        command, keep = host_network(*command)
        subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL, pass_fds=keep,
                       env={**os.environ, "PATH": PATH, "DEBIAN_FRONTEND": "noninteractive"})

    def run(self, *command, check=True, timeout=120, **environment):
        done = subprocess.run(["chroot", self.path, *command], capture_output=True, text=True, timeout=timeout,
                              env={"PATH": PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                                   **environment})
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def install(self, packages):
        """What apt would do: in a bare Debian with what they depend on; here all of that is there."""
        for package in packages:
            shutil.copy(package, self.path / "tmp")
        paths = [f"/tmp/{pathlib.Path(package).name}" for package in packages]
        if self.clean:
            shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
            self.with_network("chroot", self.path, "sh", "-c", "apt-get update -q && apt-get install -y -q "
                              "--no-install-recommends --allow-downgrades -o Dpkg::Options::=--force-confold " + " ".join(paths))
        else:
            self.run("dpkg", "--force-confold", "-i", *paths)

    def start(self, log, *command, inside=()):
        """A process in the root, with `inside` in namespaces of its own (nsenter ...); its output goes to the file `log`
        in the scratch directory."""
        with open(self.scratch / log, "ab") as out:
            return subprocess.Popen([*inside, "chroot", self.path, *command], stdout=out, stderr=out,
                                    stdin=subprocess.DEVNULL, env={"PATH": PATH})
