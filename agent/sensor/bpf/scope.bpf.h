/* SPDX-License-Identifier: GPL-2.0
 *
 * Which tasks are counted: those of one cgroup and of the cgroups below it (sensor.scope). The
 * objects are built twice; in those that watch a whole host (without TELLTALE_SCOPED) all of this
 * is nothing, and an event costs not an instruction more for it.
 *
 * Who runs is asked at each switch, and holds until the next one: so a task that is moved into the
 * cgroup or out of it is so to us from when it next begins to run. What interrupts do belongs to
 * the host and is not counted.
 */
#ifndef TELLTALE_SENSOR_SCOPE_BPF_H_
#define TELLTALE_SENSOR_SCOPE_BPF_H_

#include "agent/sensor/bpf/hot.bpf.h"

#ifdef TELLTALE_SCOPED
#define SCOPED 1
#define DEEPEST_LEVEL 64

static __always_inline struct cgroup* cgroup_of(struct task_struct* task) {
  uint32_t subsys = control.cgroup_subsys;
  struct css_set* set = task->cgroups;
  struct cgroup_subsys_state* css = 0;

  if (subsys >= 12) return set->dfl_cgrp;
  bpf_probe_read_kernel(&css, sizeof(css), &set->subsys[subsys]);
  return css ? BPF_CORE_READ(css, cgroup) : 0;
}

/* Of the cgroup so many levels below the root that it lies in, or is. */
static __always_inline uint64_t ancestor_id(struct cgroup* cgroup, uint32_t level) {
  struct cgroup* ancestor = 0;
  uint64_t id = 0;

  if (bpf_core_field_exists(cgroup->ancestors)) {
    bpf_probe_read_kernel(
        &ancestor, sizeof(ancestor),
        (char*)cgroup + bpf_core_field_offset(struct cgroup, ancestors) + level * sizeof(ancestor));
    return ancestor ? BPF_CORE_READ(ancestor, kn, id) : 0;
  }
  bpf_probe_read_kernel(&id, sizeof(id),
                        (char*)cgroup +
                            bpf_core_field_offset(struct cgroup___before_6_1, ancestor_ids) +
                            level * sizeof(id));
  return id;
}

/* The agent knows the cgroup by its id only: which level it is on shows when the first task of it
 * is met. */
static __noinline int find_level(struct task_struct* task) {
  struct cgroup* cgroup = cgroup_of(task);
  uint32_t own = cgroup ? BPF_CORE_READ(cgroup, level) : 0;

  if (!cgroup) return 0;
  for (uint32_t level = 0; level < DEEPEST_LEVEL; level++) {
    if (level > own) break;
    if (ancestor_id(cgroup, level) != control.scope_cgroup) continue;
    control.scope_level = level;
    return 1;
  }
  return 0;
}

static __always_inline bool in_scope(struct task_struct* task) {
  uint32_t level = control.scope_level;
  struct cgroup* cgroup;

  if (unlikely(level == TELLTALE_LEVEL_UNKNOWN)) return find_level(task);
  cgroup = cgroup_of(task);
  return cgroup && (uint32_t)BPF_CORE_READ(cgroup, level) >= level &&
         ancestor_id(cgroup, level) == control.scope_cgroup;
}

/* Whether what the running task does is counted. */
static __always_inline bool counted(const struct telltale_cpu* c) { return c->in_scope; }
static __always_inline bool counts_here(void) {
  struct telltale_cpu* c = this_cpu();
  return c && counted(c);
}
static __always_inline bool enters(struct telltale_cpu* c, struct task_struct* next) {
  return c->in_scope = in_scope(next);
}

/* For an event of the running task: its CPU's block, or null: it is none of ours. */
static __always_inline struct telltale_cpu* watched_cpu(uint32_t vital) {
  struct telltale_cpu* c = this_cpu();

  if (!c) return 0;
  if (likely(c->in_scope) && likely(!c->irq_depth)) {
    know_who_runs(c);
    return c;
  }
  c->outside[vital - 1] += stands_for(vital, 1);
  return 0;
}
#else
#define SCOPED 0

static __always_inline bool in_scope(struct task_struct* task) { return true; }
static __always_inline bool counted(const struct telltale_cpu* c) { return true; }
static __always_inline bool counts_here(void) { return true; }
static __always_inline bool enters(struct telltale_cpu* c, struct task_struct* next) {
  return true;
}
static __always_inline struct telltale_cpu* watched_cpu(uint32_t vital) { return running_cpu(); }
#endif

#endif /* TELLTALE_SENSOR_SCOPE_BPF_H_ */
