#!/usr/bin/env python3
"""The Helm chart: rendered with five sets of values, compared with what was committed, each object checked against
Kubernetes' types, each configuration read by the program it is for. It is not installed anywhere: there is no cluster.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import facts  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/helm"
CHART = ROOT / "helm/telltale"
BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
BUILD = pathlib.Path(os.environ["TELLTALE_BUILD"]) / "helm"
SETS = ("default", "everything", "cert-manager", "agents-only", "collector-only")

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = None


def value_file(name):
    return HERE / "values" / f"{name}.yaml"


@unittest.skipIf(jsonschema is None or shutil.which("go") is None,
                 "SKIPPED: rendering needs go, sprig, python3-yaml and python3-jsonschema (deploy/packages.sh names them)")
class ChartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", BUILD / "render", HERE / "render/main.go"], check=True, timeout=300,
                       env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "",
                            "GOCACHE": str(BUILD / "go-cache")})

    def render(self, *files):
        done = subprocess.run([BUILD / "render", CHART, "telltale", "monitoring", *files], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def objects(self, name):
        """By kind and name; without the notes."""
        text = self.render(value_file(name))
        documents = [yaml.safe_load(part) for part in re.split(r"^---\n", text, flags=re.M)
                     if part.strip() and "# Source: NOTES.txt" not in part]
        return {(d["kind"], d["metadata"]["name"]): d for d in documents if d}

    def values(self, file):
        done = subprocess.run([BUILD / "render", CHART, "--values", "x", file], capture_output=True, text=True,
                              check=True, timeout=60)
        return yaml.safe_load(done.stdout)

    def test_renderings_are_those_committed(self):
        for name in SETS:
            golden = HERE / "golden" / f"{name}.yaml"
            text = self.render(value_file(name))
            # The dashboards and rules are files of their own, seen elsewhere: their size is enough here.
            text = re.sub(r"(?m)^(  \S+\.json: \|)\n((?:    .*\n)+)",
                          lambda m: f"{m[1]}\n    ({len(m[2].splitlines())} lines)\n", text)
            if os.environ.get("TELLTALE_REWRITE"):
                golden.write_text(text)
            self.assertEqual(text.splitlines(), golden.read_text().splitlines(),
                             f"{golden.name}: run this test with TELLTALE_REWRITE=1 and look at the difference")

    def test_the_schema_takes_all_sets_and_refuses_mistakes(self):
        schema = json.loads((CHART / "values.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        for name in SETS:
            jsonschema.validate(self.values(value_file(name)), schema)
        for bad in ("agent: {enabld: true}", "agent: {epoch: 61s}", "collector: {service: {grpcPort: 70000}}",
                    "agent: {budget: 1}", "networkPolicy: {agentCidrs: [everybody]}", "colector: {}"):
            file = BUILD / "bad.yaml"
            file.write_text(bad)
            with self.assertRaises(jsonschema.ValidationError, msg=bad):
                jsonschema.validate(self.values(file), schema)

    def test_every_value_of_the_schema_has_its_default(self):
        def compare(schema, values, path):
            for key, below in schema.get("properties", {}).items():
                if path + key != "global":  # Helm's own
                    self.assertIn(key, values, f"{path}{key} is in the schema and not in values.yaml")
                    compare(below, values[key], f"{path}{key}.")
        compare(json.loads((CHART / "values.schema.json").read_text()),
                yaml.safe_load((CHART / "values.yaml").read_text()), "")

    def test_every_value_has_a_comment(self):
        """On its line, or directly above it; names of whole sections (`image:`) go without."""
        lines = (CHART / "values.yaml").read_text().splitlines()
        seen = 0
        for above, line in zip([""] + lines, lines):
            key = re.match(r"\s*(\w+): *[^ #]", line)
            if key:
                seen += 1
                self.assertTrue("  # " in line or above.strip().startswith("# "),
                                f"values.yaml: no comment says what this is: {line}")
        self.assertGreater(seen, 60)

    def test_what_is_missing_is_said(self):
        for text, said in (("{}", "give existingSecret"), ("collector: {enabled: false}", "agent.collectorAddress"),
                           ("collector: {tls: {existingSecret: s}, ingress: {enabled: true}}", "ingress.host"),
                           ("{collector: {tls: {existingSecret: s}}, agent: {enroll: {tokenSecret: t}}}", "nobody signs")):
            file = BUILD / "missing.yaml"
            file.write_text(text)
            done = subprocess.run([BUILD / "render", CHART, "t", "n", file], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0, text)
            self.assertIn(said, done.stderr)

    def test_containers_are_closed(self):
        unit = (ROOT / "deploy/packages/agent/telltale-agent.service").read_text()
        granted = {name.removeprefix("CAP_") for line in re.findall(r"^CapabilityBoundingSet=(.*)$", unit, flags=re.M)
                   for name in line.split()}
        for name in SETS:
            for (kind, _), found in self.objects(name).items():
                if kind not in ("DaemonSet", "StatefulSet"):
                    continue
                pod = found["spec"]["template"]["spec"]
                self.assertIs(pod["automountServiceAccountToken"], False)
                self.assertNotIn("hostNetwork", pod)
                for container in pod.get("initContainers", []) + pod["containers"]:
                    context = container["securityContext"]
                    self.assertIs(context["privileged"], False)
                    self.assertIs(context["allowPrivilegeEscalation"], False)
                    self.assertIs(context["readOnlyRootFilesystem"], True)
                    self.assertEqual(context["capabilities"]["drop"], ["ALL"])
                    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                        if kind == "DaemonSet" and probe in container:
                            self.assertEqual(list(container[probe]["exec"]), ["command"])
                if kind == "DaemonSet":
                    self.assertIs(pod["hostPID"], True)
                    # The one list of them: the unit's.
                    self.assertEqual(set(pod["containers"][0]["securityContext"]["capabilities"]["add"]), granted)
                else:
                    self.assertNotIn("hostPID", pod)
                    self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
                    self.assertNotIn("add", pod["containers"][0]["securityContext"]["capabilities"])

    def test_the_programs_take_their_configurations(self):
        read = 0
        for name in SETS:
            for (kind, _), found in self.objects(name).items():
                for file, text in found.get("data", {}).items() if kind == "ConfigMap" else ():
                    program = {"agent.yaml": "telltale-agent", "collector.yaml": "telltale-collector"}.get(file)
                    if program is None:
                        continue
                    (BUILD / file).write_text(text)
                    done = subprocess.run([BIN / program, "--config", BUILD / file, "--print-config"],
                                          capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    read += 1
        self.assertEqual(read, 8)

    def test_every_object_is_of_its_kubernetes_type(self):
        if shutil.which("npm") is None:
            self.skipTest("SKIPPED: npm is not installed, types of Kubernetes come from there")
        typed = BUILD / "typed"
        typed.mkdir(exist_ok=True)
        for file in ("package.json", "package-lock.json", "tsconfig.json"):
            shutil.copy(HERE / "typed" / file, typed)
        packages = json.loads((typed / "package.json").read_text())["dependencies"]
        if not all((typed / "node_modules" / package).exists() for package in packages):
            try:
                subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=typed, check=True,
                               timeout=300, capture_output=True)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                self.skipTest(f"SKIPPED: the types of Kubernetes could not be fetched: {error}")
        lines, imports, checked = [], {}, 0
        for name in SETS:
            for found in self.objects(name).values():
                module = found["apiVersion"]
                group = module.partition("/")[0]
                package = {"monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
                           "cert-manager.io": "@kubernetes-models/cert-manager"}.get(group, "kubernetes-models")
                imports.setdefault((package, module), set()).add(found["kind"])
                lines.append(f"export const o{checked}: I{found['kind']} = {json.dumps(found)};")
                checked += 1
        heads = [f"import type {{ {', '.join(f'I{kind}' for kind in sorted(kinds))} }} from \"{package}/{module}\";"
                 for (package, module), kinds in sorted(imports.items())]
        (typed / "objects.ts").write_text("\n".join(heads + lines) + "\n")
        done = subprocess.run(["npx", "--no-install", "tsc", "-p", "."], cwd=typed, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(checked, 25)


if __name__ == "__main__":
    facts.main()
