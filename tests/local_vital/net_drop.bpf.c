// SPDX-License-Identifier: GPL-2.0
#include "agent/sensor/bpf/vital.bpf.h"

struct sk_buff {
  unsigned int len;
} __attribute__((preserve_access_index));

SEC("tp_btf/kfree_skb")  // (struct sk_buff* skb, void* location, enum skb_drop_reason reason, ...)
int on_drop(uint64_t* ctx) {
  struct vital_event drop = EVENT(NET_DROP, DROPPED);
  drop.label[0] = ctx[2];
  drop.label[1] = code_block(ctx[1], 4);
  drop.detail[0] = ctx[1];
  drop.detail[1] = ((struct sk_buff*)ctx[0])->len;
  return tell(ctx, &drop);
}
