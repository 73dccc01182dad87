// SPDX-License-Identifier: GPL-2.0
//
// Vital socket: bytes that system calls sent and received.

#include "agent/sensor/bpf/socket.bpf.h"

#define MSG_PEEK 2

static __always_inline int bytes(void* ctx, struct sock* sk, int32_t length, uint32_t sub) {
  struct telltale_cpu* c = watched_cpu(TELLTALE_SOCKET);
  uint32_t half = control.half & 1, family = sk->__sk_common.skc_family;
  uint64_t protocol, local = 0, remote = 0, listen = 0, hash, before;
  struct telltale_sample* s;
  struct user_regs u;

  if (!c || length <= 0 || closed(c, TELLTALE_SOCKET)) return 0;
  protocol = 256 + family;
  if (family == AF_INET || family == AF_INET6) {
    protocol = sk->sk_protocol;
    local = sk->__sk_common.skc_num;
    remote = swap16(sk->__sk_common.skc_dport);
    /* A port that the kernel would not have picked for a client is taken for a listener's. */
    if (local < control.ephemeral_ports[0] || local > control.ephemeral_ports[1]) listen = local;
  }
  running_regs(c, &u);
  hash = mix(mix(mix(label_begin(c, half), u.syscall), u.place), protocol << 16 | listen);
  if (likely(!count(c, half, TELLTALE_SOCKET, TELLTALE_SUBS_SOCKET + sub, hash, length, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_SOCKET, sub, hash, before, length);
  if (!s) return 0;
  s->label[0] = u.syscall;
  s->label[1] = u.ip;
  s->label[2] = protocol;
  s->label[3] = listen;
  s->detail[0] = local;
  s->detail[1] = remote;
  fill_addresses(s, sk);
  if (s->address_family) {
    s->detail[2] = LOCAL_ADDRESS;
    s->detail[3] = REMOTE_ADDRESS;
  }
  s->detail[4] = sub;
  take_stacks(ctx, s, true, has_user_side());
  sample_end(s);
  return 0;
}

/* Before 6.3. Sending is seen below sock_sendmsg, which compilers copy into its callers. */
static __always_inline int sent(void* ctx, uint64_t sock, int32_t length) {
  return bytes(ctx, ((struct socket*)sock)->sk, length, TELLTALE_SOCKET_SENT);
}
SEC("fexit/inet_sendmsg")
int on_inet_sendmsg(uint64_t* ctx) { return sent(ctx, ctx[0], ctx[3]); }
SEC("fexit/inet6_sendmsg")
int on_inet6_sendmsg(uint64_t* ctx) { return sent(ctx, ctx[0], ctx[3]); }
SEC("fexit/unix_stream_sendmsg")
int on_stream_sendmsg(uint64_t* ctx) { return sent(ctx, ctx[0], ctx[3]); }
SEC("fexit/unix_dgram_sendmsg")
int on_dgram_sendmsg(uint64_t* ctx) { return sent(ctx, ctx[0], ctx[3]); }
SEC("fexit/inet_sendpage")
int on_inet_sendpage(uint64_t* ctx) { return sent(ctx, ctx[0], ctx[5]); }

SEC("fexit/sock_recvmsg")
int on_recvmsg(uint64_t* ctx) {
  if ((uint32_t)ctx[2] & MSG_PEEK) return 0;
  return bytes(ctx, ((struct socket*)ctx[0])->sk, ctx[3], TELLTALE_SOCKET_RECEIVED);
}

SEC("tp_btf/sock_send_length")
int on_send(uint64_t* ctx) {
  return bytes(ctx, (struct sock*)ctx[0], ctx[1], TELLTALE_SOCKET_SENT);
}

SEC("tp_btf/sock_recv_length")
int on_receive(uint64_t* ctx) {
  if ((uint32_t)ctx[2] & MSG_PEEK) return 0; /* will be received once more */
  return bytes(ctx, (struct sock*)ctx[0], ctx[1], TELLTALE_SOCKET_RECEIVED);
}
