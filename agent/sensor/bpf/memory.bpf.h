/* SPDX-License-Identifier: GPL-2.0
 *
 * How much memory is free, read from the page allocator of node 0 without kernel data symbols: the
 * running task's memory cgroup knows its node.
 */
#ifndef TELLTALE_SENSOR_MEMORY_BPF_H_
#define TELLTALE_SENSOR_MEMORY_BPF_H_

#include "agent/sensor/bpf/sample.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct free_area {
  unsigned long nr_free;
};
struct zone {
  struct free_area free_area[11];
};
struct pglist_data {
  struct zone node_zones[4];
  int nr_zones;
};
struct lruvec {
  struct pglist_data* pgdat;
};
struct mem_cgroup_per_node {
  struct lruvec lruvec;
};
struct mem_cgroup {
  struct cgroup_subsys_state css;
  struct mem_cgroup_per_node* nodeinfo[1];
};
#pragma clang attribute pop

enum cgroup_subsys_id { memory_cgrp_id = 4 };

#define ZONES 4
#define ORDERS 11

/* Pages free in all zones of node 0; 0 if unknown. Only for samples: some 40 reads. */
static __noinline uint64_t free_pages(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct cgroup_subsys_state* css = 0;
  struct css_set* set = BPF_CORE_READ(task, cgroups);
  struct mem_cgroup* memcg;
  struct pglist_data* node;
  uint64_t free = 0;

  bpf_probe_read_kernel(
      &css, sizeof(css),
      &set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) & 15]);
  if (!css) return 0;
  memcg = (struct mem_cgroup*)css; /* css is its first member */
  node = BPF_CORE_READ(memcg, nodeinfo[0], lruvec.pgdat);
  if (!node) return 0;
  for (int z = 0; z < ZONES; z++) {
    for (int order = 0; order < ORDERS; order++)
      free += BPF_CORE_READ(node, node_zones[z].free_area[order].nr_free) << order;
  }
  return free;
}

#endif /* TELLTALE_SENSOR_MEMORY_BPF_H_ */
