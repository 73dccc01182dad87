/* SPDX-License-Identifier: GPL-2.0
 *
 * How much memory is free where, read from the page allocator of node 0 without kernel data
 * symbols: the running task's memory cgroup knows its node. Free swap has no such way in; the agent
 * tells it when it drains.
 */
#ifndef TELLTALE_SENSOR_MEMORY_BPF_H_
#define TELLTALE_SENSOR_MEMORY_BPF_H_

#include "agent/sensor/bpf/sample.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct zone {
  atomic_long_t vm_stat[1];
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
enum zone_type { ZONE_NORMAL = 2 };
enum zone_stat_item { NR_FREE_PAGES = 0 };

#define ZONES 4

/* The state of free memory of the paper: in all zones, in the low ones that old devices need (DMA
 * and DMA32), in swap; pages. */
struct free_memory {
  uint64_t all, low, swap;
};

/* Zeroes if unknown. Only for samples: some 10 reads. The counts are those of /proc/zoneinfo, off
 * by what CPUs have not added to them yet. */
static __noinline int read_free_memory(struct free_memory* to) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct cgroup_subsys_state* css = 0;
  struct css_set* set = BPF_CORE_READ(task, cgroups);
  struct mem_cgroup* memcg;
  struct pglist_data* node;

  to->all = to->low = 0;
  to->swap = control.swap_free_pages;
  bpf_probe_read_kernel(
      &css, sizeof(css),
      &set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) & 15]);
  if (!css) return 0;
  memcg = (struct mem_cgroup*)css; /* css is its first member */
  node = BPF_CORE_READ(memcg, nodeinfo[0], lruvec.pgdat);
  if (!node) return 0;
  /* By hand: an index that the compiler does not know it takes for one into our reduced types. */
  for (uint32_t z = 0; z < ZONES; z++) {
    char* count = (char*)node + bpf_core_field_offset(struct pglist_data, node_zones) +
                  z * bpf_core_type_size(struct zone) +
                  bpf_core_field_offset(struct zone, vm_stat) +
                  bpf_core_enum_value(enum zone_stat_item, NR_FREE_PAGES) * sizeof(atomic_long_t);
    int64_t free = 0;

    bpf_probe_read_kernel(&free, sizeof(free), count);
    if (free < 0) continue;
    to->all += free;
    if (z < bpf_core_enum_value(enum zone_type, ZONE_NORMAL)) to->low += free;
  }
  return 0;
}

#endif /* TELLTALE_SENSOR_MEMORY_BPF_H_ */
