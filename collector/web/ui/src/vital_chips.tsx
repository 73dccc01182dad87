// Which vital is shown in full, and what the view is narrowed to.
import { Link } from './link';
import type { Vital } from './messages';
import { shortName } from './names';
import { address, type View } from './route';
import { UnknownVital } from './unknown_vital';

const kNarrowed: { name: string; all: string }[] = [
  { name: 'process', all: 'All processes again' }, { name: 'frame', all: 'All code again' }];

export function VitalChips({ view, params, vitals }: { view: View; params: URLSearchParams; vitals: Vital[] }) {
  const chosen = (params.get('vital') ?? '').split('/')[0];
  return (<>
    <nav class="chips" aria-label="Vital">
      {kNarrowed.filter(({ name }) => (params.get(name) ?? '') !== '').map(({ name, all }) =>
        <Link class="only" title={all} to={address(view, params, { [name]: '' })}>only {shortName(params.get(name)!)} ✕</Link>)}
      <Link current={chosen === ''} to={address(view, params, { vital: '' })}>all</Link>
      {vitals.map(({ name, about }) => <Link key={name} title={about} current={chosen === name}
        to={address(view, params, { vital: name })}>{name}</Link>)}
    </nav>
    <UnknownVital name={params.get('vital') ?? ''} vitals={vitals} />
  </>);
}
