// SPDX-License-Identifier: GPL-2.0
//
// Vital signal: signals made (by the sender) and handled (by the target).

#include "agent/sensor/bpf/sample.bpf.h"

#define SIGNALS 64

/* What the target will do with the signal: 0 the default, 1 nothing, else the address of its
 * handler. 0 too if it cannot be read. */
static __noinline uint64_t handler_of(struct task_struct* target, uint32_t number) {
  struct sighand_struct* sighand = BPF_CORE_READ(target, sighand);
  uint64_t handler = 0;

  if (!sighand || !number || number > SIGNALS) return 0;
  bpf_probe_read_kernel(&handler, sizeof(handler),
                        (char*)&sighand->action +
                            (number - 1) * bpf_core_type_size(struct k_sigaction) +
                            bpf_core_field_offset(struct k_sigaction, sa.sa_handler));
  return handler;
}

static __always_inline int weigh_signal(void* ctx, uint32_t sub, uint32_t number,
                                        struct task_struct* target, uint64_t handler) {
  struct telltale_cpu* c = watched_cpu(TELLTALE_SIGNAL);
  uint32_t half = control.half & 1;
  struct telltale_sample* s;
  uint64_t hash, before;
  struct user_regs u;

  if (!c || closed(c, TELLTALE_SIGNAL)) return 0;
  no_regs(&u);
  if (!c->irq_depth) running_regs(c, &u);
  hash = mix(mix(label_begin(c, half), number), u.place);
  if (likely(!count(c, half, TELLTALE_SIGNAL, TELLTALE_SUBS_SIGNAL + sub, hash, 1, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_SIGNAL, sub, hash, before, 1);
  if (!s) return 0;
  s->label[0] = number;
  s->label[1] = u.ip;
  s->detail[0] = target->tgid;
  s->detail[1] =
      sub == TELLTALE_SIGNAL_GENERATED && !c->irq_depth ? bpf_get_current_pid_tgid() >> 32 : 0;
  s->detail[2] = sub == TELLTALE_SIGNAL_GENERATED ? handler_of(target, number) : handler;
  take_stacks(ctx, s, true, !c->irq_depth && has_user_side());
  sample_end(s);
  return 0;
}

SEC("tp_btf/signal_generate")
int on_generate(uint64_t* ctx) {
  struct task_struct* target = (struct task_struct*)ctx[2];
  return weigh_signal(ctx, TELLTALE_SIGNAL_GENERATED, ctx[0], target, 0);
}

SEC("tp_btf/signal_deliver")
int on_deliver(uint64_t* ctx) {
  struct k_sigaction* action = (struct k_sigaction*)ctx[2];
  struct task_struct* task = bpf_get_current_task_btf();
  return weigh_signal(ctx, TELLTALE_SIGNAL_DELIVERED, ctx[0], task,
                      (uint64_t)action->sa.sa_handler);
}
