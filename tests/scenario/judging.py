"""Holds what Telltale said against what was planted."""

import re

GRACE_EPOCHS = 3  # what is found that long after the end of a load is still about it


def names(anomaly, planted):
    """Is this said of one of the load's processes? By its user, which nobody else has, or its program's name.

    A sentence may name others, those it waits for; so it counts only where the subject is no process.
    """
    subject, text = anomaly.get("subject", ""), anomaly.get("text", "")
    said = subject if "uid " in subject else f"{subject} {text}"
    if planted.uid and f"uid {planted.uid})" in said:
        return True
    return re.search(rf"(?<![\w-]){re.escape(planted.exe.name)}(?![\w-])", said) is not None


def said(anomaly, planted):
    """Without the directory that the programs of this run happened to be in."""
    return anomaly["text"].replace(f"{planted.exe.parent}/", "")


def in_time(anomaly, planted, epoch_s):
    return planted.planted_s <= anomaly["foundS"] <= planted.ended_s + GRACE_EPOCHS * epoch_s


def judge_fault(planted, anomalies, filters, epoch_s):
    """One fault's line of the record. `filters`: name -> (rule, version), of the collector that watched."""
    entry = planted.entry
    expected = [name for name, (rule, _) in filters.items() if (rule == entry.rule if entry.rule else name == entry.detector)]
    line = {"name": entry.name, "truth": entry.truth, "expected": expected[0] if expected else f"rule {entry.rule}",
            "names_process": not entry.vital}
    if planted.problem or not expected:
        line["not_run"] = planted.problem or "no filter of this build applies the rule"
        return line
    near = [anomaly for anomaly in anomalies if in_time(anomaly, planted, epoch_s)]
    if entry.vital:
        about = [anomaly for anomaly in near if anomaly.get("vital") == entry.vital]
    else:
        about = [anomaly for anomaly in near if names(anomaly, planted)]
    right = [anomaly for anomaly in about if anomaly["filter"] in expected and
             re.search(entry.cause, anomaly.get("cause", "") + " " + anomaly["text"])]
    line["found"] = bool(right)
    if right:
        first = min(right, key=lambda anomaly: anomaly["foundS"])
        line["epochs"] = max(1, int((first["foundS"] - planted.planted_s) // epoch_s))  # whole ones
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


def judge_innocent(planted, anomalies, epoch_s):
    entry = planted.entry
    line = {"name": entry.name, "what": entry.what}
    if planted.problem:
        line["not_run"] = planted.problem
        return line
    line["hours"] = round((planted.ended_s - planted.planted_s) / 3600, 4)
    line["false"] = [{"filter": anomaly["filter"], "text": said(anomaly, planted)} for anomaly in anomalies
                     if in_time(anomaly, planted, epoch_s) and names(anomaly, planted)]
    return line
