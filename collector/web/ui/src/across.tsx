// Cross-vital: one process, or one piece of code, in every vital at once ("waits on a mutex and issues the disk I/O").
import { ask } from './api';
import { flameTree, through } from './flame_tree';
import { Link } from './link';
import type { Selection, TopTable, Vital } from './messages';
import { Code } from './names';
import { address } from './route';
import { Answered } from './states';
import { betweenText } from './top_table';
import { amount, percent } from './units';
import { useAnswer } from './use_answer';

export interface Part {
  vital: string;
  unit: string;
  value: number;
  low: number;
  high: number;
  atLeast: boolean;  // not all of it was added up
  total: number;  // of the vital
  who: string;    // its heaviest code, or the programs the code is in
}

const kFrames = 2000;
const kPrograms = 3;

// From tables that hold only the rows of one process.
export function partsOfProcess(tables: TopTable[]): Part[] {
  return tables.filter((table) => table.by !== 'DIMENSION_SITE').map((table) => {
    const sum = (field: 'value' | 'low' | 'high') => table.rows.reduce((all, row) => all + row[field], 0);
    const site = tables.find((other) => other.vital === table.vital && other.by === 'DIMENSION_SITE')?.rows[0];
    return { vital: table.vital, unit: table.unit, value: sum('value'), low: sum('low'), high: sum('high'),
             atLeast: table.rows_after > 0, total: table.total, who: site?.name ?? '' };
  });
}

async function askFrame(selection: Selection, frame: string, process: string, vitals: Vital[],
                        signal: AbortSignal): Promise<Part[]> {
  return Promise.all(vitals.map(async ({ name }) => {
    const answer = await ask('flame', { stacks: { selection, vital: name, process }, max_nodes: kFrames }, signal);
    const { programs, ...weight } = through(flameTree(answer), frame);
    const heaviest = [...programs].sort((a, b) => b[1] - a[1]).map(([program]) => program);
    const more = heaviest.length > kPrograms ? ` and ${heaviest.length - kPrograms} more` : '';
    return { vital: name, unit: answer.unit, ...weight, atLeast: false, total: answer.total,
             who: heaviest.slice(0, kPrograms).join(', ') + more };
  }));
}

interface TableProps {
  parts: Part[];
  params: URLSearchParams;
  who: string;  // what Part.who is
}

function boundsText({ low, high, unit, atLeast }: Part): string {
  return atLeast ? '' : betweenText(amount(low, unit), amount(high, unit));
}

export function AcrossTable({ parts, params, who }: TableProps) {
  const seen = parts.filter((part) => part.value > 0).sort((a, b) => b.value / b.total - a.value / a.total);
  const unseen = parts.filter((part) => part.value === 0);
  const bounds = seen.some((part) => part.low !== part.high);
  return (
    <>
      {seen.length > 0 && <table class="rows across">
        <thead><tr><th>vital</th><th class="n">of it</th><th class="n">share</th>
          {bounds && <th class="n">between</th>}<th>{who}</th></tr></thead>
        <tbody>{seen.map((part) => (
          <tr>
            <td class="name tight"><i class="bar" style={{ width: `${100 * Math.min(1, part.value / part.total)}%` }} />
              <Link to={address('/selection', params, { vital: part.vital })}>{part.vital}</Link></td>
            <td class="n tight">{part.atLeast && 'at least '}{amount(part.value, part.unit)}</td>
            <td class="n tight">{part.atLeast && 'at least '}{percent(Math.min(1, part.value / part.total))}</td>
            {bounds && <td class="n tight dim">{boundsText(part)}</td>}
            <td class="name"><Code name={part.who} /></td>
          </tr>))}
        </tbody>
      </table>}
      {unseen.length > 0 && <p class="dim">Not seen in {unseen.map((part) => part.vital).join(', ')}.</p>}
    </>
  );
}

interface FrameProps {
  selection: Selection;
  frame: string;
  process: string;
  vitals: Vital[];
  params: URLSearchParams;
}

export function FrameAcross({ selection, frame, process, vitals, params }: FrameProps) {
  const answer = useAnswer(`frame ${JSON.stringify(selection)} ${process} ${frame}`,
    (signal) => askFrame(selection, frame, process, vitals, signal));
  return (
    <section class="card">
      <h3><code><Code name={frame} /></code> <small>in all vitals, by the stacks it is in</small></h3>
      <Answered asked={answer}>{(parts) => <AcrossTable parts={parts} params={params} who="in" />}</Answered>
    </section>
  );
}
