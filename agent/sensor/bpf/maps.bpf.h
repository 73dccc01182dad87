/* SPDX-License-Identifier: GPL-2.0
 *
 * The maps that all kernel programs share. Each group of vitals is an object of its own, so that it
 * can be loaded and attached alone and fail alone; the loader (bpf_group.h) lets the first object
 * create these maps and hands them to the others. They must therefore look the same everywhere.
 */
#ifndef TELLTALE_SENSOR_MAPS_BPF_H_
#define TELLTALE_SENSOR_MAPS_BPF_H_

#include "agent/sensor/bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sketch/layout.h"

/* Written by the agent; read by every program at a fixed address (no lookup). */
struct telltale_control control SEC(".data.control") = {};

/* Written by the programs of all CPUs; read and cleared by the agent once they have left its half.
 */
struct telltale_bitmaps bitmaps SEC(".data.bitmaps") = {};

/* As the bitmaps. No variable: its zeroes would be in each object, and libbpf keeps a copy of the
 * variables of each. The one value is mapped by the agent. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct telltale_group);
} group SEC(".maps");

/* One block per possible CPU and one for the iterator, mapped by the agent. Written only by
 * programs on that CPU. The loader sets max_entries. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct telltale_cpu);
} cpus SEC(".maps");

/* Samples, copies of their stacks, events and last rows of tasks; drained by the agent. When it is
 * full they are lost and counted. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, TELLTALE_RING_BYTES);
} ring SEC(".maps");

/* State that follows a task. Freed by the kernel with the task. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct telltale_task);
} tasks SEC(".maps");

char _license[] SEC("license") = "GPL";

#endif /* TELLTALE_SENSOR_MAPS_BPF_H_ */
