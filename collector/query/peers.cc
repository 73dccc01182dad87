#include "collector/query/peers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/formats/quantity.h"
#include "storage/node_role.h"

namespace telltale::query {
namespace {

// From when on one is told apart from its peers, and until when it is like them.
constexpr double kApart = 2, kAlike = 2;
constexpr double kShortestS = 60;
constexpr uint32_t kPoints = 10;  // of each line

// An agent of a cgroup is no peer of one of a whole host.
struct Kind {
  std::string role, kernel;
  bool scoped = false;
  uint32_t cpus = 1;
  bool operator==(const Kind& other) const {
    if (scoped != other.scoped) return false;
    if (!role.empty() || !other.role.empty()) return role == other.role;
    return kernel == other.kernel && cpus == other.cpus;
  }
  std::string Text() const {
    return role.empty() ? absl::StrCat("kernel ", kernel, ", ", formats::Plural(cpus, "CPU"))
                        : absl::StrCat("role ", role);
  }
};

Kind KindOf(const storage::NodeRecord& node) {
  Kind kind;
  kind.kernel = node.info().kernel_release();
  kind.scoped = !node.info().scope().empty();
  kind.cpus = std::max(1U, node.info().cpus_online());
  kind.role = storage::RoleOf(node);
  return kind;
}

struct Peers {
  Kind kind;                             // of the node itself
  std::map<std::string, uint32_t> cpus;  // of those that are read, and its own, by name
  size_t all = 0;
};

Peers PeersOf(const std::string& name, const storage::NodeList& nodes) {
  Peers peers;
  const auto own = std::find_if(nodes.begin(), nodes.end(), [&](const storage::NodeRecord& node) {
    return node.name() == name;
  });
  if (own == nodes.end()) return peers;
  peers.kind = KindOf(*own);
  std::vector<const storage::NodeRecord*> alike;
  for (const storage::NodeRecord& node : nodes) {
    if (node.name() != name && KindOf(node) == peers.kind) alike.push_back(&node);
  }
  peers.all = alike.size();
  peers.cpus[name] = peers.kind.cpus;
  const size_t read = std::min<size_t>(alike.size(), kMostPeersRead);
  for (size_t i = 0; i < read; ++i) {
    const storage::NodeRecord& node = *alike[i * alike.size() / read];
    peers.cpus[node.name()] = KindOf(node).cpus;
  }
  return peers;
}

// Over the time watched; nullopt: none was.
std::optional<double> MeanRate(const v1::Series& line) {
  double weight = 0, watched_s = 0;
  for (int i = 0; i < line.rate_size(); ++i) {
    const double seconds = line.watched(i) * line.length_s(i);
    weight += line.rate(i) * seconds;
    watched_s += seconds;
  }
  if (watched_s <= 0) return std::nullopt;
  return weight / watched_s;
}

std::string VerdictOf(double own, double median, double most) {
  if (own > kApart * most) return "only here: ";
  return own <= kAlike * median && own * kAlike >= median ? "its peers are alike: " : "";
}

}  // namespace

absl::StatusOr<std::string> PeersText(const Engine& engine, const v1::IncidentSymptom& symptom,
                                      const Cancelled& cancelled) {
  if (symptom.vital().empty()) return "";
  v1::Selection all;
  all.set_start_s(symptom.first_s());
  all.set_end_s(std::clamp(symptom.last_s(), symptom.first_s() + kShortestS,
                           symptom.first_s() + kLongestPeerSpanS));
  absl::StatusOr<Selection> nodes = engine.Select(all);
  if (!nodes.ok()) return nodes.status();
  const Peers peers = PeersOf(symptom.node(), nodes->nodes);
  if (peers.all == 0) return "";

  v1::SeriesRequest request;
  *request.mutable_selection() = all;
  for (const auto& [name, cpus] : peers.cpus) request.mutable_selection()->add_nodes(name);
  const std::string vital =
      symptom.sub().empty() ? symptom.vital() : absl::StrCat(symptom.vital(), "/", symptom.sub());
  request.add_vitals(vital);
  request.set_per_node(true);
  request.set_max_points(kPoints);
  request.set_process(symptom.program());
  absl::StatusOr<v1::SeriesAnswer> lines = engine.Series(request, cancelled);
  if (absl::IsNotFound(lines.status())) return "";  // a program without a row anywhere
  if (!lines.ok()) return lines.status();

  std::optional<double> own;
  std::vector<double> others;
  std::string unit;
  for (const v1::Series& line : lines->series()) {
    const auto cpus = peers.cpus.find(line.node());
    std::optional<double> rate = MeanRate(line);
    if (cpus == peers.cpus.end() || !rate.has_value()) continue;
    unit = line.unit();
    // As if it had as many CPUs as the node.
    *rate *= static_cast<double>(peers.kind.cpus) / cpus->second;
    if (line.node() == symptom.node()) {
      own = rate;
    } else {
      others.push_back(*rate);
    }
  }
  if (!own.has_value() || others.empty()) return "";
  std::sort(others.begin(), others.end());
  const double median = others[others.size() / 2], most = others.back();
  const bool scaled = std::ranges::any_of(
      peers.cpus, [&](const auto& node) { return node.second != peers.kind.cpus; });
  const auto text = [&](double rate) { return formats::Rate(rate, unit, vital); };
  return absl::StrCat(
      VerdictOf(*own, median, most), vital,
      symptom.program().empty() ? "" : absl::StrCat(" of ", symptom.program()), " is ", text(*own),
      ", of its ", formats::Plural(static_cast<double>(others.size()), "peer"), " (",
      peers.kind.Text(), peers.all > kMostPeersRead ? absl::StrCat("; ", peers.all, " in all") : "",
      ") the median ", text(median), ", the most ", text(most),
      scaled ? absl::StrCat(", reckoned for ", formats::Plural(peers.kind.cpus, "CPU")) : "");
}

}  // namespace telltale::query
