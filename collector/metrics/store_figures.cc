#include "collector/metrics/store_figures.h"

#include <map>
#include <set>

#include "proto/codec.h"

namespace telltale::metrics {
namespace {

constexpr char kGroupLabel[] = "group";
constexpr size_t kMaxNameBytes = 64;

NodeFigures FiguresOf(const storage::NodeRecord& record, const storage::Reader& reader) {
  NodeFigures figures;
  figures.number = record.number();
  figures.name = record.name();
  for (const v1::Label& label : record.info().labels()) {
    if (label.key() == kGroupLabel) figures.group = label.value();
  }
  figures.state = record.state();
  figures.epoch_length_s = record.info().epoch_length_s();
  figures.last_epoch_ns = record.last_epoch_ns();
  for (const auto& [incarnation, ledger] : reader.Ledgers(record.number())) {
    figures.epochs_missing += ledger.lost_count() + ledger.missing_count();
  }
  const storage::NodeCounters counters = reader.Counters(record.number());
  figures.epochs_missing += counters.forgotten_lost;
  figures.epochs = counters.epochs;
  figures.epochs_too_late = counters.too_late;
  figures.epochs_apart = counters.apart;
  figures.epochs_adopted = counters.adopted;
  figures.agent_cpu_ns = counters.agent_cpu_ns;
  figures.part_cpu_ns = counters.part_cpu_ns;
  figures.part_level = counters.part_level;
  figures.cost_ppm = counters.cost_ppm;
  figures.limit_ppm = counters.LimitPpm();
  figures.subs.reserve(counters.subs.size());
  for (const auto& [sub, total] : counters.subs) {
    figures.subs.push_back({sub.first, sub.second, total.weight});
  }
  figures.losses.assign(counters.losses.begin(), counters.losses.end());
  figures.user_stacks.assign(counters.user_stacks.begin(), counters.user_stacks.end());
  figures.user_frames.assign(counters.user_frames.begin(), counters.user_frames.end());
  for (const v1::VitalStatus& vital : record.info().vitals()) {
    figures.vital_states.emplace_back(vital.id(), vital.state());
  }
  return figures;
}

std::vector<VitalNames> LocalVitals(const storage::Reader& reader) {
  std::set<uint64_t> schemas;
  std::map<uint8_t, VitalNames> found;
  for (const storage::NodeRecord& record : reader.Nodes()) {
    if (!schemas.insert(record.info().schema_id()).second) continue;
    const auto schema = reader.Schema(record.info().schema_id());
    if (!schema.ok()) continue;  // a node that has not sent any yet
    for (const v1::VitalDescriptor& vital : (*schema)->vitals()) {
      const auto id = static_cast<uint8_t>(vital.id());
      if (sketch::FindVital(id) != nullptr || found.contains(id)) continue;
      VitalNames& names = found[id];
      names.id = id;
      names.name = proto::SanitizeText(vital.name(), kMaxNameBytes);
      names.unit = static_cast<sketch::Unit>(vital.unit());
      names.about = proto::SanitizeText(vital.about(), 4 * kMaxNameBytes);
      for (const v1::SubDescriptor& sub : vital.subs()) {
        names.subs.emplace_back(proto::SanitizeText(sub.name(), kMaxNameBytes), sub.idle());
      }
    }
  }
  std::vector<VitalNames> list;
  for (auto& [id, names] : found) list.push_back(std::move(names));
  return list;
}

StoreFigures Sizes(const storage::Reader& reader) {
  StoreFigures figures;
  if (const auto sizes = reader.Sizes(); sizes.ok()) {
    for (const storage::StoreSizeRow& row : *sizes)
      figures.bytes.emplace_back(row.family, row.bytes);
  }
  if (const auto dirty = reader.DirtyWindows(); dirty.ok()) figures.dirty_windows = *dirty;
  for (const storage::Family family :
       {storage::Family::kRaw, storage::Family::kSeries, storage::Family::kLine,
        storage::Family::kRollup, storage::Family::kDerived, storage::Family::kDict}) {
    figures.unreadable.emplace_back(storage::FamilyName(family), reader.Unreadable(family));
  }
  figures.unreadable.emplace_back("catalog", reader.UnreadableInCatalog());
  figures.names_contradicted = reader.NamesContradicted();
  return figures;
}

}  // namespace

void UseStore(const storage::Reader* reader, MetricSources& sources) {
  sources.for_each_node = [reader](const std::function<void(const NodeFigures&)>& visit) {
    for (const storage::NodeRecord& record : reader->Nodes()) visit(FiguresOf(record, *reader));
  };
  sources.local_vitals = [reader] { return LocalVitals(*reader); };
  sources.store = [reader] { return Sizes(*reader); };
}

}  // namespace telltale::metrics
