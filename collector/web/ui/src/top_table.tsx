// Who, or which code, a vital's total came from; the heaviest first, with the two figures a sampled weight lies
// between.
import { Link } from './link';
import { Code, placeOf, programName } from './names';
import type { TopRow, TopTable } from './messages';
import { address } from './route';
import { cell, percent } from './units';

// Bounds that are one figure bound nothing.
export function betweenText(low: string, high: string): string {
  return low === high ? '' : `${low} to ${high}`;
}

function Bounds({ row, unit }: { row: TopRow; unit: string }) {
  return <td class="n dim tight">{betweenText(cell(row.low, unit), cell(row.high, unit))}</td>;
}

// A pid, which says nothing without its node, or the executable's name where a row is several processes.
function onlyThis(row: TopRow): Record<string, string> {
  return row.instances > 1 || row.pid === 0 ? { process: programName(row.exe) }
    : { process: String(row.pid), node: row.node };
}

function Name({ row, process, params }: { row: TopRow; process: boolean; params: URLSearchParams }) {
  if (!process) return <Code name={row.name} title={[row.name, ...row.stack.map((frame) => frame.name)].join('\n← ')} />;
  const only = onlyThis(row);
  return (
    <>
      {only.process === '' ? row.name
        : <Link title={`${row.exe}\nonly this`} to={address('/selection', params, only)}>{row.name}</Link>}
      <span class="dim"> {placeOf(row, (params.get('node') ?? '') === '')}</span>
      {row.open && <b class="warn"> still going on</b>}
    </>
  );
}

export function Top({ table, params }: { table: TopTable; params: URLSearchParams }) {
  const process = table.by !== 'DIMENSION_SITE';
  const by = !process ? 'site' : table.by === 'DIMENSION_EXE' ? 'program' : 'process';  // windows keep programs alone
  return (
    <table class="rows top">
      <thead><tr><th>by {by}</th>
        <th class="n">{table.unit === 's' ? 'time' : table.unit}</th><th class="n">share</th>
        {!table.exact && <th class="n">between</th>}</tr></thead>
      <tbody>
        {table.rows.map((row) => (
          <tr>
            <td class="name"><i class="bar" style={{ width: `${100 * row.share}%` }} />
              <Name row={row} process={process} params={params} />
              {!process && row.exe && <small> of {programName(row.exe)}</small>}</td>
            <td class="n tight">{cell(row.value, table.unit)}</td>
            <td class="n tight">{percent(row.share)}</td>
            {!table.exact && <Bounds row={row} unit={table.unit} />}
          </tr>))}
        {table.total > 0 && table.other > 0 && <tr class="dim"><td>(other)</td>
          <td class="n tight">{cell(table.other, table.unit)}</td>
          <td class="n tight">{percent(table.other / table.total)}</td>
          {!table.exact && <td />}</tr>}
      </tbody>
    </table>
  );
}
