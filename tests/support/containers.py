"""Images and containers without a container engine: the steps of a Containerfile are done in a root directory, and a pod's
containers run in one as its manifest asks: user, groups, capabilities, read-only root, volumes. Whatever else stands in
either is an error, so that nothing is passed over in silence. Call machine_root.enter_namespaces first.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess

import machine_root

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def stages(text):
    """(name, what it is from, its steps as (word, rest)) of each stage of a Containerfile."""
    found = []
    for line in re.sub(r"^\s*#.*\n", "", text, flags=re.M).replace("\\\n", "").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append((name, base, []))
        elif word:
            found[-1][2].append((word, rest.strip()))
    return found


def debian(path):
    """What debian:bookworm and debian:bookworm-slim are made from, near enough: packages of a minimal system."""
    command, keep = machine_root.host_network("debootstrap", "--variant=minbase", "bookworm", path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, pass_fds=keep, env=ENVIRONMENT)
    if done.returncode == 0:
        machine_root.refuse_to_start_services(path)
    return done


class Root:
    """Layers, the uppermost first, with a new one on top that `layer` names; /proc, /sys and /dev as engines give them."""

    def __init__(self, folder, layers):
        self.path, self.layer = folder / "root", folder / "layer"
        for part in (self.path, self.layer, folder / "work"):
            part.mkdir(parents=True)
        lower = ":".join(map(str, layers))
        mount("-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={self.layer},workdir={folder}/work", self.path)
        mount("-t", "proc", "proc", self.path / "proc")
        mount("-t", "sysfs", "-o", "ro", "sysfs", self.path / "sys")
        machine_root.add_devices(self.path / "dev")

    def close(self):
        subprocess.run(["umount", "--recursive", "--lazy", self.path], check=True)


@dataclasses.dataclass
class Image:
    layers: list
    user: str = "0:0"
    workdir: str = "/"
    entrypoint: list = dataclasses.field(default_factory=list)


def build(steps, layers, folder, copy):
    """The image of a stage. `copy(words, target)` does what COPY with these words has to, into a directory."""
    root = Root(folder, layers)
    image = Image([root.layer, *layers])
    for word, rest in steps:
        if word == "RUN":
            (root.path / "etc/resolv.conf").write_text(pathlib.Path("/etc/resolv.conf").read_text())
            command, keep = machine_root.host_network("chroot", root.path, "env", "-C", image.workdir, "/bin/sh", "-c", rest)
            done = subprocess.run(command, capture_output=True, text=True, timeout=3600, pass_fds=keep, env=ENVIRONMENT,
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise RuntimeError(f"RUN {rest}\nended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        elif word == "COPY":
            *words, target = rest.split()
            path = root.path / target.lstrip("/")
            path.mkdir(parents=True, exist_ok=True)
            copy(words, path)
        elif word == "WORKDIR":
            image.workdir = rest
        elif word == "USER":
            image.user = rest
        elif word == "ENTRYPOINT":
            image.entrypoint = json.loads(rest)
        else:
            raise ValueError(f"{word} {rest}: not known here")
    root.close()
    return image


def volumes_of(pod, folder, config_maps, secrets, claims=()):
    """Directories by name, as a node has them: files of maps and secrets behind links, all of the pod's group."""
    group = pod.get("securityContext", {}).get("fsGroup", 0)
    found = {}
    for volume in [*pod["volumes"], *({"name": claim, "claim": {}} for claim in claims)]:
        kind, about = next((key, value) for key, value in volume.items() if key != "name")
        path = found[volume["name"]] = folder / volume["name"]
        path.mkdir(parents=True, exist_ok=True)
        if kind in ("configMap", "secret"):
            files = config_maps[about["name"]] if kind == "configMap" else secrets[about["secretName"]]
            names = [item["key"] for item in about["items"]] if "items" in about else files
            (path / "..now").mkdir()
            (path / "..data").symlink_to("..now")
            for name in names:
                file = path / "..now" / name
                file.write_bytes(files[name])
                os.chown(file, 0, group)
                file.chmod(about.get("defaultMode", 0o644))
                (path / name).symlink_to(f"..data/{name}")
        elif kind in ("emptyDir", "claim"):
            os.chown(path, 0, group)
            path.chmod(0o2777 if kind == "emptyDir" else 0o2775)
        elif kind != "hostPath":  # of the node, which makes it for root
            raise ValueError(f"volume {volume}: not known here")
    return found


class Container:
    """One container of a pod over an image; its files are in `folder`, what it says in `log`. `environment` gives the values
    of variables that come from elsewhere."""

    def __init__(self, image, spec, pod, volumes, folder, hosts, environment=()):
        self.image, self.spec, self.pod, self.log = image, spec, pod, folder / "log"
        self.environment = {**ENVIRONMENT, **{entry["name"]: dict(environment)[entry["name"]] for entry in spec.get("env", [])}}
        root = Root(folder, image.layers)
        self.path = root.path
        (self.path / "etc/hosts").write_text(hosts)
        for entry in spec["volumeMounts"]:
            source, target = volumes[entry["name"]] / entry.get("subPath", ""), self.path / entry["mountPath"].lstrip("/")
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            mount("--bind", source, target)
            if entry.get("readOnly"):
                mount("-o", "remount,bind,ro", target)
        if spec["securityContext"]["readOnlyRootFilesystem"]:
            mount("-o", "remount,bind,ro", self.path)

    def inside(self, *words):
        """The command that runs these words in it with what the manifest grants."""
        context = {**self.pod.get("securityContext", {}), **self.spec["securityContext"]}
        user, group = self.image.user.split(":")
        if "runAsUser" in context:
            user, group = str(context["runAsUser"]), str(context.get("runAsGroup", 0))
        if context["capabilities"]["drop"] != ["ALL"] or context["allowPrivilegeEscalation"]:
            raise ValueError(f"{self.spec['name']}: {context} leaves more open than this can do")
        if context.get("runAsNonRoot") and user == "0":
            raise ValueError(f"{self.spec['name']}: is root, and runAsNonRoot forbids it")
        granted = ",".join(["-all", *(f"+{name.lower()}" for name in context["capabilities"].get("add", []))])
        groups = ["--groups", str(context["fsGroup"])] if "fsGroup" in context else ["--clear-groups"]
        expanded = [re.sub(r"\$\((\w+)\)", lambda name: self.environment[name[1]], word) for word in words]
        return ["chroot", self.path, "setpriv", "--reuid", user, "--regid", group, *groups, "--bounding-set", granted,
                "--inh-caps=-all", "--no-new-privs", *expanded]

    def run(self, *words, timeout=120):
        return subprocess.run(self.inside(*words), capture_output=True, text=True, timeout=timeout, env=self.environment)

    def start(self, *more):
        """What it is for: its command, or the image's, with its arguments and `more`."""
        words = [*self.spec.get("command", self.image.entrypoint), *self.spec.get("args", []), *more]
        with open(self.log, "ab") as out:
            return subprocess.Popen(self.inside(*words), stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                    env=self.environment)
