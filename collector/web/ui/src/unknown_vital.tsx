// The address may name a vital that there is not: said, with those that there are.
import type { Vital } from './messages';

// What the fleet can show besides vitals; in other views it narrows nothing.
export const kAnomalies = 'anomalies';

export function isKnownVital(name: string, vitals: Vital[]): boolean {
  const [vital, sub] = name.split('/');
  return name === '' || vitals.some((known) => known.name === vital
    && (sub === undefined || known.subs.some((other) => other.name === sub)));
}

export function UnknownVital({ name, vitals }: { name: string; vitals: Vital[] }) {
  if (name === kAnomalies || isKnownVital(name, vitals)) return null;
  return <p class="warn" role="alert">There is no vital “{name}”; there are {vitals.map((known) => known.name).join(', ')}.</p>;
}
