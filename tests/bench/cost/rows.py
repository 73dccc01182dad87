"""A line of the table, and the agent's body as figures. Values are in the unit the row names."""
import dataclasses

from pairs import Figure


@dataclasses.dataclass
class Row:
    group: str
    name: str
    figure: Figure = None  # None: not measured, `note` says why
    unit: str = ''
    target: str = ''  # key in targets.py
    note: str = ''
    more: dict = dataclasses.field(default_factory=dict)  # for the JSON


def once(value):
    """A figure that was measured once."""
    return Figure(value, float('nan'), float('nan'), 1)


def coverage(body):
    """What an epoch's body says about what the agent saw of its events, as figures."""
    events = samples = refused = detached = 0
    duty_ppm, t_log2 = 1_000_000, 0
    lost = list(body.get('losses', []))
    for vital in body['vitals']:
        events += sum(int(sub.get('events', 0)) for sub in vital.get('subs', []))
        samples += sum(int(sample.get('samples', 0)) for sample in vital.get('samples', []))
        samples += int(vital.get('foldedAway', {}).get('samples', 0))
        lost += vital.get('losses', [])
        t_log2 = max(t_log2, vital.get('tLog2', 0))
        for change in vital.get('knobs', []):
            if change.get('knob') == 'KNOB_DUTY_PPM':
                duty_ppm = min(duty_ppm, int(change.get('to', 0)))
    for loss in lost:
        refused += int(loss.get('events', 0)) if loss.get('reason') == 'LOSS_REASON_TOKENS' else 0
        detached += int(loss.get('events', 0)) if loss.get('reason') == 'LOSS_REASON_DUTY' else 0
    seconds = (int(body['epoch']['endMonoNs']) - int(body['epoch']['startMonoNs'])) / 1e9
    return {'events': events, 'counted': events / max(1, events + detached), 'samples': samples,
            'kept': samples / max(1, samples + refused), 'duty': duty_ppm / 1e6, 't': 2 ** t_log2, 'seconds': seconds}


def coverage_words(seen):
    words = f"{100 * seen['counted']:.4g} % of events counted, {100 * seen['kept']:.3g} % of due samples kept"
    if seen['duty'] < 1:
        words += f", least duty {100 * seen['duty']:.3g} %"
    return words + (f", t up to {seen['t']}" if seen['t'] > 2 else '')
