#include "collector/filter/fleet/fleet_outputs.h"

#include <algorithm>

#include "proto/codec.h"
#include "storage/keys.h"
#include "storage/placement.h"

namespace telltale::filter {

absl::Status FleetOutputs::Put(const std::string& filter, uint32_t version, uint32_t node,
                               const std::string& node_name, v1::FilterAnomaly anomaly,
                               uint64_t now_ns) {
  const auto number = store_->FilterNumber(filter, version);
  if (!number.ok()) return number.status();
  const storage::DerivedKey key{*number, node,
                                storage::FloorTo(anomaly.start_ns(), storage::kHourNs)};
  v1::FilterHour hour;
  const auto bytes = store_->Get(key);
  if (absl::IsUnavailable(bytes.status())) return bytes.status();
  if (bytes.ok() && !hour.ParseFromString(*bytes))
    hour.Clear();  // damaged, as a block of it may be: what is new counts
  auto& list = *hour.mutable_anomalies();
  const auto known = std::ranges::find_if(list, [&](const v1::FilterAnomaly& one) {
    return one.start_ns() == anomaly.start_ns() && one.vital() == anomaly.vital() &&
           one.sub() == anomaly.sub();
  });
  if (known != list.end()) {
    anomaly.set_found_ns(known->found_ns());
    *known = std::move(anomaly);
  } else if (!anomaly.open()) {
    // The end of one whose row has expired is no news.
    return absl::OkStatus();
  } else {
    anomaly.set_found_ns(now_ns);
    const auto added = log_->Append(filter, version, node_name, anomaly);
    if (!added.ok()) return added.status();
    *list.Add() = std::move(anomaly);
  }
  row_version_ = std::max(row_version_ + 1, now_ns);
  return store_->Put(key, proto::Canonical(hour), row_version_);
}

absl::Status FleetOutputs::Carry(const std::string& filter, uint32_t version, uint32_t node,
                                 uint64_t start_ns, uint64_t now_ns) {
  const uint64_t began = storage::FloorTo(start_ns, storage::kHourNs);
  const auto number = store_->FilterNumber(filter, version);
  if (!number.ok()) return number.status();
  const storage::DerivedKey key{*number, node, storage::FloorTo(now_ns, storage::kHourNs)};
  if (began >= key.hour_start_ns) return absl::OkStatus();
  v1::FilterHour hour;
  const auto bytes = store_->Get(key);
  if (absl::IsUnavailable(bytes.status())) return bytes.status();
  if (bytes.ok() && !hour.ParseFromString(*bytes)) hour.Clear();
  if (std::ranges::count(hour.open_hours(), began) > 0) return absl::OkStatus();
  hour.add_open_hours(began);
  row_version_ = std::max(row_version_ + 1, now_ns);
  return store_->Put(key, proto::Canonical(hour), row_version_);
}

}  // namespace telltale::filter
