#include "tests/fleetsim/traits.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/fleetsim/noise.h"

namespace telltale::fleetsim {
namespace {

std::string Bytes16(uint64_t seed) {
  std::string bytes;
  for (uint64_t i = 0; i < 16; ++i) bytes += static_cast<char>(Mix(seed, i));
  return bytes;
}

}  // namespace

std::string NodeName(uint32_t number) { return absl::StrFormat("sim-%05d", number); }

NodeTraits TraitsOf(uint64_t fleet_seed, uint32_t number, uint64_t run) {
  const uint64_t seed = Mix(fleet_seed, number);
  NodeTraits traits;
  traits.name = NodeName(number);
  traits.number = number;
  traits.seed = seed;
  traits.incarnation = Bytes16(Mix(seed, run));
  traits.boot_id = Bytes16(Mix(seed, 21));
  traits.agent_start_unix_ns = run;
  traits.cpus = 2u << (Mix(seed, 22) % 4);
  return traits;
}

v1::NodeInfo InfoOf(const NodeTraits& traits, const v1::Schema& schema, uint32_t epoch_s) {
  v1::NodeInfo info;
  info.set_node(traits.name);
  v1::Label& label = *info.add_labels();
  label.set_key("role");
  label.set_value(absl::StrCat("role-", traits.seed % 8));
  info.set_kernel_release("6.1.0-sim");
  info.set_machine("x86_64");
  info.set_distribution("Simulated");
  info.set_agent_version("fleetsim");
  info.set_cpus_possible(traits.cpus);
  info.set_cpus_online(traits.cpus);
  info.set_memory_bytes(uint64_t{16} << 30);
  info.set_boot_id(traits.boot_id);
  info.set_machine_fingerprint(traits.boot_id.substr(0, 8));
  info.set_clock_source("tsc");
  info.set_schema_id(schema.id());
  for (const v1::VitalDescriptor& vital : schema.vitals()) {
    v1::VitalStatus& status = *info.add_vitals();
    status.set_id(vital.id());
    status.set_state(v1::VITAL_STATE_ACTIVE);
  }
  info.set_epoch_length_s(epoch_s);
  info.set_agent_start_unix_ns(traits.agent_start_unix_ns);
  info.set_page_size(4096);
  return info;
}

}  // namespace telltale::fleetsim
