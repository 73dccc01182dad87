// SPDX-License-Identifier: GPL-2.0
//
// Vital cpu: who runs when the timer ticks. The tick comes anyway (HZ on a busy CPU, never on an
// idle one), so this costs no extra interrupt; each stands for one tick of CPU time.

#include "agent/sensor/bpf/sample.bpf.h"

#define TICK_WORDS 24
#define STACK_BYTES 16384 /* of a task, x86-64 */
#define PAGE 4096
#define IRQ_STACK_PAGES 4

/* Words of a stack, one entry per CPU (set by the loader). */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, uint64_t[TICK_WORDS]);
} tick_words SEC(".maps");

static __always_inline bool is_timer_entry(uint64_t address) {
  return address >= control.timer_entry_begin && address < control.timer_entry_end;
}

/* An interrupt of user code stays on the task's stack, which is empty then; one of kernel code goes
 * to the CPU's own (arch/x86/include/asm/irq_stack.h). ctx lies on the stack in use. */
static __always_inline bool interrupted_user_code(void* ctx, struct task_struct* task) {
  uint64_t at = 0;

  /* Read as memory, for the verifier lets nobody compute with it. */
  if (bpf_probe_read_kernel(&at, sizeof(at), &ctx)) return false;
  return at - (uint64_t)task->stack < STACK_BYTES;
}

/* The interrupt's entry code puts the registers on the stack of the task, calls a function whose
 * return address lies below them, and that one changes to the interrupt stack, whose last word says
 * where it left the task's (arch/x86/include/asm/irq_stack.h). 0: it does not look like that here.
 */
static __always_inline uint64_t ip_on_task_stack(void* ctx, struct task_struct* task,
                                                 uint64_t* word) {
  uint64_t stack = (uint64_t)task->stack, end = 0, left = 0, ip = 0;

  /* ctx lies on the interrupt stack; read as above. */
  if (bpf_probe_read_kernel(&end, sizeof(end), &ctx)) return 0;
  end = (end | (PAGE - 1)) + 1;
  for (int i = 0; i < IRQ_STACK_PAGES; i++) {
    if (bpf_probe_read_kernel(&left, sizeof(left), (void*)(end - sizeof(left)))) return 0;
    if (left - stack < STACK_BYTES) break;
    end += PAGE;
  }
  if (left - stack > STACK_BYTES - TICK_WORDS * sizeof(uint64_t)) return 0;
  if (bpf_probe_read_kernel(word, TICK_WORDS * sizeof(uint64_t), (void*)left)) return 0;
  for (int i = 0; i < TICK_WORDS; i++) {
    if (!is_timer_entry(word[i])) continue;
    bpf_probe_read_kernel(
        &ip, sizeof(ip),
        (void*)(left + (i + 1) * sizeof(uint64_t) + bpf_core_field_offset(struct pt_regs, ip)));
    return ip;
  }
  return 0;
}

/* The same from the frame below the interrupt's entry: many times as dear. */
static __always_inline uint64_t ip_by_unwinding(void* ctx, uint64_t* frame) {
  long bytes = bpf_get_stack(ctx, frame, TICK_WORDS * sizeof(uint64_t), 0);

  for (int i = 0; i + 1 < TICK_WORDS; i++) {
    if ((i + 2) * (long)sizeof(uint64_t) > bytes) break;
    if (is_timer_entry(frame[i])) return frame[i + 1];
  }
  return 0;
}

/* Address of the kernel code that the timer interrupted. */
static __always_inline uint64_t interrupted_ip(void* ctx, struct task_struct* task, bool in_task) {
  uint32_t key = bpf_get_smp_processor_id();
  uint64_t* word = bpf_map_lookup_elem(&tick_words, &key);
  uint64_t ip = 0;

  if (!word || !control.timer_entry_begin) return 0;
  if (in_task) ip = ip_on_task_stack(ctx, task, word);
  return (int64_t)ip < 0 ? ip : ip_by_unwinding(ctx, word);
}

static __always_inline int tick(void* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_cpu* c = watched_cpu(TELLTALE_CPU);
  uint32_t half = control.half & 1, sub;
  uint64_t ip, place, hash, before;
  struct telltale_sample* s;

  if (!c) return 0;
  if (!task->pid && !c->irq_depth) return 0; /* idle is no use of the CPU */
  if (unlikely(control.resting)) rouse_if_busy(c);
  if (c->irq_depth) {
    sub = TELLTALE_CPU_IRQ;
    ip = interrupted_ip(ctx, task, false);
  } else {
    struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
    /* The frame at the top of the stack is this interrupt's iff it came from user mode. A negative
     * number there may also be a fault's, or left by sigreturn, in whose midst the tick came. */
    if (!(task->flags & PF_KTHREAD) && (int64_t)regs->orig_ax < 0 &&
        interrupted_user_code(ctx, task)) {
      sub = TELLTALE_CPU_USER;
      ip = regs->ip;
    } else {
      sub = TELLTALE_CPU_KERNEL;
      ip = interrupted_ip(ctx, task, true);
    }
  }
  place = code_place(&c->bases, ip) >> 8;
  hash = mix(label_begin(c, half), place);
  if (likely(
          !count(c, half, TELLTALE_CPU, TELLTALE_SUBS_CPU + sub, hash, control.tick_ns, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_CPU, sub, hash, before, control.tick_ns);
  if (!s) return 0;
  s->label[0] = place;
  s->detail[0] = ip;
  s->detail[1] = sub;
  take_stacks(ctx, s, sub != TELLTALE_CPU_USER,
              sub != TELLTALE_CPU_IRQ && !(task->flags & PF_KTHREAD));
  sample_end(s);
  return 0;
}

/* The tick is one of the timers that this interrupt runs; others come more often. A CPU that ticks
 * has its tick at most once per period. */
static __always_inline bool due(struct telltale_cpu* c) {
  uint64_t jiffies = bpf_jiffies64();

  if (c->tick_jiffies == jiffies) return false;
  c->tick_jiffies = jiffies;
  return true;
}

SEC("tp_btf/local_timer_entry")
int on_timer(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (!c) return 0;
  if (due(c)) tick(ctx);
  c->irq_depth++;
  return 0;
}

/* Where the local timer has no tracepoint of its own: any high-resolution timer, once a tick. */
SEC("tp_btf/hrtimer_expire_entry")
int on_hrtimer(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (c && due(c)) tick(ctx);
  return 0;
}

SEC("tp_btf/local_timer_exit")
int on_timer_exit(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (c && c->irq_depth) c->irq_depth--;
  return 0;
}
