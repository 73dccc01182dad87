"""Holds what Telltale said against what was planted."""

import itertools
import re

GRACE_EPOCHS = 3  # what is found that long after the end of a load is still about it
CGROUP = re.compile(r"(?:; its cgroup is|, in cgroup) (/[^\s;,]+)")  # as rules tell it


def names(anomaly, planted):
    """Is this said of one of the load's processes? By its user, which nobody else has, or its program's name.

    A sentence may name others, those it waits for; so it counts only where the subject is no process.
    """
    subject, text = anomaly.get("subject", ""), anomaly.get("text", "")
    said = subject if "uid " in subject else f"{subject} {text}"
    if planted.uid and f"uid {planted.uid})" in said:
        return True
    return re.search(rf"(?<![\w-]){re.escape(planted.exe.name)}(?![\w-])", said) is not None


def accuses(anomaly):
    """A symptom of the node that says who has most of it (ewma) accuses nobody: it has no subject and no rule."""
    return bool(anomaly.get("subject") or anomaly.get("rule"))


def said(anomaly, planted):
    """Without the directory that the programs of this run happened to be in, and the cgroup that whoever ran it was in."""
    text = anomaly["text"].replace(f"{planted.exe.parent}/", "")
    return CGROUP.sub(lambda found: found[0] if found[1] == f"/{planted.exe.name}" else "", text)


def in_time(anomaly, planted, epoch_s):
    return planted.planted_s <= anomaly["foundS"] <= planted.ended_s + GRACE_EPOCHS * epoch_s


def began_s(planted, epoch_s):
    """When it began to be a fault."""
    return planted.planted_s + planted.entry.quiet_epochs * epoch_s


def whole_epochs(seconds, epoch_s):
    """That were over; at least one, for an epoch that is going on has not been seen."""
    return max(1, int(seconds // epoch_s))


def judge_fault(planted, anomalies, filters, epoch_s):
    """One fault's line of the record. `filters`: name -> (rule, version), of the collector that watched."""
    entry = planted.entry
    expected = [name for name, (rule, _) in filters.items() if (rule == entry.rule if entry.rule else name == entry.detector)]
    line = {"name": entry.name, "truth": entry.truth, "expected": expected[0] if expected else f"rule {entry.rule}",
            "names_process": entry.names_process}
    if entry.needs_epochs:
        line["needs_epochs"] = entry.needs_epochs
    if planted.problem or not expected:
        line["not_run"] = planted.problem or "no filter of this build applies the rule"
        return line
    begin_s = began_s(planted, epoch_s)
    near = [anomaly for anomaly in anomalies if in_time(anomaly, planted, epoch_s) and anomaly["foundS"] >= begin_s]
    if entry.vital:
        # Nobody is named: what began later is about something else.
        about = [anomaly for anomaly in near if anomaly.get("vital") == entry.vital and
                 anomaly.get("startS", 0) < planted.ended_s]
    else:
        about = [anomaly for anomaly in near if names(anomaly, planted)]
    right = [anomaly for anomaly in about if anomaly["filter"] in expected and
             says(entry, anomaly)]
    line["found"] = bool(right)
    if right:
        first = min(right, key=lambda anomaly: anomaly["foundS"])
        line["epochs"] = whole_epochs(first["foundS"] - begin_s, epoch_s)
        line["said"] = said(first, planted)
        line["expected"] = first["filter"]  # two may apply a rule
    elif entry.weak:
        line["weak"] = entry.weak
    others = sorted({anomaly["filter"] for anomaly in about if anomaly not in right})
    if others:
        line["also"] = others
        if not right:
            line["said"] = said(about[0], planted)
    return line


def judge_fleet(entry, program, filters, incidents, anomalies, played):
    """One fault of a fleet: what its operator wants is one incident, of the nodes that have it and of no other, that says
    what it is. `incidents`, `anomalies`: all there were; `played`: which nodes had it, of how many, since when each."""
    expected = [name for name, (rule, _) in filters.items() if rule == entry.rule]
    line = {"name": entry.name, "truth": entry.truth, "expected": expected[0] if expected else f"rule {entry.rule}",
            "faulty": len(played.faulty_nodes), "of": played.of}
    if not expected:
        line["not_run"] = "no filter of this build applies the rule"
        return line
    standing = [incident for incident in incidents if not int(incident.get("mergedInto", 0))]
    about = [incident for incident in standing if any(
        symptom.get("program") == program for symptom in incident.get("symptoms", []))]
    told = {}  # when first, by node
    for anomaly in sorted(anomalies, key=lambda anomaly: anomaly["foundS"]):
        node = anomaly["node"]
        if node in played.began_s and anomaly["filter"] in expected and anomaly["subject"].startswith(f"{program} ("):
            told.setdefault(node, whole_epochs(anomaly["foundS"] - played.began_s[node], played.epoch_s))
    line["incidents"] = len(about)
    line["others"] = len(standing) - len(about)
    named = {node for incident in about for node in incident["nodes"]}
    line["missing"] = sorted(set(played.faulty_nodes) - named)
    line["wrongly"] = sorted(named - set(played.faulty_nodes))
    symptoms = [symptom for incident in about for symptom in incident["symptoms"]]
    line["by"] = sorted({"/".join(filter(None, (symptom["filter"], symptom.get("vital"), symptom.get("sub"))))
                         for symptom in symptoms if {symptom["node"], *symptom.get("moreNodes", [])} & {*line["wrongly"]}})
    right = [symptom for incident in about for symptom in incident["symptoms"]
             if symptom["filter"] in expected and symptom.get("program") == program and says(entry, symptom)]
    line["found"] = (len(about) == 1 and not line["missing"] and not line["wrongly"] and
                     [{symptom["node"], *symptom.get("moreNodes", [])} for symptom in right] == [{*played.faulty_nodes}])
    if told:
        line["epochs"] = [min(told.values()), max(told.values())]
    if about:
        line["said"] = about[0]["title"]
    return line


def says(entry, finding):
    """Of an anomaly or a symptom: is this the cause?"""
    return re.search(entry.cause, finding.get("cause", "") + " " + finding["text"]) is not None


def node_hours(planted, loads):
    """Its part of the node's time: what several loads share counts once, however many they are."""
    ran = [(load.planted_s, load.ended_s) for load in loads if not load.problem]
    edges = sorted({edge for times in ran for edge in times if planted.planted_s <= edge <= planted.ended_s})
    return sum((end - begin) / sum(planted_s <= begin and end <= ended_s for planted_s, ended_s in ran)
               for begin, end in itertools.pairwise(edges)) / 3600


def judge_innocent(planted, anomalies, epoch_s, loads):
    """The line of one innocent load; `loads`: all of the run, itself too."""
    entry = planted.entry
    line = {"name": entry.name, "what": entry.what}
    if planted.problem:
        line["not_run"] = planted.problem
        return line
    line["hours"] = round((planted.ended_s - planted.planted_s) / 3600, 4)
    line["node_hours"] = round(node_hours(planted, loads), 4)
    line["false"] = [{"filter": anomaly["filter"], "text": said(anomaly, planted)} for anomaly in anomalies
                     if in_time(anomaly, planted, epoch_s) and accuses(anomaly) and names(anomaly, planted)]
    return line


def replayed(said, faults):
    """What a replay said (`of_loads`: a line for each incident that names a process of the corpus), with the incidents of
    the innocent loads told from those of the faults that wait beside them, which are right or wrong by other measures."""
    def of_fault(text):
        return any(re.search(rf"(?<![\w-])planted_{re.escape(name)}(?![\w-])", text) for name in faults)

    loads = [CGROUP.sub("", text) for text in said["of_loads"] if not of_fault(text)]
    diagnoses = {what: {key: CGROUP.sub("", value) if key == "first" else value for key, value in told.items()}
                 for what, told in said.get("diagnoses_of_loads", {}).items() if not of_fault(what)}
    return {**said, "of_loads": loads, "incidents_of_loads": len(loads),
            "incidents_of_faults": len(said["of_loads"]) - len(loads), "diagnoses_of_loads": diagnoses}
