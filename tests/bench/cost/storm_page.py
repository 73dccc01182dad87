"""The page about storms (tests/bench/STORM.md), of what storm.py saw."""
import dataclasses

import report


@dataclasses.dataclass
class Row:
    """One storm. Shares are of the host, on average over the storm."""
    name: str
    processes: float  # what the agent's processes took
    kernel: float  # its programs in the kernel
    over: bool
    memory_mb: float  # at most, shared pages once
    turned_down: str


@dataclasses.dataclass
class After:
    """What was found when the last storm was over."""
    recovered_s: float | None = None  # until everything was watched again; None: it was not
    lost: list = dataclasses.field(default_factory=list)  # of the collector's coverage
    lost_share: float = 0  # of all events, by accident
    epochs_lost: int = 0


def percent(share):
    return f'{100 * share:.2f} %'


def page(rows, after, seconds, calm_s, minutes, budget, tolerance, memory_limit_mb, version):
    a = report.machine(version)
    names = list(dict.fromkeys(row.name for row in rows))
    lines = [
        '# What storms do to the agent', '',
        f'Made by `tests/soak storm --markdown`; do not edit. Each storm blows for {seconds} s and is followed by '
        f'{calm_s} s of calm, in turns; the budget is {100 * budget:g} % of the host. Of a storm that came several times the '
        'dearest is shown. Shares are of the host: of the processes by their CPU time, of the programs in the kernel by '
        "the kernel's own account of their run time, with what reaching each takes.", '',
        f"{a['date']}, {a['system']}, kernel {a['kernel']}, {a['cpus']} x {a['cpu']}"
        f"{' (virtual machine)' if a['virtual'] else ''}, {a['memory_gb']} GB, agent {a['agent']}; "
        f'{len(rows)} storms in {minutes:.0f} min.', '',
        f'| storm | times | processes | kernel | both | {tolerance:g} x budget | memory | turned down to, at most |',
        '|---|---|---|---|---|---|---|---|']
    for name in names:
        own = [row for row in rows if row.name == name]
        worst = max(own, key=lambda row: row.processes + row.kernel)
        lines.append(f'| {name} | {len(own)} | {percent(worst.processes)} | {percent(worst.kernel)} '
                     f'| {percent(worst.processes + worst.kernel)} | {"OVER" if worst.over else "OK"} '
                     f'| {max(row.memory_mb for row in own):.0f} MB | {worst.turned_down} |')
    total = sum(row.processes + row.kernel for row in rows) / max(1, len(rows))
    most_mb = max((row.memory_mb for row in rows), default=0)
    lines += ['', f'All together, without the calm between them: {percent(total)}. Memory: at most {most_mb:.0f} MB, limit '
              f'{memory_limit_mb} MB: {"OVER" if most_mb > memory_limit_mb else "OK"}. '
              + (f'Everything was watched again {after.recovered_s:.0f} s after the last storm. '
                 if after.recovered_s is not None else 'Not everything was watched again afterwards: OVER. ')
              + f'Epochs lost: {after.epochs_lost}. Events in no total by accident: {after.lost_share:.2g} of all.', '']
    if after.lost:
        lines += ['What is in no total, or was not kept whole, by the reason that answers give:', '',
                  '| vital | reason | events |', '|---|---|---|']
        lines += [f"| {one.get('vital', 'all')} | {one['reason']} | {float(one['events']):,.0f} |" for one in after.lost]
        lines.append('')
    return '\n'.join(lines)
