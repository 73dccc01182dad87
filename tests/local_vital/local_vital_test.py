"""A vital of a site's own, from outside the tree: the agent is built with the directory this file is in, and a
collector that has never heard of it shows it. The directory is the example of agent/sensor/NEW_VITAL.md. With the word build
it builds the agent and does no more."""

import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import facts  # noqa: E402
from stack import BIN, Stack, rfc3339  # noqa: E402

EPOCH_S = 10
PACKETS = 2000
# The other programs are not built: they need not know.
BUILD = pathlib.Path(os.environ.get("TELLTALE_LOCAL_BUILD", ROOT / "build" / "release-local-vital"))


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("the kernel sensor needs root")


def build_agent():
    started = time.monotonic()
    for command in (["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                     "-DTELLTALE_TESTS=OFF", f"-DTELLTALE_LOCAL_VITALS={HERE}"],
                    ["cmake", "--build", BUILD, "-j", str(os.cpu_count()), "--target", "telltale-agent"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout[-5000:]}")
    print(f"built the agent in {time.monotonic() - started:.0f} s", flush=True)
    return BUILD / "bin" / "telltale-agent"


def send_where_nobody_listens(packets):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        address = closed.getsockname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for i in range(packets):
            sender.sendto(b"x" * 100, address)
            if i % 100 == 99:
                time.sleep(0.02)  # more at once would overflow the queue of the loopback, which is a drop, too


class LocalVital(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        agent = build_agent()
        cls.stack = Stack(EPOCH_S)
        cls.addClassCleanup(cls.stack.down)
        cls.stack.up()
        cls.collector = cls.stack.pid("collector")
        cls.before = [vital["name"] for vital in cls.vitals()]
        cls.begin = time.time() - EPOCH_S
        cls.replace_agent(agent)
        send_where_nobody_listens(PACKETS)
        cls.await_packets()

    @classmethod
    def replace_agent(cls, program):
        directory = cls.stack.dir
        script = (f"source {ROOT}/deploy/processes.sh; start_service {directory} agent {program} {directory}/agent.yaml"
                  f" -- --config {directory}/agent.yaml")
        subprocess.run(["bash", "-c", script], check=True, capture_output=True, timeout=60)
        deadline = time.monotonic() + 60
        while "net_drop" not in [vital["name"] for vital in cls.vitals()]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the agent with the vital did not report within 60 s:\n{cls.stack.logs()}")
            time.sleep(0.5)

    @classmethod
    def await_packets(cls):
        """Until their epochs are stored. Others on this host lose packets, too: ours are those of UDP."""
        deadline = time.monotonic() + 12 * EPOCH_S
        while sum(row["high"] for row in cls.udp_sites()) < PACKETS:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{PACKETS} dropped packets, but top says: {cls.top('site')}\n{cls.stack.logs()}")
            time.sleep(1)

    @classmethod
    def udp_sites(cls):
        return [row for row in cls.top("site").get("rows", []) if "udp" in row["name"]]

    @classmethod
    def vitals(cls):
        return cls.stack.ask("vitals")["vitals"]

    @classmethod
    def top(cls, by, vital="net_drop"):
        try:
            tables = cls.stack.ask("top", "--vital", vital, "--by", by, "--from", rfc3339(cls.begin))["tables"]
        except RuntimeError as error:  # no data yet
            return {"error": str(error)}
        return tables[0] if tables else {"error": "no table"}

    def test_the_collector_is_the_one_that_ran_before(self):
        self.assertEqual(self.stack.pid("collector"), self.collector)
        self.assertNotIn("net_drop", self.before)
        self.assertIn("cpu", self.before)

    def test_the_node_says_that_it_watches_it_and_how(self):
        vital = next(vital for vital in self.vitals() if vital["name"] == "net_drop")
        self.assertEqual((vital["id"], vital["unit"], vital["about"]),
                         (64, "UNIT_SEGMENTS", "packets the kernel threw away, by reason and place"))
        status = [v for v in self.stack.ask("nodes")["nodes"][0]["info"]["vitals"] if v["id"] == 64]
        self.assertEqual([v["hook"] for v in status], ["tp_btf/kfree_skb"])
        # An agent that has just started on a busy host may still take fewer samples, and says so.
        self.assertTrue(status[0]["state"] == "VITAL_STATE_ACTIVE" and status[0]["reason"] == "" or
                        status[0]["state"] == "VITAL_STATE_DEGRADED" and "of the host" in status[0]["reason"], status)

    def test_top_counts_every_packet_in_the_vitals_unit(self):
        table = self.top("process")
        self.assertEqual(table["unit"], "segments")
        # No less; more, because others on this host lose packets too.
        self.assertGreaterEqual(table["total"], PACKETS)
        self.assertTrue(table["exact"], "without totals top makes do with samples")
        self.assertEqual(table["events"], table["total"])
        self.assertAlmostEqual(sum(row["value"] for row in table["rows"]) + table["other"], table["total"])

    def test_top_names_the_place_with_its_weight(self):
        ours = self.udp_sites()
        self.assertLessEqual(sum(row["low"] for row in ours), self.top("process")["total"])
        self.assertGreater(ours[0]["low"], 0)
        self.assertTrue(any("ip_" in frame.get("name", "") for frame in ours[0]["stack"]), ours[0])

    def test_a_sample_has_its_own_fields(self):
        sample = self.stack.ask("samples", "--vital", "net_drop", "--from", rfc3339(self.begin))["samples"][0]
        self.assertEqual([field["name"] for field in sample["label"]], ["reason", "ip_block"])
        self.assertEqual([field["name"] for field in sample["detail"]], ["place", "length"])
        self.assertRegex(sample["detail"][1]["value"], "^[0-9,]+ bytes?$")

    def test_browsers_and_prometheus_see_it(self):
        self.assertIn("<td>net_drop</td>", self.stack.get("/plain"))
        self.assertIn('"unit":"segments"', self.stack.get("/api/v1/top?vital=net_drop"))
        self.assertIn('telltale_vital64_net_drop_segments_total{', self.stack.get("/metrics"))

    def test_the_other_vitals_are_what_they_were(self):
        self.assertEqual([v["name"] for v in self.vitals() if v["name"] != "net_drop"], self.before)
        self.assertGreater(self.top("process", "syscall")["total"], PACKETS)


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        build_agent()
    else:
        facts.main()
