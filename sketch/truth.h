/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
 *
 * Key of the exact counts that the tests' variant of the kernel programs keeps
 * (agent/sensor/bpf/truth.bpf.h).
 */
#ifndef TELLTALE_SKETCH_TRUTH_H_
#define TELLTALE_SKETCH_TRUTH_H_

#ifndef __bpf__
#include <stdint.h>
#endif

struct telltale_truth_key {
  uint64_t hash;
  uint32_t vital;
  uint32_t half;
};

#endif /* TELLTALE_SKETCH_TRUTH_H_ */
