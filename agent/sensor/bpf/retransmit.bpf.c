// SPDX-License-Identifier: GPL-2.0
//
// Vital retransmit: TCP segments sent again. Mostly from a timer, so mostly [irq]'s.

#include "agent/sensor/bpf/socket.bpf.h"

SEC("tp_btf/tcp_retransmit_skb")
int on_retransmit(uint64_t* ctx) {
  struct sock* sk = (struct sock*)ctx[0];
  struct telltale_cpu* c = watched_cpu(TELLTALE_RETRANSMIT);
  uint32_t half = control.half & 1;
  uint64_t local = sk->__sk_common.skc_num, remote = swap16(sk->__sk_common.skc_dport);
  uint64_t hash, before;
  struct telltale_sample* s;

  if (!c) return 0;
  hash = mix(label_begin(c, half), local << 16 | remote);
  if (likely(!count(c, half, TELLTALE_RETRANSMIT, TELLTALE_SUBS_RETRANSMIT, hash, 1, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_RETRANSMIT, 0, hash, before, 1);
  if (!s) return 0;
  s->label[0] = local;
  s->label[1] = remote;
  fill_addresses(s, sk);
  if (s->address_family) {
    s->detail[0] = LOCAL_ADDRESS;
    s->detail[1] = REMOTE_ADDRESS;
  }
  s->detail[2] = sk->__sk_common.skc_state;
  take_stacks(ctx, s, true, false);
  sample_end(s);
  return 0;
}
