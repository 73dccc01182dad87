/* SPDX-License-Identifier: GPL-2.0
 *
 * Both ends of a socket, as far as samples keep them.
 */
#ifndef TELLTALE_SENSOR_SOCKET_BPF_H_
#define TELLTALE_SENSOR_SOCKET_BPF_H_

#include "agent/sensor/bpf/sample.bpf.h"

#define AF_INET 2
#define AF_INET6 10
/* What a detail of kind address holds: 1 + index into the sample's addresses. */
#define LOCAL_ADDRESS 1
#define REMOTE_ADDRESS 2

static __always_inline uint16_t swap16(uint16_t x) { return x << 8 | x >> 8; }

static __always_inline void fill_addresses(struct telltale_sample* s, struct sock* sk) {
  uint32_t family = BPF_CORE_READ(sk, __sk_common.skc_family);

  if (family == AF_INET) {
    uint32_t address = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
    __builtin_memcpy(s->address[0], &address, sizeof(address));
    address = BPF_CORE_READ(sk, __sk_common.skc_daddr);
    __builtin_memcpy(s->address[1], &address, sizeof(address));
    s->address_family = 4;
  } else if (family == AF_INET6) {
    bpf_probe_read_kernel(s->address[0], 16, &sk->__sk_common.skc_v6_rcv_saddr);
    bpf_probe_read_kernel(s->address[1], 16, &sk->__sk_common.skc_v6_daddr);
    s->address_family = 6;
  }
}

#endif /* TELLTALE_SENSOR_SOCKET_BPF_H_ */
