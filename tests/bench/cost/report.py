"""The table for people, for Markdown and for programs."""
import datetime
import json
import math
import os
import platform

import pairs
import processes
from targets import all_targets


def number(value):
    if value is None or math.isnan(value):
        return ''
    if value == 0:
        return '0'
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f'{value:,.{min(digits, 3)}f}'


def machine(agent_version):
    model = next((line.split(':')[1].strip() for line in processes.read('/proc/cpuinfo').splitlines()
                  if line.startswith('model name')), platform.machine())
    return {'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC'),
            'kernel': f'{platform.release()} {platform.machine()}', 'cpu': model, 'cpus': processes.CPUS,
            'virtual': 'hypervisor' in processes.read('/proc/cpuinfo'),
            'memory_gb': round(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2 ** 30, 1),
            'system': (platform.freedesktop_os_release() or {}).get('PRETTY_NAME', ''), 'agent': agent_version}


class Report:
    def __init__(self, rows, about, others, seconds, how, legend=None):
        """others: LoadRows.others(); how: the command line that made it; legend: how to read the table."""
        self._rows, self._about, self._seconds, self._how = rows, about, seconds, how
        self._legend = legend or self.LEGEND
        self._others = others
        self._targets = all_targets(processes.CPUS)

    def _cells(self, row):
        target = self._targets.get(row.target)
        if row.figure is None:
            return [row.name, '', target.words if target else '', '', 'n/a', row.note]
        spread = f'{number(row.figure.low)} .. {number(row.figure.high)}' if row.figure.cases > 1 else ''
        value = f'{number(row.figure.value)} {row.unit}'
        return [row.name, value, target.words if target else '', spread, pairs.verdict(row.figure, target), row.note]

    def _caution(self):
        share, disturbed, runs = self._others
        cautions = []
        if share > 0.02:
            cautions.append(f'others used {100 * share:.0f} % of the host while loads ran; what the agent does for them is in its figures')
        if disturbed:
            cautions.append(f'another agent was on this kernel in {disturbed} of {runs} runs')
        return cautions

    def _headline(self):
        a = self._about
        return [f"{a['date']}, {a['system']}, kernel {a['kernel']}, {a['cpus']} x {a['cpu']}"
                f"{' (virtual machine)' if a['virtual'] else ''}, {a['memory_gb']} GB, agent {a['agent']};"
                f' measured in {self._seconds / 60:.0f} min by {self._how}.']

    def _sum(self):
        said = [self._cells(row)[4].rstrip('?') for row in self._rows if row.target]
        return f"Of {len(said)} targets {said.count('OK')} OK, {said.count('OVER')} OVER, {said.count('n/a')} not measured."

    LEGEND = ('value: median; spread: quartiles of the pairs of runs; "?": spread or noise do not tell. '
              'Loads are of the middle of an epoch: cut and first samples stand under Agent.')

    def text(self):
        lines = self._headline() + [f'CAUTION: {caution}' for caution in self._caution()] + [self._legend, self._sum()]
        cells = {id(row): self._cells(row) for row in self._rows}
        columns = ['', 'value', 'target', 'spread', '', '']
        width = [max(len(one[at]) for one in [columns, *cells.values()]) for at in range(5)]
        for group, rows in self._groups():
            lines += ['', group]
            lines += [('  ' + '  '.join(cell.ljust(w) for cell, w in zip(cells[id(row)], width + [0]))).rstrip()
                      for row in rows]
        return '\n'.join(lines) + '\n'

    def _groups(self):
        groups = {}
        for row in self._rows:
            groups.setdefault(row.group, []).append(row)
        return groups.items()

    def markdown(self, title):
        lines = [f'# {title}', '', f'Made by `{self._how} --markdown`; do not edit.', '']
        lines += self._headline()
        for paragraph in [f'**Caution:** {caution}.' for caution in self._caution()] + [self._legend, self._sum()]:
            lines += ['', paragraph]
        for group, rows in self._groups():
            lines += ['', f'## {group}', '', '| | value | target | spread | | |', '|---|---|---|---|---|---|']
            for row in rows:
                cells = self._cells(row)
                cells[4] = f'**{cells[4]}**' if cells[4].startswith('OVER') else cells[4]
                lines.append('| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |')
        return '\n'.join(lines) + '\n'

    def json(self, runs):
        rows = []
        for row in self._rows:
            target = self._targets.get(row.target)
            plain = lambda value: None if value is None or math.isnan(value) else value  # noqa: E731
            f = row.figure
            rows.append({'group': row.group, 'row': row.name, 'value': f and plain(f.value), 'unit': row.unit,
                         'low': f and plain(f.low), 'high': f and plain(f.high), 'cases': f.cases if f else 0,
                         'target': target and target.limit, 'target_words': target and target.words,
                         'verdict': pairs.verdict(f, target) if f else 'n/a', 'note': row.note, **row.more})
        share, disturbed, _ = self._others
        return json.dumps({**self._about, 'seconds': round(self._seconds), 'others_share': round(share, 4),
                           'runs_with_other_agents': disturbed, 'rows': rows,
                           'runs': [run if isinstance(run, dict) else vars(run) for turn in runs for run in turn]}, indent=1) + '\n'
