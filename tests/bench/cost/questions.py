"""What people ask a collector of a fleet, as the budget names it, and what an answer rested on. Each question is a
list of requests, put one after the other; its time is theirs together."""
import dataclasses
import json

HOUR_S, DAY_S = 3600, 86400
JUDGED_NODES = 1000  # the budget's; an answer of fewer is a figure without a verdict
# As the user interface asks: graphs as binary messages, the rest as JSON.
BINARY, JSON = 'application/x-protobuf', 'application/json'
TOP_ROWS = 20
WINDOW_S, STEP_S = 300, 37  # of the finest windows; 300 turns until the same bounds come again


@dataclasses.dataclass(frozen=True)
class Question:
    key: str
    name: str
    target: str  # in targets.py, of the answer in memory or not
    requests: list  # (method, path, body, how the answer comes)


def node_names(count):
    """Those of telltale-fleetsim and fill_store."""
    return [f'sim-{number:05}' for number in range(1, count + 1)]


def questions(nodes, now, turn):
    """Of the filled directory with so many nodes; `turn` moves where they begin, so that no answer is one remembered, and to
    anywhere within a window of 5 min: what of it is read epoch by epoch takes longest."""
    names = node_names(nodes)

    def selection(of, from_s, to_s=0):
        return {'nodes': of, 'start_s': now - from_s - turn * STEP_S % WINDOW_S, 'end_s': now - to_s}

    one = names[:1]
    whole = nodes >= JUDGED_NODES
    three_days = selection(one, 3 * DAY_S)
    return [
        Question('node', 'all vitals of one node, 3 d, marks, top labels', 'ask.node', [
            ('POST', '/api/v1/series', {'selection': three_days}, BINARY),
            ('POST', '/api/v1/marks', {'selection': three_days}, JSON),
            ('POST', '/api/v1/top', {'selection': three_days, 'by': 'DIMENSION_SITE', 'limit': TOP_ROWS}, JSON)]),
        Question('series', f'one vital, 30 d, {nodes:,} nodes', 'ask.series' if whole else '', [
            ('POST', '/api/v1/series', {'selection': selection(names, 30 * DAY_S), 'vitals': ['cpu']}, BINARY)]),
        Question('top', f'top labels of 1 h, {nodes:,} nodes', 'ask.top' if whole else '', [
            ('POST', '/api/v1/top', {'selection': selection(names, HOUR_S), 'vital': 'cpu', 'by': 'DIMENSION_SITE'},
             JSON)]),
        Question('diff', 'two days of one node compared', 'ask.diff', [
            ('POST', '/api/v1/diff', {'top': {'selection': selection(one, DAY_S), 'vital': 'cpu'},
                                      'against': selection(one, 2 * DAY_S, DAY_S)}, JSON)]),
        Question('metrics', f'/metrics of {nodes:,} nodes', 'ask.metrics', [('GET', '/metrics', None, JSON)]),
    ]


def coverage_words(answer):
    """What the coverage of an answer says it was read from; '' of an answer without one."""
    words = []
    for key in ('coverage', 'against_coverage'):
        coverage = answer.get(key)
        if coverage is None:
            continue
        used = ' + '.join(f"{use['rows']:,} {use['tier'].removeprefix('TIER_').lower()}" for use in coverage.get('used', []))
        share = 100 * coverage.get('watched_s', 0) / max(1, coverage.get('selected_s', 0))
        words.append(f"{used or 'nothing'} for {coverage.get('epochs_received', 0):,} epochs, {share:.0f} % watched")
    return ' against '.join(words)


def rested_on(site, question):
    """What each answer rested on. Asks it, too."""
    answers = [site.ask(method, path, body)[1] for method, path, body, _ in question.requests if method == 'POST']
    return '; '.join(filter(None, (coverage_words(json.loads(text)) for text in answers)))


def put(site, question):
    """Seconds of all its requests together."""
    return sum(site.ask(*request)[0] for request in question.requests)
