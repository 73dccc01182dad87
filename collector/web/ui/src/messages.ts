// What /api/v1/ answers, as far as it is shown: the JSON of proto/telltale/v1/query.proto. Answers come with every
// field set, so nothing here is optional but messages.

export type Tier = 'TIER_AUTO' | 'TIER_RAW' | 'TIER_5MIN' | 'TIER_1H' | 'TIER_1D';

export interface Selection {
  nodes?: string[];
  label_matches?: string[];
  start_s: number;
  end_s: number;
  tier?: Tier;
}

export interface Coverage {
  selected_s: number;
  watched_s: number;
  unwatched_s: number;
  nodes: number;
  nodes_selected: number;
  epochs_received: number;
  epochs_lost: number;
  epochs_partial: number;
  lost_events: { reason: string; events: number }[];
  tier: Tier;
  notes: string[];
  miss_probability_1pct: number;
  data_start_s: number;
  data_end_s: number;
  tiers: { tier: Tier; start_s: number; end_s: number }[];
  values_start_s: number;
  values_end_s: number;
  used: { tier: Tier; rows: number; length_s: number }[];
  user_frames: { outcome: string; frames: number }[];
  values_watched_s: number;  // of whole epochs or windows, which may stick out of what was selected
}

export interface StatusAnswer {
  version: string;
  now_s: number;
  nodes_known: number;
  nodes_reporting: number;
  not_storing: string;
}

export interface Node {
  name: string;
  info?: {
    labels: { key: string; value: string }[];
    kernel_release: string;
    distribution: string;
    cpus_online: number;
    vitals: { id: number; state: string; reason: string }[];
  };
  state: 'REPORTING' | 'SILENT' | 'STOPPED' | 'NEVER' | 'CLONE_CONFLICT' | 'STATE_UNSPECIFIED';
  last_s: number;
  remarks: string[];
  epoch_length_s: number;
  vitals_degraded: number;
  agent_cost: number;    // share of the host's CPU time; 0: unknown
  agent_limit: number;   // above it the agent is over its budget; 0: none
  vitals_unavailable: number;
}

export interface Vital {
  id: number;
  name: string;
  unit: string;
  subs: { name: string; idle: boolean }[];
  has_backlog: boolean;
  about: string;
}

// Columns; point i covers [start_s[i], start_s[i] + length_s[i]).
export interface Series {
  vital: string;
  sub: string;
  node: string;
  unit: string;
  start_s: Float64Array;
  length_s: Float64Array;
  rate: Float64Array;
  watched: Float64Array;
  backlog: Float64Array;
  // Of one process: who it is, and what its rate lies between.
  process?: string;
  low: Float64Array;
  high: Float64Array;
}

export interface SeriesAnswer {
  series: Series[];
}

// Of a version of a filter, on faults and loads whose truth is known; low and high: Wilson's 95 % interval.
export interface FilterRecord {
  hits: number;
  misses: number;
  false_alarms: number;
  low: number;
  high: number;
  measured: string;  // the day
  faults: number;
  innocent_loads: number;
  earlier_version?: number;  // the figures are of it, the filter has changed since
  epochs?: number;       // to the finding: the median
  most_epochs?: number;
  mute?: boolean;        // no innocent load was such that it could have spoken
  without_counters?: boolean;  // it uses hardware counters, and there were none
}

// What watches: a rule of ten, a detector, or a filter of the user's.
export interface FilterInfo {
  name: string;
  version: number;
  about: string;
  rule: number;  // 0: a detector
  vitals: string[];  // none: all
  status?: { state: string; reason: string; lag_s: number; anomalies: number };
  nodes_learning: number;
  nodes: number;
  record?: FilterRecord;
  epochs: string;
  dropped: string;
  epochs_late: string;
  epochs_unreadable?: string;
  no_room?: string;
  user?: { file: string; cpu_s: number; memory_bytes: string; memory_limit_bytes: string; failures: number; retry_s: number };
}

export interface Anomaly {
  id: string;
  filter: string;
  node: string;
  vital: string;
  sub: string;
  start_s: number;
  end_s: number;
  value: number;
  expected: number;
  deviation: number;
  severity: number;
  text: string;
  learned_epochs: number;
  found_s: number;
  subject: string;
  evidence: string;
  against: string;
  cause: string;
  next: string;
  rule: number;  // of a diagnosis; 0: a symptom
  open: boolean;
  record?: FilterRecord;  // of a diagnosis whose filter was measured
}

export interface IncidentSymptom {
  node: string;
  filter: string;
  vital: string;
  sub: string;
  program: string;
  first_s: number;
  count: string;
  text: string;
  rule: number;          // of a diagnosis; 0: a symptom
  explained_by: number;  // place + 1 of the diagnosis among the symptoms; 0: stands for itself
  // Where the collector keeps them with the incident.
  cause?: string;
  evidence?: string;
  against?: string;
  next?: string;
  record?: FilterRecord;
  peers?: string;        // of a diagnosis, in the answer about one incident
}

// 64-bit numbers come as text.
export interface Incident {
  number: string;
  state: string;
  title: string;
  start_s: number;
  last_s: number;
  anomalies: string;
  nodes: string[];
  node_count: string;
  symptoms: IncidentSymptom[];
  symptoms_left_out: string;
  notes: { time_s: number; who: string; text: string }[];
  silenced: boolean;
  acknowledged_by: string;  // empty: nobody
  acknowledged_s: number;
}

export interface Silence {
  id: string;
  incident: string;  // of this one alone; 0: of patterns
  until_s: number;
  reason: string;
  by: string;
}

export interface Mark {
  id: string;
  time_s: number;
  text: string;
  node: string;
  by: string;
}

// One event of /api/v1/live.
export interface LiveNews {
  dropped: number;
  second?: { node: string; end_s: number; vitals: { vital: string; unit: string; rate: number; sub_rate: number[] }[] };
  epoch?: { node: string; start_s: number; end_s: number };
  trouble?: { node: string; text: string };
}

export interface Learning {
  filter: string;
  node: string;
  learned_epochs: string;  // 64 bits
  needed_epochs: string;
  unit: string;            // "epochs", "weeks"
}

export interface Frame {
  name: string;
  binary: string;
  kernel: boolean;
}

export type Dimension = 'DIMENSION_PROCESS' | 'DIMENSION_EXE' | 'DIMENSION_SITE';

export interface TopRow {
  name: string;
  value: number;
  low: number;
  high: number;
  share: number;
  user: string;
  pid: number;
  instances: number;
  exe: string;
  node: string;
  cgroup: string;
  stack: Frame[];
  open: boolean;
  samples: number;
}

export interface TopTable {
  vital: string;
  sub: string;
  unit: string;
  by: Dimension;
  total: number;
  events: number;
  rows: TopRow[];
  rows_after: number;  // that the answer has no room for
  other: number;
  exact: boolean;
  estimated: boolean;  // watched a part of the time: how far off is not known
  state: string;
  reason: string;
  left_out: string[];
}

export interface TopAnswer {
  tables: TopTable[];
  coverage: Coverage;
}

export interface Peer {
  comm: string;
  pid: number;
  tid: number;
  stack: Frame[];
  process_age_s: number;  // 0: not known
}

export interface Sample {
  node: string;
  vital: string;
  sub: string;
  time_s: number;
  exe: string;
  comm: string;
  pid: number;
  tid: number;
  user: string;
  cgroup: string;
  cpu: number;
  weight: number;
  low: number;
  high: number;
  samples: number;
  unit: string;
  label: { name: string; value: string }[];
  detail: { name: string; value: string }[];
  kernel_stack: Frame[];
  user_stack: Frame[];
  kernel_stack_end: string;
  user_stack_end: string;
  open: boolean;
  watched_share: number;  // of the time; one event stands for 1/share. 0: always
  ran_instead?: Peer | null;
  waker?: Peer | null;
  holder?: Peer | null;
}

export interface SamplesAnswer {
  samples: Sample[];
  coverage: Coverage;
  next_page: string;
}

export interface FlameNodeAnswer {
  parent: number;
  name: string;
  binary: string;
  kernel: boolean;
  value: number;
  low: number;
  high: number;
  against: number;
  samples: number;
  certain: boolean;
}

export interface FlameAnswer {
  nodes: FlameNodeAnswer[];
  unit: string;
  total: number;
  against_total: number;
  scale: number;
  coverage: Coverage;
}

export interface DiffRow {
  row?: TopRow;
  against?: TopRow;
  difference: number;
  difference_low: number;
  difference_high: number;
  certain: boolean;
}

export interface DiffTable {
  vital: string;
  sub: string;
  unit: string;
  by: Dimension;
  total: number;
  against_total: number;
  rows: DiffRow[];
  left_out: string[];
  reason: string;
  unlisted_most: number;
}

export interface DiffAnswer {
  tables: DiffTable[];
  coverage: Coverage;
  against_coverage: Coverage;
  scale: number;
}

export interface DiscreteEvent {
  node: string;
  time_s: number;
  type: string;
  text: string;
  pid: number;
}

export interface HistogramValues {
  name: string;
  unit: string;
  low: number[];
  high: number[];
  count: number[];
  p50: number;
  p90: number;
  p99: number;
}

// Of one host over a time; `unit` is "bytes", "tasks" or "share".
export interface HostLevel {
  name: string;
  unit: string;
  low: number;
  low_s: number;
  mean: number;
  high: number;
  high_s: number;
  last: number;
}

export interface HostLevels {
  node: string;
  cpus: number;
  memory_bytes: number;
  swap_bytes: number;
  levels: HostLevel[];
  tightest_s: number;
  free_blocks: number[];  // of 2^i pages
}

export interface Gap {
  node: string;
  start_s: number;
  end_s: number;
  reason: string;
}

export interface IncidentsAnswer {
  incidents: Incident[];
  open: string;
  silenced: string;
  missed_anomalies: string;
  asker: string;  // "viewer/eve"
  may_change: boolean;
}

// Names of what changes something, each with what is sent.
export interface Orders {
  'incidents/change': { number: string; action: `INCIDENT_ACTION_${'NOTE' | 'ACKNOWLEDGE' | 'RESOLVE' | 'REOPEN'}`; note: string };
  'silences/add': { incident: string; until_s: number; reason: string };
  'silences/end': { id: string };
}

// Names of what can be asked, each with its answer.
export interface Answers {
  status: StatusAnswer;
  nodes: { nodes: Node[] };
  vitals: { vitals: Vital[] };
  top: TopAnswer;
  samples: SamplesAnswer;
  flame: FlameAnswer;
  diff: DiffAnswer;
  events: { events: DiscreteEvent[]; coverage: Coverage; left_out: number };
  incidents: IncidentsAnswer;
  silences: { silences: Silence[] };
  marks: { marks: Mark[]; left_out: number };
  histogram: { histograms: HistogramValues[] };
  host: { hosts: HostLevels[]; coverage: Coverage };
  coverage: { coverage: Coverage; gaps: Gap[] };
  anomalies: { anomalies: Anomaly[]; next_page: string; learning: Learning[] };
  filters: { filters: FilterInfo[] };
}
