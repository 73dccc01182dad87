// Checks of the stream's messages other than summaries.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/field_path.h"
#include "proto/validate.h"
#include "sketch/epoch.h"

namespace telltale::proto {
namespace {

constexpr size_t kTextBytes = 256;
constexpr size_t kReasonBytes = 1024;
constexpr size_t kFeatureBytes = 64;
constexpr size_t kMaxFeatures = 64;
constexpr size_t kMaxLabels = 64;
constexpr size_t kFingerprintBytes = 8;
constexpr size_t kMaxNames = 16 * 1024;
constexpr size_t kNameBytes = 512;
constexpr size_t kPathBytes = 1024;
constexpr uint32_t kMaxCpus = 64 * 1024;

absl::Status ExactBytes(const FieldPath& at, const char* field, const std::string& value,
                        size_t bytes) {
  if (value.size() == bytes) return absl::OkStatus();
  return at.Refuse(field, value.size(), absl::StrCat("must be ", bytes, " bytes"));
}

absl::Status CheckLabels(const FieldPath& root, const v1::NodeInfo& info) {
  TELLTALE_RETURN_IF_ERROR(root.AtMost("labels", info.labels_size(), kMaxLabels, "limit"));
  std::set<std::string> keys;
  for (int i = 0; i < info.labels_size(); ++i) {
    const FieldPath at(root, "labels", i);
    const v1::Label& label = info.labels(i);
    if (!ValidNodeName(label.key())) {
      return at.RefuseText("key", label.key(), "must be 1 to 128 of [a-zA-Z0-9._-]");
    }
    if (!keys.insert(label.key()).second) {
      return at.RefuseText("key", label.key(), "stands there twice");
    }
    TELLTALE_RETURN_IF_ERROR(at.Text("value", label.value(), kTextBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckVitals(const FieldPath& root, const v1::NodeInfo& info) {
  uint32_t previous = 0;
  for (int i = 0; i < info.vitals_size(); ++i) {
    const FieldPath at(root, "vitals", i);
    const v1::VitalStatus& vital = info.vitals(i);
    TELLTALE_RETURN_IF_ERROR(at.AtMost("id", vital.id(), kMaxVital, "highest id"));
    if (vital.id() <= previous) {
      return at.Refuse("id", vital.id(), absl::StrCat("must be above the one before, ", previous));
    }
    previous = vital.id();
    if (vital.state() <= 0) return at.RefuseSigned("state", vital.state(), "must be stated");
    TELLTALE_RETURN_IF_ERROR(at.Text("hook", vital.hook(), kTextBytes));
    TELLTALE_RETURN_IF_ERROR(at.Text("reason", vital.reason(), kReasonBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckInfo(const FieldPath& root, const v1::NodeInfo& info) {
  if (!ValidNodeName(info.node())) {
    return root.RefuseText("node", info.node(), "must be 1 to 128 of [a-zA-Z0-9._-]");
  }
  TELLTALE_RETURN_IF_ERROR(CheckLabels(root, info));
  const std::pair<const char*, const std::string&> texts[] = {
      {"kernel_release", info.kernel_release()},
      {"kernel_version", info.kernel_version()},
      {"machine", info.machine()},
      {"distribution", info.distribution()},
      {"agent_version", info.agent_version()},
      {"clock_source", info.clock_source()},
  };
  for (const auto& [field, text] : texts) {
    TELLTALE_RETURN_IF_ERROR(root.Text(field, text, kTextBytes));
  }
  TELLTALE_RETURN_IF_ERROR(root.Text("scope", info.scope(), kPathBytes));
  TELLTALE_RETURN_IF_ERROR(root.AtMost("cpus_possible", info.cpus_possible(), kMaxCpus, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      root.AtMost("cpus_online", info.cpus_online(), info.cpus_possible(), "cpus_possible"));
  TELLTALE_RETURN_IF_ERROR(root.AtMost("memory_bytes", info.memory_bytes(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(ExactBytes(root, "boot_id length", info.boot_id(), kBootIdBytes));
  if (!info.machine_fingerprint().empty()) {
    TELLTALE_RETURN_IF_ERROR(ExactBytes(root, "machine_fingerprint length",
                                        info.machine_fingerprint(), kFingerprintBytes));
  }
  if (!sketch::DividesMinute(info.epoch_length_s())) {
    return root.Refuse("epoch_length_s", info.epoch_length_s(), "must divide a minute");
  }
  TELLTALE_RETURN_IF_ERROR(
      root.AtMost("agent_start_unix_ns", info.agent_start_unix_ns(), kMaxUnixNs, "the year 2100"));
  if ((info.page_size() & (info.page_size() - 1)) != 0) {
    return root.Refuse("page_size", info.page_size(), "must be a power of two");
  }
  return CheckVitals(root, info);
}

}  // namespace

absl::Status CheckNodeInfo(const v1::NodeInfo& info) {
  return CheckInfo(FieldPath("node_info"), info);
}

absl::Status CheckHello(const v1::Hello& hello) {
  const FieldPath root("hello");
  if (hello.protocol() == 0) return root.Refuse("protocol", 0, "must be at least 1");
  TELLTALE_RETURN_IF_ERROR(root.AtMost("features", hello.features_size(), kMaxFeatures, "limit"));
  for (const std::string& feature : hello.features()) {
    TELLTALE_RETURN_IF_ERROR(root.Text("features", feature, kFeatureBytes));
  }
  TELLTALE_RETURN_IF_ERROR(
      ExactBytes(root, "incarnation length", hello.incarnation(), kIncarnationBytes));
  TELLTALE_RETURN_IF_ERROR(root.AtMost("oldest_sequence", hello.oldest_sequence(),
                                       hello.newest_sequence(), "newest_sequence"));
  return CheckInfo(FieldPath(root, "node_info"), hello.node_info());
}

absl::Status CheckNames(const v1::Names& names) {
  const FieldPath root("names");
  if (names.build_id().empty()) return root.Refuse("build_id length", 0, "must be at least 1");
  TELLTALE_RETURN_IF_ERROR(
      root.AtMost("build_id length", names.build_id().size(), kBuildIdBytes, "bytes"));
  if (names.kind() <= 0) return root.RefuseSigned("kind", names.kind(), "must be stated");
  TELLTALE_RETURN_IF_ERROR(root.Text("path", names.path(), kPathBytes));
  TELLTALE_RETURN_IF_ERROR(root.AtMost("name", names.name_size(), kMaxNames, "limit"));
  if (names.offset_size() != names.name_size()) {
    return root.Refuse("offset", names.offset_size(),
                       absl::StrCat("must be as many as name, ", names.name_size()));
  }
  for (int i = 0; i < names.name_size(); ++i) {
    if (i > 0 && names.offset(i) <= names.offset(i - 1)) {
      return root.Refuse("offset", names.offset(i), "must be above the one before");
    }
    TELLTALE_RETURN_IF_ERROR(root.Text("name", names.name(i), kNameBytes));
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
