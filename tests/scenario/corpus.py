"""The tables of planted faults and innocent loads (faults.toml, innocents.toml), read and checked."""

import dataclasses
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LIMITS = {"memory_mib", "cpu_percent", "write_kbps"}


@dataclasses.dataclass(frozen=True)
class Entry:
    """One load; what the fields mean stands at the head of each table."""
    kind: str  # fault or innocent
    name: str
    truth: str = ""
    what: str = ""
    program: str = ""
    run: str = ""
    root: bool = False
    cgroup: dict = dataclasses.field(default_factory=dict)
    before: str = ""
    after: str = ""
    rule: int = 0
    detector: str = ""
    cause: str = ""
    vital: str = ""
    early: bool = False
    strike: str = ""
    alone: bool = False
    with_: str = ""
    epochs: int = 8
    quiet_epochs: int = 0
    needs_epochs: int = 0
    short: bool = False
    fleet: tuple = ()
    weak: str = ""
    impossible: str = ""

    @property
    def lasting(self):
        return self.early and not self.strike

    @property
    def names_process(self):
        """Whether it is told of its process; a detector of the node may say whose most of it is."""
        return not self.vital or f"planted_{self.name} " in self.cause

    @property
    def about(self):
        return self.truth or self.what


def load(kind):
    """The entries of a table in its order. ValueError names the entry and what is wrong with it."""
    table = tomllib.loads((HERE / f"{kind}s.toml").read_text())
    known = {field.name for field in dataclasses.fields(Entry)} - {"kind"}
    entries, names = [], set()
    for row in table["entry"]:
        row = {("with_" if key == "with" else key): tuple(value) if key == "fleet" else value for key, value in row.items()}
        if unknown := set(row) - known:
            raise ValueError(f"{kind}s.toml: {row.get('name')}: unknown fields {sorted(unknown)}")
        entry = Entry(kind=kind, **row)
        if problem := problem_of(entry):
            raise ValueError(f"{kind}s.toml: {entry.name}: {problem}")
        if entry.name in names:
            raise ValueError(f"{kind}s.toml: {entry.name}: is there twice")
        names.add(entry.name)
        entries.append(entry)
    for entry in entries:
        if entry.with_ and entry.with_ not in names:
            raise ValueError(f"{kind}s.toml: {entry.name}: with {entry.with_}, which is not there")
    return entries


def problem_of(entry):
    if not re.fullmatch(r"[a-z][a-z_]{1,30}", entry.name):
        return "a name is of small letters and _, at most 31"
    if not entry.about:
        return "does not say what it is"
    if entry.impossible:
        return ""
    if not entry.run:
        return "has nothing to run"
    if set(entry.cgroup) - LIMITS:
        return f"limits of a cgroup are {sorted(LIMITS)}"
    if entry.kind == "innocent":
        return ""
    if bool(entry.rule) == bool(entry.detector):
        return "names a rule or a detector that ought to speak, one of them"
    if not entry.cause:
        return "does not say which cause must be named"
    if entry.fleet and not (len(entry.fleet) == 2 and 0 < entry.fleet[0] < entry.fleet[1] and entry.rule):
        return "fleet is two numbers, [nodes with the fault, nodes], and needs a rule"
    if not entry.vital and not entry.program:
        return "needs a program: by its name it is told"
    return ""


def batches(entries, together=4):
    """Entries that are planted at the same time, in lists. Those of a kind are kept apart where that is possible. Those of
    a fleet are in none."""
    entries = [entry for entry in entries if not entry.fleet]
    usual = [entry for entry in entries if not (entry.alone or entry.vital or entry.with_ or entry.early)]
    count = -(-len(usual) // together)
    plan = [usual[first::count] for first in range(count)]
    plan += [[entry] for entry in entries if (entry.alone or entry.vital) and not entry.early]
    paired = set()
    for entry in entries:
        if entry.with_ and entry.name not in paired:
            pair = [entry] + [other for other in entries if other.name == entry.with_]
            paired |= {other.name for other in pair}
            plan.append(pair)
    return plan
