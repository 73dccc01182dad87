"""The record: how often each rule and detector was right, as JSON (read by the build) and as a page for people."""

import math

CONFIDENT = 1.96  # deviations: 95 %
CROWDED = 3       # processes a CPU
IN_TWO = 0.9      # goal: faults whose process and cause are named within two epochs
FALSE_HOURS = 1_000   # goal: node-hours for each false incident, by the upper bound
LEAST_HOURS = 3_000   # of innocent loads, to speak of that goal
FALSE_A_DAY = 5       # goal: incidents of innocent loads a day on 1,000 nodes

# They speak of the node or the fleet: whether they blamed an innocent process cannot be read from what they say.
OF_NO_PROCESS = {"affinity", "ewma", "level_shift", "peer_outlier", "seasonal", "silence", "sort"}


def wilson(hits, of):
    """The 95 % interval of a share (Wilson 1927), as two shares."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, CONFIDENT ** 2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = CONFIDENT * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def most_events(seen):
    """Below it the mean of a Poisson count lies with 95 % if `seen` were counted (exact)."""
    low, high = float(seen), seen + 10 + 5 * math.sqrt(seen + 1)

    def at_most(mean):
        return sum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(seen + 1)) if mean else 1.0

    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(middle) > 0.05 else (low, middle)
    return high


def unavailable(vitals, nodes):
    """What the nodes of a run could not watch, by name; of the answers to `telltale vitals` and `telltale nodes`."""
    names = {vital["id"]: vital["name"] for vital in vitals["vitals"]}
    return sorted({names[vital["id"]] for node in nodes["nodes"] for vital in node["info"]["vitals"]
                   if vital["state"] == "VITAL_STATE_UNAVAILABLE"})


TWO_WAYS = {1, 9}  # rules that use hardware counters where there are any


def lacks_counters(record):
    """A record that did not note what its node could watch says nothing of them."""
    return "llc" in record.get("unavailable", [])


def counters_text(record):
    """Which way of those rules that have two was measured."""
    if not lacks_counters(record):
        return ""
    return (" This machine has no hardware counters: rules 1 and 9 were measured by what stands in for cache misses, the few places "
            "or the long time of a loop and the age of a process, and nobody knows how often they are right by cache misses.")


def run_of(record, line):
    """The run that a line is of, in words: when, and what it did otherwise than that of the page."""
    return line.get("apart", record["measured"])


def of_filters(filters, faults, innocents, record):
    """Per filter what the build embeds, of its own version alone. `filters`: name -> (rule, version). `record`: whose lines
    they are, where they do not say it. `built`: the version of today's sources, see with_versions."""
    table = {}
    for name, (rule, version) in filters.items():
        mine = [fault for fault in faults if fault["expected"] == name and "not_run" not in fault and
                fault.get("version", version) == version]
        seen = [innocent for innocent in innocents if "not_run" not in innocent and name not in innocent.get("older", {})]
        false = [said for innocent in seen for said in innocent["false"] if said["filter"] == name]
        hits = sum(fault["found"] for fault in mine)
        low, high = wilson(hits, len(mine))
        runs = {}
        for fault in mine:
            runs[run_of(record, fault)] = runs.get(run_of(record, fault), 0) + 1
        days = sorted({run[:len("2026-01-02")] for run in runs}) or [record["measured"]]
        table[name] = {"rule": rule, "version": version, "built": version, "hits": hits, "misses": len(mine) - hits,
                       "false_alarms": len(false), "loads": len(seen),
                       "low": round(low, 4), "high": round(high, 4),
                       "measured": days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}", "runs": runs,
                       "epochs": sorted(fault["epochs"] for fault in mine if fault["found"])}
    return table


def apart_text(record, other):
    """When the other run was, and what it did otherwise."""
    text = other["measured"]
    if other.get("budget", "off") != record.get("budget", "off"):
        text += f", budget {other.get('budget', 'off')}"
    if other.get("epoch_s") != record.get("epoch_s"):
        text += f", in epochs of {other['epoch_s']} s"
    if other.get("learned_epochs") != record.get("learned_epochs"):
        text += f", after {other['learned_epochs']} epochs of learning"
    return text


def joined(record, other):
    """What this run left out, taken from another one, and what that one measured of a later version of its filter; then
    also the innocent loads that ran there, and its replay. What is left of an earlier version says so. A fault that another filter is
    expected to tell now was measured where it was expected to."""
    filters = {name: (row["rule"], row["version"]) for name, row in record["filters"].items()}
    later = {name: (row["rule"], row["version"]) for name, row in other["filters"].items()
             if name not in filters or row["version"] > filters[name][1]}
    apart = apart_text(record, other)

    def there(line):
        version = other["filters"].get(line["expected"], {}).get("version", 0)
        now = max(filters.get(line["expected"], (0, 0))[1], version)
        return {**({"version": version} if version < now else {}), **line, "apart": line.get("apart", apart)}

    ran = {line["name"]: there(line) for line in other["faults"] if "not_run" not in line}
    here = {line["name"] for line in record["faults"]}
    faults = []
    for line in record["faults"]:
        instead = ran.get(line["name"])
        if instead is not None:
            expected = {instead["expected"], line["expected"]}
            if "not_run" in line or (len(expected) > 1 and "version" not in instead) or expected & set(later):
                faults.append(instead)
                continue
        if "not_run" not in line and line["expected"] in later:
            line = {"version": filters[line["expected"]][1], **line}
        faults.append(line)
    faults += [ran.get(line["name"], line) for line in other["faults"] if line["name"] not in here]
    innocents = joined_innocents(record, other, later, apart)
    played = {line["name"]: {**line, "apart": line.get("apart", apart)} for line in other.get("fleets", [])
              if "not_run" not in line}
    fleets = {line["name"]: line for line in record.get("fleets", [])}
    fleets |= {name: line for name, line in played.items() if "not_run" in fleets.get(name, {"not_run": ""})}
    # A record from before there were fleets has them among its faults.
    faults = [line for line in faults if line["name"] not in fleets]
    more = {key: other[key] for key in ("replay", "held", "live") if key in other}
    if "live" in more and "load" in other:
        more["live"] = {"load": other["load"], **more["live"]}
    both = {**more, **record, "faults": faults, "planted": sum("not_run" not in line for line in faults), "innocents": innocents,
            "fleets": list(fleets.values()), "scoped": record.get("scoped") or other.get("scoped", []),
            "innocent_loads": sum("not_run" not in line for line in innocents),
            "filters": of_filters(filters | later, faults, innocents, record)}
    return with_versions(both, {name: max(of["filters"].get(name, {}).get("built", 0) for of in (record, other)) for name in
                                both["filters"]})


def joined_innocents(record, other, later, apart):
    """The innocent loads of a joined record; of each that is the other's how it ran there, and which filters saw it in an
    earlier version than that of the record. Also of one that was taken from there before that was noted."""
    def older(line):
        versions = {name: row["version"] for name, row in other["filters"].items()} | line.get("older", {})
        now = {name: later[name][1] if name in later else row["version"] for name, row in record["filters"].items()}
        return {name: version for name, version in versions.items() if version < now.get(name, 0)}

    def of_there(line):
        return {**line, "apart": line.get("apart", apart), "older": older(line)}

    # A later version ran beside none of those that stay.
    def seen_earlier(line):
        versions = {name: record["filters"][name]["version"] for name in later if name in record["filters"]}
        older = versions | line.get("older", {})
        return {**line, "older": older} if older else line

    def same(line, there):
        return "apart" in line and all(line.get(key) == there.get(key) for key in ("hours", "false"))

    there = {line["name"]: line for line in other["innocents"] if "not_run" not in line}
    if not record["innocents"]:
        return [of_there(line) if "not_run" not in line else line for line in other["innocents"]]
    lines = []
    for line in record["innocents"]:
        ran = there.get(line["name"])
        taken = ran is not None and (later or "not_run" in line or same(line, ran))
        lines.append(of_there(ran) if taken else seen_earlier(line))
    return lines


def with_versions(record, versions):
    """The record with the versions of the filters as they are built now: figures are of those that were measured."""
    filters = {name: {**row, "built": max(row["version"], versions.get(name, 0))} for name, row in record["filters"].items()}
    return {**record, "filters": filters}


def with_figures(record):
    """The record with what the build embeds of each filter besides: how soon it found what it found (the median is the later one
    of two), whether no innocent load was such that it could have spoken, and what the machine lacked that it uses."""
    silent = {name for name, _ in mute_live(record.get("live", {})) if name not in IN_ONE_WAY}

    def figures(name, row):
        epochs = row["epochs"]
        mute = row["false_alarms"] == 0 and (name in silent or name in OF_NO_PROCESS)
        without = int(row["rule"] in TWO_WAYS and lacks_counters(record))
        return {"without_counters": without, "median": epochs[len(epochs) // 2] if epochs else 0, "most": max(epochs, default=0), "mute": int(mute)}

    return {**record, "filters": {name: {**row, **figures(name, row)} for name, row in record["filters"].items()}}


def share_text(hits, of):
    if of == 0:
        return "none planted"
    low, high = wilson(hits, of)
    return f"{hits} of {of} ({100 * low:.0f} to {100 * high:.0f} %)"


def figure(number):
    """Three places, and no power of ten."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def rate_text(seen, hours):
    if hours <= 0:
        return "not measured"
    most = 1000 * most_events(seen) / hours
    return f"{seen:,} in {figure(hours)} node-hours; at most {figure(most)} per 1,000 (95 %)"


def epochs_text(epochs):
    if not epochs:
        return "-"
    return f"{epochs[0]}" if epochs[0] == epochs[-1] else f"{epochs[len(epochs) // 2]} ({epochs[0]} to {epochs[-1]})"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


FLEET_HEAD = ["| fault | truth | on | found | after epochs, first to last node | incidents of it | incidents of something else | "
              "what was said |", "|---|---|---|---|---|---|---|---|"]


def fleets_text(record):
    fleets = [fleet for fleet in record.get("fleets", []) if "not_run" not in fleet]
    scoped = record.get("scoped", [])
    if not fleets and not scoped:
        return []
    out = ["", "## A fault on some of many nodes", "",
           "Right is exactly one incident, of the nodes that have the fault and of no other, which names program and cause; "
           "counted are the epochs until each node's diagnosis. Nothing here counts in a figure above."]
    if fleets:
        out += played_text(fleets)
    if scoped:
        out += scoped_text(scoped)
    return out


def scoped_text(scoped):
    """Of real agents, each of a cgroup of one host."""
    one = scoped[0]
    out = ["", f"Real agents, one for each node, all on one kernel ({one['machine']}, {one['measured']}): each watches a cgroup "
           f"of its own (`sensor.scope`), without a budget, in epochs of {one['epoch_s']} s, and sends over mutual TLS to one "
           "collector. In each cgroup runs the same small innocent load; then some get the fault besides, at the same moment. "
           "The nodes share the CPUs of that machine, so the fault runs at a low priority there, for what it took away from "
           "other nodes would be a fault of theirs. The processes of one agent took, with their start, "
           f"{100 * one['agent_cpu']:.1f} % of a CPU.", "", *FLEET_HEAD]
    return out + [fleet_row(fleet) for fleet in scoped]


def played_text(fleets):
    out = ["", "Played: these are epochs of one real sensor, that of this host, played as many nodes: some while nothing new was planted, "
           "some first so and then with the fault in each. There was one machine, not many. The simulator of the tests drew "
           "the epochs again for each node, with weights, process ids and moments of its own, and sent them over mutual TLS "
           "to a collector of their own. The fault comes to its nodes within three epochs of each other. Others of this host are "
           "in the epochs, so incidents of something else may be right.", "", *FLEET_HEAD]
    return out + [fleet_row(fleet) for fleet in fleets]


def fleet_row(fleet):
    wrong = f" Missing: {', '.join(fleet['missing'])}." if fleet["missing"] else ""
    wrong += f" Named, and innocent: {', '.join(fleet['wrongly'])}, by {', '.join(fleet['by'])}." if fleet["wrongly"] else ""
    apart = f" (a run of its own, {fleet['apart']})" if "apart" in fleet else ""
    return (f"| {fleet['name']} | {cell(fleet['truth'])} | {fleet['faulty']} of {fleet['of']} nodes | "
            f"{'yes' if fleet['found'] else 'no'} | {' to '.join(map(str, fleet.get('epochs', ['never'])))} | "
            f"{fleet['incidents']} | {fleet['others']} | {cell(fleet.get('said', ''))}{wrong}{apart} |")


def totals(record):
    """What a record made within a budget says in short, for the page of another."""
    run = [fault for fault in record["faults"] if "not_run" not in fault]
    named = [fault for fault in run if fault["names_process"]]
    loads = [load for load in record["innocents"] if "not_run" not in load]
    return {"measured": record["measured"], "budget": record["budget"], "epoch_s": record["epoch_s"], "load": record["load"],
            "named": len(named), "found": sum(fault["found"] for fault in named),
            "in_two": sum(fault["found"] and fault["epochs"] <= 2 for fault in named),
            "of_the_node": len(run) - len(named),
            "of_the_node_found": sum(fault["found"] for fault in run if not fault["names_process"]),
            "learned_epochs": record["learned_epochs"],
            "not_run": sorted(fault["name"] for fault in record["faults"] if "not_run" in fault),
            "not_found": sorted(fault["name"] for fault in run if not fault["found"]),
            "false": sum(len(load["false"]) for load in loads), "hours": round(sum(load["node_hours"] for load in loads), 2)}


def with_held(record, held):
    """The record with the totals of another, made within a budget; they take the place of those of the same budget and epoch."""
    told = totals(held)
    others = [run for run in record.get("held", []) if (run["budget"], run["epoch_s"]) != (told["budget"], told["epoch_s"])]
    return {**record, "held": sorted([*others, told], key=lambda run: (run["budget"], run["epoch_s"]))}


def share_found(record):
    """Of the faults that were run and name a process."""
    named = [fault for fault in record["faults"] if "not_run" not in fault and fault["names_process"]]
    return sum(fault["found"] for fault in named) / max(1, len(named))


def budget_text(record):
    if record.get("budget", "off") != "off":
        return (f"The agent's budget was {record['budget']} of the host's CPU time." +
                (" [Other runs](#other-runs-within-a-budget) of the same found less." if any(
                    run["found"] / run["named"] < share_found(record)
                    for run in record.get("held", []) if run["named"]) else ""))
    # Of a run of its own within a budget.
    otherwise = any(", budget " in line.get("apart", "") for line in record["faults"] + record["innocents"])
    off = "The agent's budget was off, but where a line says otherwise" if otherwise else "The agent's budget was off"
    if not record.get("held"):
        return f"{off}; how often the rules are right within it was not measured."
    return f"{off}; what the rules find within one is told [below](#within-a-budget)."


def minutes_text(record):
    of_a_minute = [run for run in record["held"] if run["epoch_s"] >= 60]
    if record.get("epoch_s", 0) >= 60 or any(run["named"] for run in of_a_minute):
        return ""
    return ", and in them only the innocent loads were run" if of_a_minute else " and were not measured"


def held_text(record):
    if not record.get("held"):
        return []
    joined_in = sum(", budget " in line.get("apart", "") and ", budget off" not in line["apart"] for line in record["faults"])
    where = ("Totals of runs of their own. " + (
        f"{joined_in} lines of the faults above are of such a run, say so, and count in the figures of their rules and in "
        "the totals above." if joined_in else "They are in no other figure of this page."))
    out = ["", "## Within a budget" if record.get("budget", "off") == "off" else "## Other runs within a budget", "",
           f"{where} A held sensor turns parts of itself down when what it sees "
           "grows dear. A cut costs the same however long its epoch was, so shorter epochs leave less of the budget for "
           f"seeing; those of a minute, the default, leave the most{minutes_text(record)}.", "",
           "| measured | budget, of the host's CPU time | epochs, after how many of learning | load average | right process and cause | within two epochs | "
           "right vital of the node | false alarms in innocent loads | not found | not run |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    return out + [
        f"| {run['measured']} | {run['budget']} | {run['epoch_s']} s, {run.get('learned_epochs', 'not noted')} | {run['load']:.0f} | "
        f"{share_text(run['found'], run['named'])} | {share_text(run['in_two'], run['named'])} | "
        f"{share_text(run['of_the_node_found'], run['of_the_node'])} | {rate_text(run['false'], run['hours'])} | "
        f"{', '.join(run['not_found']) or 'none'} | {', '.join(run.get('not_run', ['not noted'])) or 'none'} |" for run in record["held"]]


def a_day_text(replay):
    """What an operator of that many nodes would have to look at, for one incident may be of many of them."""
    days = replay["node_hours"] / replay["nodes"] / 24
    seen = replay["incidents_of_loads"]
    return f"of this fleet of {replay['nodes']} {seen / days:.1f} a day, at most {most_events(seen) / days:.1f}"


def diagnoses_text(replay):
    """What the incidents of a replay are made of: each diagnosis of a node by itself."""
    told = replay["diagnoses_of_loads"]
    out = ["Before they are grouped, diagnoses of single nodes that name a process of the loads: "
           f"{rate_text(sum(one['count'] for one in told.values()), replay['node_hours'])}.", ""]
    if not told:
        return out
    out += ["| rule and program | nodes' diagnoses | the first of them |", "|---|---|---|"]
    return out + [f"| {cell(what)} | {one['count']} | {cell(one['first'])} |" for what, one in sorted(told.items())] + [""]


def apart_share(record, named):
    """How much of the totals other runs measured than that of the page's date."""
    runs = {}
    for fault in named:
        if "apart" in fault:
            runs[fault["apart"]] = runs.get(fault["apart"], 0) + 1
    if not runs:
        return ""
    told = "; ".join(f"{count} in that of {run}" for run, count in sorted(runs.items()))
    return f" Not all of these {len(named)} are of one run: {told}."


def runs_text(row):
    """When, and how, a filter's figures were measured."""
    runs = row.get("runs", {})
    if len(runs) <= 1:
        return next(iter(runs), "-")
    return "; ".join(f"{run}: {count}" for run, count in sorted(runs.items()))


def hints_text(replay):
    """Whose anomalies began none."""
    hints = [f"`{name}`" for name in replay.get("hints", "").split(",") if name]
    if not hints:
        return ", when each anomaly could begin one (`incidents.hints` empty)"
    return f", which {' and '.join(hints)} do not begin"


def soonest_text(named):
    """How many of these faults cannot be found within two epochs, by what their rules want to see first."""
    quick = [fault for fault in named if fault.get("needs_epochs", 0) <= 2]
    if len(quick) == len(named):
        return ""
    return (f", or {share_text(sum(f['found'] and f['epochs'] <= 2 for f in quick), len(quick))} of those whose rules can "
            f"speak so soon ({', '.join(f['name'] for f in named if f not in quick)} need longer)")


def all_text(run, named):
    """The same figure with those in it of which no process can be named."""
    if len(run) == len(named):
        return ""
    return (f"Of all {len(run)} faults, also those of which no process can be named: right process and cause "
            f"{share_text(sum(f['found'] for f in named), len(run))}.")


def stretched_text(replay):
    """Where an epoch was replayed as a longer one, a load of seconds lasts for minutes."""
    recorded_s = replay.get("recorded", {}).get("epoch_s", 0)
    return "" if recorded_s >= replay["epoch_s"] else " and what was seconds became minutes"


def replay_made(replay):
    """When, of what, and with which versions of the filters a replay was made."""
    recorded = replay.get("recorded")
    text = (f"Recorded on {recorded['measured']}, budget {recorded['budget']}, in epochs of {recorded['epoch_s']} s"
            if recorded else "When and within what budget they were recorded was not noted")
    if "measured" not in replay:
        return text + "; nor was when they were replayed, and with which versions of the filters. "
    rules = ", ".join(f"{name} {version}" for name, version in sorted(replay.get("versions", {}).items()))
    return f"{text}; replayed on {replay['measured']} with {rules}. "


def version_text(row):
    """What was measured, and whether it is what is built."""
    built = row.get("built", row["version"])
    return f"{row['version']}" if built == row["version"] else f"{row['version']}; now {built}, not measured"


def false_text(name, row, record):
    """False alarms of the version that was measured, and how many of the loads it saw; no figure of one that could raise none."""
    loads = sum("not_run" not in load for load in record["innocents"])
    seen = row.get("loads", loads)
    if row["false_alarms"] == 0:
        if loads == 0:
            return "-"
        if name in OF_NO_PROCESS:
            return "names no process"
        if loads and name in {who for who, _ in mute_live(record.get("live", {})) if who not in IN_ONE_WAY}:
            return "could not speak"
    # As a share, of loads: one that is accused twice is accused.
    accused = sum(any(said["filter"] == name for said in load.get("false", [])) for load in record["innocents"]
                  if "not_run" not in load and name not in load.get("older", {}))
    low, high = wilson(accused, seen) if seen else (0, 1)
    share = f" ({100 * low:.0f} to {100 * high:.0f} % of loads)"
    return f"{row['false_alarms']}{share}" if seen == loads else f"{row['false_alarms']} in the {seen} of {loads} that this version saw"


def built_text(record):
    """A record of earlier versions is not one of what is built."""
    changed = [f"`{name}`" for name, row in sorted(record["filters"].items()) if row.get("built", row["version"]) != row["version"]]
    if not changed:
        return []
    return ["", f"{len(changed)} of the filters {'has' if len(changed) == 1 else 'have'} changed since they were measured ({', '.join(changed)}). The figures are of the "
            "version that stands in the table, and nobody knows yet those of the one that is built now; `telltale rules` and each "
            "diagnosis say so too."]


def loads_text(record, loads):
    """When and how the innocent loads ran, where that was in no run of the page's."""
    runs = {}
    for load in loads:
        if "apart" in load:
            runs[load["apart"]] = runs.get(load["apart"], 0) + 1
    if not runs:
        return f" and {len(loads)} innocent loads run"
    if list(runs.values()) == [len(loads)]:
        return f", and {len(loads)} innocent loads were run in a run of their own ({next(iter(runs))})"
    of_runs = "; ".join(f"{count} in that of {run}" for run, count in sorted(runs.items()))
    return f", and {len(loads)} innocent loads were run, of them in other runs {of_runs}"


def other_live_text(record):
    """Innocent loads of runs that are told as totals alone."""
    return "".join(f" A run of {run['measured']} of such loads alone, in epochs of {run['epoch_s']} s, of which only totals are kept: "
                   f"{rate_text(run['false'], run['hours'])}." for run in record.get("held", []) if not run["named"])


IN_ONE_WAY = {"rule_load", "rule_busy_loop"}  # they have others, in which they could speak


def mute(longest, held, of_a_node, why):
    """Filters that cannot speak, or not in one of their ways, where a process has rows in `longest` epochs at most, a load is
    held for `held` and a node has `of_a_node`: a zero of theirs says nothing. `why`: what the first two come from."""
    silent = []
    if longest < 30:
        silent += [(name, f"wants 30 rows of a process that only grows; {why}") for name in ("leak", "descriptor_leak")]
    if longest < 60:
        silent.append(("vanished", f"wants to have seen a program for 60 epochs; {why}"))
    if held < 5:
        silent += [("rule_load", "its slow start: five epochs of one process; no load was held for so long (the growing load and "
                    "the storm of processes can be told)"),
                   ("rule_busy_loop", "a loop in many places: five epochs of one process (one in few places can be told)")]
    if of_a_node < 1440:
        silent.append(("new_label", f"learns for 1440 epochs; a node has {of_a_node}"))
    return silent + [("seasonal", "asks for hours of past weeks; there are none")]


def mute_in_replay(replay):
    """In the replay of the innocent loads."""
    recorded, epochs = replay["recorded_epochs"], 60 + 60 * replay["node_hours"] // replay["nodes"] * 60 // replay["epoch_s"]
    held = replay.get("recorded", {}).get("hold_epochs", 0)
    return mute(recorded, held, epochs, f"the recording goes round after {recorded} epochs") + [
        (name, "is not in the replay: it watches the fleet") for name in ("peer_outlier", "silence")]


def mute_live(live):
    """While the innocent loads ran."""
    held = live.get("hold_epochs", 0)
    return mute(held, held, live.get("epochs", 0), f"a load is held for {held} epochs") + [
        (name, "there was one node") for name in ("peer_outlier", "silence")]


def live_text(record, loads):
    """What was said while the innocent loads ran."""
    hours, false = sum(load["node_hours"] for load in loads), sum(len(load["false"]) for load in loads)
    live = record.get("live", {})
    out = [f"Live: false alarms {rate_text(false, hours)}. Only what names a process of the load counts, and an hour in which "
           f"several loads ran on the node is one.{other_live_text(record)}"
           + (f" The load average was {live['load']:.0f}." if "load" in live else "")]
    if "incidents" in live:
        told = live["incidents"]
        own = sum(title.startswith("telltale-") for title in told)
        ours = f", {own} of them of Telltale itself" if own else ""
        out += ["", f"All incidents of that run, whoever they name, and the others on this host are in them: {rate_text(len(told), hours)}{ours}"
                + (":" if told else "."), *[f"- {cell(title)}" for title in told]]
    if loads and live:
        out += ["", "Some filters could not speak of these loads:", "", "| filter | what it wants, and did not get |", "|---|---|",
                *[f"| `{name}` | {why} |" for name, why in mute_live(live)]]
    return out + [""]


def seconds_text(run):
    """What that comes to for who asks."""
    seconds = sorted(fault["seconds"] for fault in run if "seconds" in fault)
    if not seconds:
        return ""
    within = " and ".join(f"{sum(one <= limit for one in seconds)} within {limit} s" for limit in (120, 180))
    return (f" Who asked every five seconds was told of {len(seconds)} of them {seconds[len(seconds) // 2]} s after they began, the "
            f"median, {within}, and of the last after {seconds[-1]} s.")


def reached(goal):
    return "reached" if goal else "not reached"


def goals_text(record, run, named):
    """What was aimed at, and whether these figures say that it was reached."""
    if not named:
        return []
    in_two = sum(fault["found"] and fault["epochs"] <= 2 for fault in named)
    out = ["", f"Goals. Right process and cause within two epochs in {100 * IN_TWO:.0f} % of all faults: "
           f"{reached(in_two >= IN_TWO * len(run))} ({share_text(in_two, len(run))}; of those whose process can be named "
           f"{share_text(in_two, len(named))})."]
    if replay := record.get("replay"):
        most = most_in_false_hours(replay["incidents_of_loads"], replay)
        a_day = a_day_of_a_thousand(replay["incidents_of_loads"], replay)
        a_day_most = a_day_of_a_thousand(most_events(replay["incidents_of_loads"]), replay)
        out[-1] += (f" At most one false incident in {FALSE_HOURS:,} node-hours, by the 95 % bound over {LEAST_HOURS:,} or more: "
                    f"{reached(most <= 1 and replay['node_hours'] >= LEAST_HOURS)} in the replay (at most {figure(most)}); the live "
                    f"hours are too few to tell. At most {FALSE_A_DAY} a day on 1,000 nodes: {reached(a_day <= FALSE_A_DAY)} in the "
                    f"replay ({a_day:.1f} a day, at most {a_day_most:.1f}). Those are "
                    f"incidents that name a load. With all others of the replay, whoever they name: {all_incidents_text(replay)}.")
    return out


def most_in_false_hours(count, replay):
    return FALSE_HOURS * most_events(count) / replay["node_hours"]


def a_day_of_a_thousand(count, replay):
    return count / (replay["node_hours"] / 24) * 1_000


def all_incidents_text(replay):
    """The goals by all incidents: whether those that name no load were false nobody knows."""
    most = most_in_false_hours(replay["incidents"], replay)
    a_day = a_day_of_a_thousand(replay["incidents"], replay)
    return (f"at most {figure(most)} in {FALSE_HOURS:,} node-hours, {reached(most <= 1 and replay['node_hours'] >= LEAST_HOURS)}, and "
            f"{a_day:.1f} a day, {reached(a_day <= FALSE_A_DAY)}")


def page(record):
    """Markdown of the record and of nothing else: the same record gives the same page."""
    faults, innocents = record["faults"], record["innocents"]
    run = [fault for fault in faults if "not_run" not in fault]
    loads = [load for load in innocents if "not_run" not in load]
    named = [fault for fault in run if fault["names_process"]]
    load = f"; the load average was {record['load']:.0f}" if "load" in record else ""
    if record.get("load", 0) > CROWDED * int(record["machine"].split()[0]):
        load += (", far more than this machine has CPUs: epochs grew long, processes lost their rows to busier ones, and "
                 "rules that want idle CPUs had none. Read the figures as those of a host in distress")
    out = [
        "# How often the rules were right", "",
        f"Made by `tests/scenario/run`, first on {record['measured']}; not written by hand, and each rule says below when it was "
        f"measured. On one machine ({record['machine']}), by a real agent and a real collector, in epochs of {record['epoch_s']} s, "
        f"after {record['learned_epochs']} epochs of learning, {len(run)} faults were planted{loads_text(record, loads)}. "
        + budget_text(record), *built_text(record), "",
        "The sensor sees the whole host, and others used it meanwhile. So only what names a planted process counts for or "
        f"against a rule, and faults run at nice -5{load}. Where a detector speaks of the "
        "node, that it named the right vital in time counts, which says less. "
        "Intervals are Wilson's, 95 %. One run on one machine: other machines, other faults, other figures." + counters_text(record), "",
        f"Right process and cause, of faults whose process a rule or a detector can name: {share_text(sum(f['found'] for f in named), len(named))}; "
        f"within two epochs {share_text(sum(f['found'] and f['epochs'] <= 2 for f in named), len(named))}{soonest_text(named)}. "
        f"Right vital, of faults that only a detector of the node can see: "
        f"{share_text(sum(f['found'] for f in run if not f['names_process']), len(run) - len(named))}. "
        f"{all_text(run, named)}{apart_share(record, named)} "
        "Counted are the whole epochs a fault had lasted when it was found, so two is less than three: a rule wants its "
        "condition in two whole epochs in a row (a storm of forks in one), and the first begins up to one after the fault. It was "
        "found when the epoch that showed it ended: the agent sends it within the next one, and the collector looks at it then." + seconds_text(run), *goals_text(record, run, named), "",
        "| rule | filter | version | found | epochs to the finding, median (range) | false alarms in innocent loads | measured |",
        "|---|---|---|---|---|---|---|"]
    for name, row in sorted(record["filters"].items(), key=lambda item: (item[1]["rule"] or 99, item[0])):
        out.append(f"| {row['rule'] or ''} | `{name}` | {version_text(row)} | "
                   f"{share_text(row['hits'], row['hits'] + row['misses'])} | "
                   f"{epochs_text(row['epochs'])} | {false_text(name, row, record)} | {runs_text(row)} |")
    out += ["", "## Faults", "", "| fault | truth | ought to say it | found | after epochs | what was said |",
            "|---|---|---|---|---|---|"]
    for fault in run:
        apart = f" (a run of its own, {fault['apart']})" if "apart" in fault else ""
        apart += f" (measured of version {fault['version']} of the rule, and in no figure of it)" if "version" in fault else ""
        also = f" (by {', '.join(fault['also'])})" if "also" in fault and not fault["found"] else ""
        also += f" Known: {cell(fault['weak'])}" if "weak" in fault else ""
        out.append(f"| {fault['name']} | {cell(fault['truth'])} | `{fault['expected']}` | "
                   f"{'yes' if fault['found'] else 'no'} | {fault.get('epochs', '')} | {cell(fault.get('said', ''))}{also}{apart} |")
    out += held_text(record)
    out += fleets_text(record)
    out += ["", "## Innocent loads", "", *live_text(record, loads)]
    if replay := record.get("replay"):
        out += [f"Replayed: {replay['recorded_epochs']} epochs recorded during these loads were drawn again with noise for "
                f"{replay['nodes']} nodes and shown to the filters and the incidents of the collector, as epochs of "
                f"{replay['epoch_s']} s, without the network and the store. Incidents that name a process of the loads: "
                f"{rate_text(replay['incidents_of_loads'], replay['node_hours'])}; {a_day_text(replay)}. "
                f"{replay.get('incidents_of_faults', 0)} more name one of the faults that waited beside them. All "
                f"incidents{hints_text(replay)}: {rate_text(replay['incidents'], replay['node_hours'])}; anomalies, in an "
                f"incident or not: {replay['anomalies']:,}; "
                "the others on this host are in the recording, and whether they were innocent nobody knows. Nodes so drawn "
                f"are alike{stretched_text(replay)}, so the bounds hold for loads like these on such a host. "
                + replay_made(replay).strip(), ""]
        if "diagnoses_of_loads" in replay:
            out += diagnoses_text(replay)
        out += ["Some filters cannot speak of these loads in such a replay, or not in all their ways. That they said nothing there "
                "says nothing of them:", "", "| filter | what it wants, and does not get |", "|---|---|"]
        out += [f"| `{name}` | {why} |" for name, why in mute_in_replay(replay)] + [""]
        if replay.get("by_filter"):
            out += ["| filter | anomalies |", "|---|---|"]
            out += [f"| `{name}` | {count} |" for name, count in sorted(replay["by_filter"].items())] + [""]
    out += ["| load | what it is | minutes | false alarms |", "|---|---|---|---|"]
    for load in loads:
        said = "; ".join(sorted({cell(f"{one['filter']}: {one['text']}") for one in load["false"]}))
        apart = f" (a run of its own, {load['apart']})" if "apart" in load else ""
        out.append(f"| {load['name']} | {cell(load['what'])} | {60 * load['hours']:.1f} | {said or 'none'}{apart} |")
    out += ["", f"Beside these, {record['elsewhere']} anomalies named processes of others on this host or the node alone. "
            "Nobody knows whether they were right; they count nowhere.", "", "## What could not be run", ""]
    left_out = [f"| {one['name']} | {cell(one['not_run'])} |" for one in faults + record.get("fleets", []) + innocents if "not_run" in one]
    out += ["| entry | why |", "|---|---|", *left_out] if left_out else ["Nothing."]
    return "\n".join(out) + "\n"
