"""The page about crashes (tests/bench/CRASH.md): what the tests of one soak recorded, as GoogleTest's
own JSON reports have it. `tests/soak crash RUNS --markdown` writes it; only of a soak in which all passed."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import report  # noqa: E402

STORAGE, COLLECTOR = 'StorageLosesNothingAndCountsNothingTwice', 'ACollectorLosesNothingAndCountsNothingTwice'
AGENTS = 'AgentsAndTheirCollectorLoseNothingInSilenceAndCountNothingTwice'
PLANTED = 'AnAcknowledgementBeforeTheSyncIsFound'
DIED = 'died in '


class Incomplete(Exception):
    pass


class Soak:
    """Runs of crash_test side by side: their figures by test."""

    def __init__(self, *runs):
        self.seconds = max(float(run['time'].rstrip('s')) for run in runs)
        self._tests = {test['name']: test for run in runs for suite in run['testsuites'] for test in suite['testsuite']}
        for name in (STORAGE, COLLECTOR, AGENTS, PLANTED):
            if self._tests.get(name, {}).get('result') != 'COMPLETED':
                raise Incomplete(f'{name} did not run')
            if self._tests[name].get('failures'):
                raise Incomplete(f'{name} failed: {self._tests[name]["failures"][0]["failure"].splitlines()[-1]}')

    def number(self, test, name):
        return int(self._tests[test][name])

    def text(self, test, name):
        return self._tests[test][name]

    def deaths(self):
        """Rows of (what was under way, {file: times}), most frequent first."""
        steps = {}
        for name, times in self._tests[STORAGE].items():
            if name.startswith(DIED):
                step, file = name.removeprefix(DIED).split(': ')
                steps.setdefault(step, {})[file] = int(times)
        return sorted(steps.items(), key=lambda step: -sum(step[1].values()))


def count(number, one, many=None):
    return f'{number:,} {one if number == 1 else many or one + "s"}'


def row(what, crashes, of_them, acked, found, counted, refused='', acked_counted=None):
    """`acked_counted`: of those that counters must have, if not `acked`."""
    twice = counted - (acked if acked_counted is None else acked_counted)
    return (f'| {what} | {crashes:,} | {of_them} | {acked:,} | {found:,} | {counted:,} | {acked - found:,} | {twice:,} | '
            f'{refused} |')


def page(soak, about, how):
    n = soak.number
    storage, collector = n(STORAGE, 'trials'), n(COLLECTOR, 'trials')
    whole, sensors, uplinks = (n(AGENTS, f'{what} killed') for what in ('agents', 'sensors', 'uplinks'))
    between = n(AGENTS, 'collectors killed')
    agents = whole + sensors + uplinks
    full, failing = n(STORAGE, 'refused by a full disk'), n(STORAGE, 'refused by a failing disk')
    lines = [
        '# What crashes cost: nothing that was acknowledged', '',
        f'Made by `{how}`; do not edit. What is done and checked: [crash_test.cc](../integration/crash_test.cc).', '',
        f"{about['date']}, {about['system']}, kernel {about['kernel']}, {about['cpus']} x {about['cpu']}"
        f"{' (virtual machine)' if about['virtual'] else ''}, {about['memory_gb']} GB, collector {about['agent']}; "
        f'{soak.seconds / 60:.0f} min.', '',
        '| | crashes | of them | epochs acknowledged | found | counted | lost | counted twice | refused by the disk |',
        '|---|---|---|---|---|---|---|---|---|',
        row("storage on a disk of the test's", storage, count(n(STORAGE, 'power cuts'), 'power cut'),
            n(STORAGE, 'acknowledged'), n(STORAGE, 'found'), n(STORAGE, 'counted'),
            f"{count(full, 'batch', 'batches')} by a full one, {failing:,} by a failing one"),
        row('a collector under three streams', collector, f'{collector:,} kill -9', n(COLLECTOR, 'acknowledged'),
            n(COLLECTOR, 'found'), n(COLLECTOR, 'counted')),
        row('agents, and their collector', agents + between,
            f"kill -9 of {count(whole, 'whole agent')}, {count(sensors, 'sensor')}, {count(uplinks, 'uplink')}, "
            f"{count(between, 'collector')}", n(AGENTS, 'seen'), n(AGENTS, 'found'), n(AGENTS, 'counted'),
            acked_counted=n(AGENTS, 'stored')), '',
        'Found: those of the acknowledged ones that the store still has (of days that expired, that it knows to have had); of '
        'agents, those that somebody saw in a spool. Counted: what the counters of the nodes have; they are of each epoch '
        "once, by its number and, as each has a weight of its own, by their sum. Both after the last crash of a directory of "
        '40; after each crash (of agents: after each 40) they are asserted, and a soak in which one was wrong ends there and '
        'writes no page.', '',
        '## Storage', '',
        'Where the writer died: what its thread was in the middle of, and the file it was about to change (half of a write is '
        'written). "Between its steps": the moment lay behind the end of what the trial did.', '',
        '| in the middle of | crashes | in |', '|---|---|---|']
    for step, files in soak.deaths():
        listed = ', '.join(f'{file} {times}' for file, times in sorted(files.items(), key=lambda item: -item[1]))
        lines.append(f'| {step} | {sum(files.values())} | {"" if list(files) == ["no file"] else listed} |')
    lines += [
        '', f"{count(n(STORAGE, 'stored before'), 'epoch was', 'epochs were')} on disk when the crash came before the acknowledgement: "
        'sent again, each was known and counted once. '
        f"Gaps: {count(n(STORAGE, 'lost'), 'epoch')} declared lost and {n(STORAGE, 'missing'):,} that never came; in the "
        f"ledger {n(STORAGE, 'explained'):,} of these were found as what they are, the others lie behind all that their node "
        'had stored, or in days that had expired first. '
        f"The writers computed {count(n(STORAGE, 'windows'), 'window')} and let {count(n(STORAGE, 'days'), 'day')} of raw expire; {count(n(STORAGE, 'whole backups'), 'backup')} became whole before the crash and passed every check.", '',
        '## A real collector', '',
        f"Killed within 200 ms of the streams' beginning, a quarter up to {n(COLLECTOR, 'latest ms') / 1000:.1f} s later, a third while "
        f"it makes a backup. {count(n(COLLECTOR, 'stored before'), 'epoch')} had been stored and had no verdict yet. Before late kills "
        f"{count(n(COLLECTOR, 'windows'), 'window')} had been computed; {count(n(COLLECTOR, 'torn rollups'), 'kill')} came amid them, "
        f"others due. {count(n(COLLECTOR, 'torn backups'), 'backup was', 'backups were')} torn and none of them taken for a whole one, "
        f"{n(COLLECTOR, 'whole backups'):,} became whole and were checked.", '',
        '## Real agents', '',
        f"Epochs of 5 s of the replay sensor. {n(AGENTS, 'seen'):,} of {n(AGENTS, 'stored'):,} epochs were seen in a spool on their way: "
        f"{n(AGENTS, 'found'):,} of these are stored. {n(AGENTS, 'partial'):,} were cut short by a kill and say so. Of "
        f"{n(AGENTS, 'cut'):,} sequence numbers {n(AGENTS, 'stored'):,} are stored and {n(AGENTS, 'lost'):,} declared lost, with "
        'a reason.', '',
        '## Does it find anything?', '',
        'The same harness over a store that acknowledges before it syncs ([early_ack.h](../support/early_ack.h)) must find it within ten '
        f"power cuts, or the soak fails. Here it took {count(n(PLANTED, 'power cuts'), 'power cut')}: "
        f"{soak.text(PLANTED, 'found')}."]
    return '\n'.join(lines) + '\n'


def main(target, runs, version, *results):
    try:
        soak = Soak(*(json.loads(pathlib.Path(result).read_text()) for result in results))
    except Incomplete as why:
        sys.exit(f'tests/soak: no page: {why}')
    pathlib.Path(target).write_text(page(soak, report.machine(version), f'tests/soak crash {runs} --markdown'))
    print(f'wrote {target}')


if __name__ == '__main__':
    main(*sys.argv[1:])
