#include "collector/ingest/shared_settings.h"

#include <algorithm>

namespace telltale::ingest {

IngestSettings SharedSettings::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  IngestSettings settings = settings_;
  settings.spread_s = std::min(settings.spread_s, spread_.seconds());
  return settings;
}

v1::Settings SharedSettings::ForAgents() const {
  const IngestSettings settings = Get();
  v1::Settings sent;
  sent.set_spread_s(settings.spread_s);
  sent.set_max_in_flight(settings.max_in_flight);
  sent.set_max_in_flight_bytes(settings.max_in_flight_bytes);
  sent.set_max_summary_bytes(settings.max_summary_bytes);
  sent.set_backlog_per_s(settings.backlog_per_s);
  return sent;
}

void SharedSettings::Set(const IngestSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  settings_ = settings;
}

bool SharedSettings::SetNodes(size_t nodes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t before = std::min(settings_.spread_s, spread_.seconds());
  spread_.SetNodes(nodes);
  return std::min(settings_.spread_s, spread_.seconds()) != before;
}

}  // namespace telltale::ingest
