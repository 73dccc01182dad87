#!/usr/bin/env python3
"""What an agent copies of a process's stack to unwind it is never stored: a secret that lies there is in none of its
files. As root, on a kernel it can watch; the agent finds no collector, so all it has to say stays in its spool.
"""

import base64
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["TELLTALE_BIN"])
SECRET = b"Tr0ub4d\xc3\xb8r&3-k"  # 14 bytes: the last two of each 16 tell its copies apart
UNTRIED_STATUS, LIMIT_S = 77, 60
# Fills some KB of its stack with the secret, in aligned words, and works below it.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) void canary_work(volatile unsigned long* sum) {
  for (int i = 0; i < 100000; ++i) *sum = *sum * 31 + (unsigned long)i;
  usleep(100);
}
__attribute__((noinline)) void canary_holder(const char* secret) {
  volatile char stack[4096];
  for (size_t i = 0; i < sizeof(stack); ++i) stack[i] = i % 16 < 14 ? secret[i % 16] : (char)(i / 16);
  volatile unsigned long sum = 1;
  for (;;) canary_work(&sum);
}
int main(void) {
  char secret[15] = {0};
  if (read(0, secret, 14) != 14) return 1;
  canary_holder(secret);
}
"""


def forms():
    """How the secret may be spelt: as it is, as the two words it makes in memory, in text of several kinds."""
    word = struct.unpack("<Q", SECRET[:8])[0]
    yield from (SECRET, SECRET[:8], SECRET[6:14], SECRET[:8][::-1])
    yield from (b"%d" % word, b"%x" % word, SECRET[:8].hex().encode())
    for shift in range(3):  # base64 of bytes that hold it anywhere
        yield base64.b64encode(b"\0" * shift + SECRET)[4 if shift else 0:16]


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)


class StackBytesTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="telltale-stack-bytes-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.processes = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, *command, **options):
        self.processes.append(subprocess.Popen(command, **options))
        return self.processes[-1]

    def certificate(self):
        key, certificate = self.directory / "key", self.directory / "certificate"
        made = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                   "-subj", "/CN=canary", "-addext", "subjectAltName=URI:telltale://node/canary", "-keyout", key, "-out", certificate)
        self.assertEqual(made.returncode, 0, made.stdout)
        key.chmod(0o600)
        return key, certificate

    def watch(self):
        """Runs the program beside an agent until two epochs are in the spool; all of the agent's files."""
        source, program = self.directory / "canary.c", self.directory / "canary"
        source.write_text(PROGRAM)
        built = run("cc", "-O2", "-fomit-frame-pointer", "-o", program, source)
        self.assertEqual(built.returncode, 0, built.stdout)
        key, certificate = self.certificate()
        kept = self.directory / "kept"
        kept.mkdir()
        loaded = self.start(program, stdin=subprocess.PIPE)
        loaded.stdin.write(SECRET)
        loaded.stdin.close()
        with open(kept / "log", "wb") as log:
            agent = self.start(BIN / "telltale-agent", "--collector", "127.0.0.1:1", "--tls-ca", certificate, "--tls-cert",
                               certificate, "--tls-key", key, "--spool-dir", kept / "spool", "--unwind-dir", kept / "unwind",
                               "--status-socket", self.directory / "socket", "--epoch", "5s", "--uplink-cells", "true",
                               stderr=log)
        deadline = time.monotonic() + LIMIT_S
        while len(list((kept / "spool").glob("*.rec"))) < 2:
            self.assertIsNone(agent.poll(), (kept / "log").read_text(errors="replace"))
            self.assertLess(time.monotonic(), deadline, (kept / "log").read_text(errors="replace"))
            time.sleep(0.1)
        agent.send_signal(signal.SIGTERM)
        agent.wait(LIMIT_S)
        return kept

    def test_a_secret_on_a_stack_is_in_no_file_of_the_agent(self):
        kept = self.watch()
        records = sorted((kept / "spool").glob("*.rec"))
        told = b"".join(run(BIN / "telltale", "dump", "-o", "json", record).stdout for record in records)
        # Its stacks were copied and unwound: nothing else finds the function beneath the array.
        self.assertIn(b"canary_holder", told)
        files = {file.name: file.read_bytes() for file in kept.rglob("*") if file.is_file()}
        files["what telltale dump shows of it"] = told
        for name, content in files.items():
            for spelt in forms():
                self.assertTrue(spelt not in content, f"the secret is in {name}, as {spelt}")


def untried():
    if os.geteuid() != 0:
        return "the kernel sensor needs root"
    check = run(BIN / "telltale-agent", "check")
    if not re.search(rb"^\s*cpu\s+active", check.stdout, re.MULTILINE):
        return "this kernel cannot be watched"
    return ""


if __name__ == "__main__":
    if why := untried():
        print(f"SKIPPED: {why}")
        sys.exit(UNTRIED_STATUS)
    unittest.main(verbosity=2)
