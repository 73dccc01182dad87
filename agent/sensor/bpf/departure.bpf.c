// SPDX-License-Identifier: GPL-2.0
//
// Where code was mapped in processes that live too shortly for the agent to read it in /proc: noted
// as they end, or as an exec replaces what they were, of those that have stack copies in the ring.

#include "agent/sensor/bpf/task.bpf.h"

#define VM_EXEC 4
#define MOST_AREAS 1024 /* looked at of one process */

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma* it, struct task_struct* task,
                                 uint64_t address) __ksym;
extern struct vm_area_struct* bpf_iter_task_vma_next(struct bpf_iter_task_vma* it) __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma* it) __ksym;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, TELLTALE_DEPARTURES_BYTES);
} departures SEC(".maps");

static __always_inline void note_region(struct telltale_departure* d, struct vm_area_struct* area) {
  struct telltale_region* region;
  uint64_t at = d->regions;
  struct inode* inode;

  opaque(at);
  d->regions = at + 1;
  if (at >= TELLTALE_DEPARTED_REGIONS) return;
  region = &d->region[at];
  region->start = area->vm_start;
  region->pages = (area->vm_end - area->vm_start) >> TELLTALE_PAGE_LOG2;
  region->inode = region->device = region->file_page = region->unused = 0;
  if (!area->vm_file) return;
  inode = BPF_CORE_READ(area, vm_file, f_inode);
  region->file_page = area->vm_pgoff;
  region->device = BPF_CORE_READ(inode, i_sb, s_dev);
  region->inode = BPF_CORE_READ(inode, i_ino);
}

/* Of the running task. A full ring: the agent finds the process gone. */
static __always_inline int departs(struct task_struct* task) {
  struct telltale_task* first = bpf_task_storage_get(&tasks, task->group_leader, 0, 0);
  struct bpf_iter_task_vma areas;
  struct telltale_departure* d;
  struct vm_area_struct* area;
  uint64_t looked_at;

  if (!first || first->copied_before != control.next_drain) return 0;
  d = bpf_ringbuf_reserve(&departures, sizeof(*d), 0);
  if (!d) return 0;
  fill_who(&d->who, task, bpf_task_storage_get(&tasks, task, 0, 0));
  d->vdso = (uint64_t)BPF_CORE_READ(task, mm, context.vdso);
  d->time_ns = bpf_ktime_get_ns();
  d->regions = d->cut = 0;
  /* Zero, which the verifier forgets of memory: else it would follow each count, for seconds. */
  looked_at = *(volatile uint32_t*)&d->regions;
  bpf_iter_task_vma_new(&areas, task, 0);
  while ((area = bpf_iter_task_vma_next(&areas))) {
    if (looked_at++ >= MOST_AREAS) {
      d->cut = 1;
      break;
    }
    if (area->vm_flags & VM_EXEC) note_region(d, area);
  }
  bpf_iter_task_vma_destroy(&areas);
  bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);
  return 0;
}

/* Since 6.16, when its memory is still there. */
SEC("tp_btf/sched_process_exit")
int on_departure(uint64_t* ctx) {
  bool group_dead = ctx[1];

  return group_dead ? departs((struct task_struct*)ctx[0]) : 0;
}

/* Since 6.10. */
SEC("tp_btf/sched_prepare_exec")
int on_replacement(uint64_t* ctx) { return departs((struct task_struct*)ctx[0]); }
