// What became more and what less: the difference of two selections row by row, with what the bounds leave open.
import { Link } from './link';
import { Code, programName } from './names';
import type { DiffRow, DiffTable, TopRow } from './messages';
import { address } from './route';
import { cell, change } from './units';

const kOwnUnit = ['s', 'bytes'];  // said with every figure

function signed(value: number, unit: string): string {
  return value === 0 ? '0' : `${value > 0 ? '+' : '−'}${cell(Math.abs(value), unit)}`;
}

function Name({ row, by, params }: { row: TopRow; by: DiffTable['by']; params: URLSearchParams }) {
  if (by === 'DIMENSION_SITE') {
    return <><Code name={row.name} title={[row.name, ...row.stack.map((frame) => frame.name)].join('\n← ')} />
      {row.exe && <small> of {programName(row.exe)}</small>}</>;
  }
  const process = programName(row.exe || row.name);
  return process === '' ? <>{row.name}</>
    : <Link title={`${row.exe || row.name}\nonly this`} to={address('/compare', params, { process })}>{process}</Link>;
}

// A bar from the middle: to the right what is more, to the left what is less.
function Bar({ row, most }: { row: DiffRow; most: number }) {
  const share = most > 0 ? Math.abs(row.difference) / most * 50 : 0;
  const from = row.difference >= 0 ? 50 : 50 - share;
  return <td class="swing"><i class={!row.certain ? 'same' : row.difference > 0 ? 'more' : 'less'}
    style={{ left: `${from}%`, width: `${share}%` }} /></td>;
}

export function Diff({ table, params }: { table: DiffTable; params: URLSearchParams }) {
  const rows = table.rows.filter((row) => (row.row?.value ?? 0) !== 0 || (row.against?.value ?? 0) !== 0);
  if (rows.length === 0) return <p class="dim">{table.reason || 'Nothing in either time.'}</p>;
  const most = rows.reduce((size, row) => Math.max(size, Math.abs(row.difference)), 0);
  return (
    <table class="rows diff">
      <thead><tr><th>{table.by === 'DIMENSION_SITE' ? 'by site' : 'by program'}</th><th class="n">other</th>
        <th class="n">this</th><th class="n">difference{!kOwnUnit.includes(table.unit) && `, ${table.unit}`}</th><th /></tr></thead>
      <tbody>{rows.map((row) => {
        const named = row.row?.name ? row.row : row.against;
        const open = row.certain ? '' : `between ${signed(row.difference_low, table.unit)} and `
          + `${signed(row.difference_high, table.unit)}: the bounds leave it open`;
        return (
          <tr class={row.certain ? undefined : 'dim'} title={open}>
            <td class="name">{named !== undefined && <Name row={named} by={table.by} params={params} />}</td>
            <td class="n tight">{cell(row.against?.value ?? 0, table.unit)}</td>
            <td class="n tight">{cell(row.row?.value ?? 0, table.unit)}</td>
            <td class="n tight">{!row.certain && '≈ '}{signed(row.difference, table.unit)}{' '}
              <small>{change(row.row?.value ?? 0, row.against?.value ?? 0)}</small></td>
            <Bar row={row} most={most} />
          </tr>);
      })}</tbody>
    </table>
  );
}
