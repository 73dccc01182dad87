/* SPDX-License-Identifier: GPL-2.0
 *
 * How much memory is free where, read from the page allocator of node 0 without kernel data
 * symbols: the running task's memory cgroup knows its node. Free swap has no such way in; the agent
 * tells it 10 times a second.
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
enum zone_type { ZONE_NORMAL = 2 };

#define ZONES 4
#define ORDERS 11

/* The state of free memory of the paper: in all zones, in the low ones that old devices need (DMA
 * and DMA32), in swap; pages. */
struct free_memory {
  uint64_t all, low, swap;
};

/* Zeroes if unknown. Only for samples: some 40 reads. */
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
    char* area = (char*)node + bpf_core_field_offset(struct pglist_data, node_zones) +
                 z * bpf_core_type_size(struct zone) +
                 bpf_core_field_offset(struct zone, free_area);
    uint64_t free = 0;
    for (uint32_t order = 0; order < ORDERS; order++) {
      unsigned long blocks = 0;
      bpf_probe_read_kernel(&blocks, sizeof(blocks),
                            area + order * bpf_core_type_size(struct free_area) +
                                bpf_core_field_offset(struct free_area, nr_free));
      free += blocks << order;
    }
    to->all += free;
    if (z < bpf_core_enum_value(enum zone_type, ZONE_NORMAL)) to->low += free;
  }
  return 0;
}

#endif /* TELLTALE_SENSOR_MEMORY_BPF_H_ */
