#!/usr/bin/env python3
"""deploy/container/Containerfile without a container engine: the steps of its stages are done one by one in a bare Debian, and
what comes of them runs as the chart's pods ask. The stage that compiles takes ten minutes: in its place stand the packages
of this build, and that the packages it installs exist. What engines and clusters add is not seen here: layers, seccomp,
AppArmor, cgroups, masked paths of /proc.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import containers  # noqa: E402
import facts  # noqa: E402
import machine_root  # noqa: E402
import packages  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
STAGES = {name: (base, steps) for name, base, steps
          in containers.stages((ROOT / "deploy/container/Containerfile").read_text())}
# What chart_test.py compares with the chart.
RENDERED = ROOT / "tests/helm/golden/everything.yaml"
HOSTS = "127.0.0.1 localhost telltale-collector.monitoring.svc\n"


def readme_lines():
    block = re.search(r"^```sh\n(.*?)^```", (ROOT / "helm/telltale/README.md").read_text(), flags=re.M | re.S)[1]
    return block.replace("\\\n", " ").splitlines()


def ignored():
    return [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]


@unittest.skipIf(os.geteuid() != 0, "SKIPPED: images are made in root directories, which needs root")
@unittest.skipIf(shutil.which("debootstrap", path="/usr/sbin") is None, "SKIPPED: debootstrap is not installed")
@unittest.skipIf(yaml is None, "SKIPPED: manifests are read with python3-yaml")
class ContainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        machine_root.loopback_up()
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="telltale-container-"))
        subprocess.run(["mount", "-t", "tmpfs", "telltale", cls.scratch], check=True)
        cls.addClassCleanup(cls.scratch.rmdir)
        cls.addClassCleanup(subprocess.run, ["umount", "--recursive", "--lazy", cls.scratch], check=True)
        cls.debian = cls.scratch / "debian"
        made = containers.debian(cls.debian)
        cls.no_debian = made.returncode != 0 and (made.stdout + made.stderr).strip().splitlines()[-1]
        if cls.no_debian:
            return
        built = packages.build().values()
        cls.images = {}
        for name in ("agent", "collector"):
            cls.images[name] = containers.build(STAGES[name][1], [cls.debian], cls.scratch / f"image-{name}",
                                                lambda words, into: cls.copy_packages(built, words, into))

    @staticmethod
    def copy_packages(built, words, into):
        stage, pattern = words
        found = [file for file in built if file.match(pathlib.PurePath(pattern).name)]
        if (stage, str(pathlib.PurePath(pattern).parent)) != ("--from=build", "/src/build/release/packages") or not found:
            raise RuntimeError(f"COPY {stage} {pattern}: nothing like it among {[file.name for file in built]}")
        for file in found:
            shutil.copy(file, into)

    def setUp(self):
        if self.no_debian:
            self.skipTest(f"SKIPPED: debootstrap makes no Debian: {self.no_debian}")
        self.running = []
        self.addCleanup(self.stop_all)
        parts = [yaml.safe_load(part) for part in re.split(r"^---\n", RENDERED.read_text(), flags=re.M)
                 if "# Source: NOTES.txt" not in part]
        self.objects = {(each["kind"], each["metadata"]["name"]): each for each in parts if each}

    def stop_all(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()

    def pod(self, kind, name):
        return self.objects[kind, name]["spec"]["template"]["spec"]

    def in_image(self, name, *words):
        """In a container that only the image says anything about."""
        image = self.images[name]
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        closed = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        container = containers.Container(image, {"name": name, "volumeMounts": [], "securityContext": closed}, {}, {}, folder,
                                         HOSTS)
        return container.run(*words)

    def test_what_git_ignores_is_not_sent_to_the_build(self):
        # An older build is for other paths and stops cmake; .telltale holds keys.
        for file in ROOT.rglob(".gitignore"):
            folder = file.parent.relative_to(ROOT)
            if folder.parts[:1] == ("build",):
                continue
            for line in file.read_text().split():
                name = line.strip("/")
                anchored = str(folder / name)
                self.assertTrue({anchored, f"**/{name}"} & set(ignored()), f"{file}: {line} is not in .dockerignore")
        self.assertNotIn(".git", ignored())  # the version is made of it

    def test_images_start_from_debian_and_the_packages_they_need_exist(self):
        self.assertEqual([base for base, _ in STAGES.values()],
                         ["debian:bookworm", "debian:bookworm-slim", "debian:bookworm-slim"])
        image = containers.build([("RUN", "apt-get update")], [self.debian], self.scratch / "packages", None)
        (image.layers[0] / "src").mkdir()
        shutil.copytree(ROOT / "deploy", image.layers[0] / "src/deploy", ignore=shutil.ignore_patterns("pictures"))
        containers.build([("WORKDIR", "/src"), ("RUN", "bash -c 'source deploy/packages.sh && apt-get install --simulate -q "
                                                       "--no-install-recommends \"${build_packages[@]}\"'")],
                         image.layers, self.scratch / "packages-found", None)

    def test_accounts_have_the_numbers_of_the_chart_and_nothing_is_left_over(self):
        collector = self.pod("StatefulSet", "telltale-collector")["securityContext"]
        self.assertEqual(self.images["collector"].user, f"{collector['runAsUser']}:{collector['runAsGroup']}")
        self.assertEqual(collector["fsGroup"], collector["runAsGroup"])
        enroll = self.pod("DaemonSet", "telltale-agent")["initContainers"][2]["securityContext"]
        for name, account, user, group in (("collector", "telltale", collector["runAsUser"], collector["runAsGroup"]),
                                           ("agent", "telltale-agent", enroll["runAsUser"], enroll["runAsGroup"])):
            self.assertEqual(self.in_image(name, "getent", "passwd", account).stdout.split(":")[2:4], [str(user), str(group)])
            self.assertEqual(self.in_image(name, "getent", "group", account).stdout.split(":")[2], str(group))
            left = self.in_image(name, "sh", "-c", "ls /tmp /var/lib/apt/lists")
            self.assertEqual(left.stdout, "/tmp:\n\n/var/lib/apt/lists:\n", left.stderr)
        owner = self.in_image("collector", "stat", "-c", "%U:%G %a", "/var/lib/telltale-collector").stdout
        self.assertEqual(owner, "telltale:telltale 750\n")

    def test_images_answer_by_themselves(self):
        for name, user in (("agent", "0"), ("collector", "10001")):
            self.assertEqual(self.in_image(name, "id", "-u").stdout.strip(), user)
            said = self.in_image(name, *self.images[name].entrypoint, "--version")
            self.assertIn("telltale", said.stdout, said.stderr)
            refused = self.in_image(name, "touch", "/var/lib/somewhere")
            self.assertIn("Read-only file system", refused.stderr)

    def test_the_chart_s_pods_start_enrol_and_report(self):
        # As the chart's README says, line by line; kubectl makes secrets of files, and helm starts what it is given.
        self.folder = self.scratch / "operator"
        self.folder.mkdir()
        secrets, said, collector, agent = {}, "", None, None
        for line in readme_lines():
            if line.startswith("telltale pki "):
                self.shell(line.replace("telltale.svc", "monitoring.svc"))
            elif " create secret generic " in line:
                name, *pairs = shlex.split(line.partition(" create secret generic ")[2])
                secrets[name] = dict(self.entry(pair, said) for pair in pairs)
            elif line.startswith("helm install "):
                collector = self.start_collector(secrets)
                self.await_true(lambda: self.answer(collector, "readinessProbe") == 200, collector.log)
            elif " telltale enroll token " in line:
                said = self.shell(line)
            elif line.startswith("helm upgrade "):
                agent = self.start_agent(secrets)
        for probe in ("startupProbe", "livenessProbe"):
            words = agent.spec[probe]["exec"]["command"]
            self.await_true(lambda words=words: agent.run(*words).returncode == 0, agent.log)
        self.await_true(lambda: any(int(node.get("epochsReceived", 0)) for node in
                                    self.nodes() if node["name"] == "node-7"), agent.log)
        self.assertEqual(self.answer(collector, "livenessProbe"), 200)
        # With what the pod is granted the kernel's sensor sees what it sees as root.
        check = ("telltale-agent", "check", "--json")
        as_root = subprocess.run([BIN / check[0], *check[1:]], capture_output=True, text=True, timeout=120)
        granted = agent.run(*check)
        self.assertEqual((granted.returncode, as_root.returncode), (0, 0), granted.stderr)
        for seen in ("vitals", "sources"):
            self.assertEqual(json.loads(granted.stdout)[seen], json.loads(as_root.stdout)[seen], granted.stderr)
        for process in reversed(self.running):
            process.terminate()
            self.assertEqual(process.wait(timeout=120), 0, collector.log.read_text() + agent.log.read_text())

    def start_collector(self, secrets):
        pod = self.pod("StatefulSet", "telltale-collector")
        folder = self.scratch / "collector"
        claims = [claim["metadata"]["name"] for claim in
                  self.objects["StatefulSet", "telltale-collector"]["spec"]["volumeClaimTemplates"]]
        volumes = containers.volumes_of(pod, folder / "volumes", self.config_maps(), secrets, claims)
        container = containers.Container(self.images["collector"], pod["containers"][0], pod, volumes, folder / "collector",
                                         HOSTS)
        self.running.append(container.start("--ingest-spread", "1s"))
        self.await_true(lambda: self.answer(container, "startupProbe") == 200, container.log)
        return container

    def start_agent(self, secrets):
        pod = self.pod("DaemonSet", "telltale-agent")
        folder = self.scratch / "agent"
        volumes = containers.volumes_of(pod, folder / "volumes", self.config_maps(), secrets)
        environment = {"NODE_NAME": "node-7", "CA_HASH": secrets["telltale-enroll"]["ca-hash"].decode()}
        for turn in ("first", "again"):  # a pod that is started again finds what it made
            for spec in pod["initContainers"]:
                container = containers.Container(self.images["agent"], spec, pod, volumes, folder / f"{spec['name']}-{turn}", HOSTS,
                                                 environment)
                self.assertEqual(container.start().wait(timeout=120), 0, f"{spec['name']}: {container.log.read_text()}")
        container = containers.Container(self.images["agent"], pod["containers"][0], pod, volumes, folder / "agent", HOSTS)
        # The replay sensor, as other tests need the kernel's for themselves.
        self.running.append(container.start("--epoch", "5s", "--sensor-kind", "replay", "--uplink-reconnect-max", "1s"))
        return container

    def config_maps(self):
        return {name: {file: text.encode() for file, text in each["data"].items()}
                for (kind, name), each in self.objects.items() if kind == "ConfigMap"}

    def answer(self, container, probe):
        """The status that a kubelet would get, which looks at no certificate."""
        ask = container.spec[probe]["httpGet"]
        port = next(port["containerPort"] for port in container.spec["ports"] if port["name"] == ask["port"])
        try:
            with urllib.request.urlopen(f"{ask['scheme'].lower()}://127.0.0.1:{port}{ask['path']}", timeout=10,
                                        context=ssl._create_unverified_context()) as said:
                return said.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def shell(self, line):
        done = subprocess.run(["sh", "-ec", line], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TELLTALE_COLLECTOR": "localhost:7410"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def nodes(self):
        return json.loads(self.shell("TELLTALE_TLS_DIR=pki telltale nodes -o json")).get("nodes", [])

    def entry(self, pair, said):
        """Key and value of what kubectl create secret is given; ... stands for what was said before."""
        kind, key, value = pair.split("=", 2)
        if kind == "--from-file":
            return key, (self.folder / value).read_bytes()
        shown = re.search(re.escape(value.removesuffix("...")) + r"\w+", said)
        self.assertEqual((kind, value[-3:]), ("--from-literal", "..."))
        self.assertIsNotNone(shown, said)
        return key, shown[0].encode()

    def await_true(self, ask, log, seconds=120):
        end = time.monotonic() + seconds
        while not ask():
            self.assertLess(time.monotonic(), end, log.read_text(errors="replace")[-4000:])
            time.sleep(0.3)


if __name__ == "__main__":
    machine_root.enter_namespaces()
    facts.main()
