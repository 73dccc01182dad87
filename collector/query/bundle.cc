#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "collector/query/engine.h"

namespace telltale::query {
namespace {

constexpr size_t kPartBytes = 64 * 1024;
constexpr size_t kMaxFileBytes = 16 << 20;

void AddFile(const std::string& name, std::string data, std::vector<v1::BundlePart>& parts) {
  if (data.size() > kMaxFileBytes) {
    const size_t dropped = data.size() - kMaxFileBytes;
    data.resize(kMaxFileBytes);
    absl::StrAppend(&data, "\n... ", dropped, " bytes more, left out of the bundle\n");
  }
  for (size_t at = 0; at == 0 || at < data.size(); at += kPartBytes) {
    v1::BundlePart& part = parts.emplace_back();
    part.set_name(name);
    part.set_data(data.substr(at, kPartBytes));
  }
}

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    return "this answer could not be written as JSON\n";
  }
  return json;
}

std::string LedgerText(const storage::NodeRecord& node, const Source& source) {
  std::string text = absl::StrCat("node ", node.name(), " (number ", node.number(), ")\n");
  for (const auto& [incarnation, ledger] : source.Ledgers(node.number())) {
    const std::string id(reinterpret_cast<const char*>(incarnation.data()), incarnation.size());
    absl::StrAppend(&text, "  incarnation ", absl::BytesToHexString(id), ": received ",
                    ledger.received_count(), ", declared lost ", ledger.lost_count(), ", missing ",
                    ledger.missing_count(), "\n");
    for (const auto& [first, last] : ledger.received()) {
      absl::StrAppend(&text, "    received ", first, " to ", last, "\n");
    }
    for (const storage::LostRange& lost : ledger.lost()) {
      absl::StrAppend(&text, "    lost ", lost.first, " to ", lost.last, ": ",
                      v1::Lost::Reason_Name(lost.reason), " ", lost.detail, "\n");
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<v1::BundlePart>> Engine::Bundle(const Cancelled& cancelled) const {
  std::vector<v1::BundlePart> parts;
  absl::StatusOr<v1::StatusAnswer> status = Status({}, cancelled);
  AddFile("status.json", status.ok() ? Json(*status) : status.status().ToString(), parts);
  absl::StatusOr<v1::NodesAnswer> nodes = Nodes({}, cancelled);
  AddFile("nodes.json", nodes.ok() ? Json(*nodes) : nodes.status().ToString(), parts);
  absl::StatusOr<v1::VitalsAnswer> vitals = Vitals({}, cancelled);
  AddFile("vitals.json", vitals.ok() ? Json(*vitals) : vitals.status().ToString(), parts);
  v1::CoverageRequest last_hour;
  absl::StatusOr<v1::CoverageAnswer> coverage = Coverage(last_hour, cancelled);
  AddFile("coverage-last-hour.json", coverage.ok() ? Json(*coverage) : coverage.status().ToString(),
          parts);
  std::string ledger;
  for (const storage::NodeRecord& node : options_.source->Nodes()) {
    if (cancelled && cancelled()) return absl::CancelledError("bundle: the asker went away");
    ledger += LedgerText(node, *options_.source);
    if (ledger.size() > kMaxFileBytes) break;
  }
  AddFile("ledger.txt", ledger, parts);
  if (options_.config_text) AddFile("collector.yaml", options_.config_text(), parts);
  return parts;
}

}  // namespace telltale::query
