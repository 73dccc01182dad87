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


WAITS = (3, 4)  # sched_delay, blocking: what was not looked at is not in their totals


def coverage(body):
    """What an epoch's body says about what the agent saw of its events, as figures. The totals of what is watched a part of
    the time stand for all there was; as lost is told which part of them was not looked at."""
    events = there = seen = samples = 0
    duty_ppm, t_log2 = 1_000_000, 0
    lost = list(body.get('losses', []))
    for vital in body['vitals']:
        told = sum(int(sub.get('events', 0)) for sub in vital.get('subs', []))
        away = sum(int(loss.get('events', 0)) for loss in vital.get('losses', []) if loss.get('reason') == 'LOSS_REASON_DUTY')
        beside = away if vital.get('id') in WAITS else 0
        events, there, seen = events + told, there + told + beside, seen + max(0, told + beside - away)
        samples += sum(int(sample.get('samples', 0)) for sample in vital.get('samples', []))
        samples += int(vital.get('foldedAway', {}).get('samples', 0))
        lost += vital.get('losses', [])
        t_log2 = max(t_log2, vital.get('tLog2', 0))
        for change in vital.get('knobs', []):
            if change.get('knob') == 'KNOB_DUTY_PPM':
                duty_ppm = min(duty_ppm, int(change.get('to', 0)))
    refused = sum(int(loss.get('events', 0)) for loss in lost if loss.get('reason') == 'LOSS_REASON_TOKENS')
    seconds = (int(body['epoch']['endMonoNs']) - int(body['epoch']['startMonoNs'])) / 1e9
    return {'events': events, 'there': there, 'counted': seen / max(1, there), 'samples': samples,
            'kept': samples / max(1, samples + refused), 'duty': duty_ppm / 1e6, 't': 2 ** t_log2, 'seconds': seconds}


def coverage_words(seen):
    words = f"{100 * seen['counted']:.4g} % of events counted, {100 * seen['kept']:.3g} % of due samples kept"
    if seen['duty'] < 1:
        words += f", least duty {100 * seen['duty']:.3g} %"
    return words + (f", t up to {seen['t']}" if seen['t'] > 2 else '')
