"""What cmake/LocalVitals.cmake makes of a site's descriptions, and what it says of bad ones."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import facts  # noqa: E402

PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(descriptions NONE)
include({ROOT}/cmake/LocalVitals.cmake)
message(STATUS "definitions: ${{TELLTALE_LOCAL_DEFINITIONS}}")
"""
GOOD = {"id": "64", "unit": "pages", "quantum": "16", "subs": "in out", "label": "pid=pid ip=ip", "detail": "",
        "about": "pages swapped in and out"}


class Page(unittest.TestCase):
    def test_shows_exactly_the_files_that_the_tests_build(self):
        page = (ROOT / "agent" / "sensor" / "NEW_VITAL.md").read_text()
        for name, language in (("net_drop.vital", ""), ("net_drop.bpf.c", "c")):
            text = (pathlib.Path(__file__).parent / name).read_text()
            self.assertIn(f"```{language}\n{text}```\n", page, f"{name} differs from what the page shows")


class Descriptions(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.directory = pathlib.Path(self.temporary.name)
        (self.directory / "CMakeLists.txt").write_text(PROJECT)

    def write(self, name, **changed):
        keys = GOOD | changed
        (self.directory / f"{name}.vital").write_text(
            "# One of ours.\n\n" + "".join(f"{key}: {value}\n" for key, value in keys.items() if value))
        (self.directory / f"{name}.bpf.c").write_text('SEC("tp_btf/swap")\nint on_swap(uint64_t* ctx) {}\n')

    def configure(self):
        return subprocess.run(["cmake", "-S", self.directory, "-B", self.directory / "build",
                               f"-DTELLTALE_LOCAL_VITALS={self.directory}"], capture_output=True, text=True,
                              timeout=60)

    def made(self, suffix):
        done = self.configure()
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.directory / "build" / "generated" / f"telltale_local_vitals.{suffix}").read_text()

    def refused(self, *words):
        done = self.configure()
        self.assertNotEqual(done.returncode, 0, done.stdout)
        said = " ".join(done.stderr.split())
        for word in words:
            self.assertIn(word, said)

    def test_numbers_and_sub_series_follow_telltales_own(self):
        self.write("swap")
        header = self.made("h")
        self.assertIn("TELLTALE_SWAP = TELLTALE_BUILTIN_VITALS + 0,", header)
        self.assertIn("TELLTALE_SUBS_SWAP = TELLTALE_LOCAL_SUBS + 0,", header)
        self.assertIn("TELLTALE_LABELS_SWAP = 2,", header)
        self.assertIn("TELLTALE_SWAP_OUT = 1,", header)
        self.assertIn("TELLTALE_LOCAL_VITAL_COUNT=1;TELLTALE_LOCAL_SUB_COUNT=2", self.configure().stdout)

    def test_the_table_is_in_the_order_of_ids_whatever_the_files_are_called(self):
        self.write("alpha", id="127")
        self.write("beta", id="99")
        self.write("gamma", id="100")
        rows = self.made("cc")
        self.assertLess(rows.index('{99, "beta"'), rows.index('{100, "gamma"'))
        self.assertLess(rows.index('{100, "gamma"'), rows.index('{127, "alpha"'))
        self.assertIn("TELLTALE_SUBS_ALPHA = TELLTALE_LOCAL_SUBS + 4,", self.made("h"))

    def test_kinds_are_those_of_the_schema(self):
        self.write("swap", label="at=stack_pointer", detail="took=nanoseconds")
        rows = self.made("cc")
        self.assertIn('{"at", FieldKind::kStackPointer}', rows)
        self.assertIn('{"took", FieldKind::kNanoseconds}', rows)

    def test_an_id_of_telltales_own_is_refused(self):
        self.write("swap", id="63")
        self.refused("swap.vital", "id '63'", "from 64 to 127")

    def test_two_vitals_of_one_id_are_refused(self):
        self.write("swap")
        self.write("zswap")
        self.refused("zswap.vital", "its id is that of", "swap.vital")

    def test_an_unknown_kind_is_refused_with_those_there_are(self):
        self.write("swap", label="who=task")
        self.refused("who=task", "kinds are: number signed ip")

    def test_an_unknown_unit_is_refused_with_those_there_are(self):
        self.write("swap", unit="furlongs")
        self.refused("'furlongs'", "units are: nanoseconds bytes pages")

    def test_a_quantum_of_zero_is_refused(self):
        self.write("swap", quantum="0")
        self.refused("quantum '0'")

    def test_a_misspelt_key_is_refused(self):
        self.write("swap")
        with (self.directory / "swap.vital").open("a") as file:
            file.write("lable: pid=pid\n")
        self.refused("cannot read 'lable: pid=pid'")

    def test_more_label_fields_than_a_sample_has_are_refused(self):
        self.write("swap", label="a=pid b=pid c=pid d=pid e=pid f=pid")
        self.refused("label has 6 fields, limit 5")

    def test_more_sub_series_than_there_are_bits_are_refused(self):
        for i in range(3):
            self.write(f"swap{i}", id=str(64 + i), subs=" ".join(f"s{k}" for k in range(7)))
        self.refused("21 sub-series in all, limit 20")

    def test_more_sub_series_than_a_summary_holds_are_refused(self):
        self.write("swap", subs=" ".join(f"s{k}" for k in range(17)))
        self.refused("17 sub-series, limit 16")

    def test_a_sentence_longer_than_a_summary_holds_is_refused(self):
        self.write("swap", about="x" * 257)
        self.refused("about has 257 bytes, limit 256")

    def test_a_description_without_a_program_is_refused(self):
        self.write("swap")
        (self.directory / "swap.bpf.c").unlink()
        self.refused("swap.bpf.c is not beside it")

    def test_a_hook_that_is_never_attached_is_refused(self):
        self.write("swap")
        program = self.directory / "swap.bpf.c"
        program.write_text(program.read_text() + 'SEC("kprobe/swap_readpage")\n')
        self.refused("swap.bpf.c has SEC(\"kprobe/swap_readpage\")", "hooks are tp_btf/TRACEPOINT")

    def test_a_program_without_a_hook_is_refused(self):
        self.write("swap")
        (self.directory / "swap.bpf.c").write_text("int on_swap(uint64_t* ctx) {}\n")
        self.refused("swap.bpf.c has no function at a hook")

    def test_an_empty_directory_is_refused(self):
        self.refused("there is no *.vital in this directory")


if __name__ == "__main__":
    facts.main()
