#include "collector/filter/detect/rates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::filter {
namespace {

struct Scale {
  double from;
  const char* name;
};
constexpr Scale kSeconds[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
constexpr Scale kBytes[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}};

// Sub-series that tell again of what others of their vital told when it began.
constexpr std::pair<std::string_view, std::string_view> kToldAgain[] = {{"disk_io", "read_done"},
                                                                        {"disk_io", "write_done"},
                                                                        {"disk_io", "flush_done"},
                                                                        {"kernel_page", "free"},
                                                                        {"signal", "delivered"}};

bool TellsAgain(const telltale_filter_vital& vital, const telltale_filter_sub& sub) {
  return std::ranges::count(
             kToldAgain, std::pair<std::string_view, std::string_view>(vital.name, sub.name)) > 0;
}

std::string Figure(double value) {
  return std::abs(value) >= 100 ? absl::StrFormat("%.0f", value) : absl::StrFormat("%.3g", value);
}

template <size_t N>
std::string Scaled(double value, const Scale (&scales)[N]) {
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.from || &scale == &scales[N - 1]) {
      return absl::StrCat(Figure(value / scale.from), " ", scale.name);
    }
  }
  return "";
}

}  // namespace

bool IsUsual(const telltale_filter_epoch& epoch) {
  return epoch.kind == TELLTALE_EPOCH_FULL && epoch.watched_ns > 0 &&
         epoch.watched_ns >= (epoch.end_ns - epoch.start_ns) / 2;
}

std::vector<Rate> RatesOf(const telltale_filter_epoch& epoch) {
  std::vector<Rate> rates;
  for (uint32_t v = 0; v < epoch.vital_count; ++v) {
    const auto& vital = *TELLTALE_FILTER_AT(telltale_filter_vital, epoch.vitals, v);
    if (vital.watched_ns == 0 || vital.watched_ns < (epoch.end_ns - epoch.start_ns) / 2) continue;
    const double unit = std::string_view(vital.unit) == "ns" ? 1e9 : 1;
    for (uint32_t s = 0; s < vital.sub_count; ++s) {
      const auto& sub = *TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, s);
      if (sub.idle != 0 || vital.id > 255 || sub.index > 255) continue;
      const double per_second =
          static_cast<double>(sub.weight) / unit / (static_cast<double>(vital.watched_ns) / 1e9);
      rates.push_back({&vital, &sub, static_cast<uint16_t>(vital.id << 8 | sub.index), per_second});
    }
  }
  return rates;
}

std::vector<double> WholesOf(const telltale_filter_vital& vital) {
  double told = 0, told_again = 0;
  for (uint32_t s = 0; s < vital.sub_count; ++s) {
    const auto& sub = *TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, s);
    if (sub.idle != 0) continue;
    (TellsAgain(vital, sub) ? told_again : told) += static_cast<double>(sub.weight);
  }
  std::vector<double> wholes;
  for (uint32_t s = 0; s < vital.sub_count; ++s) {
    const auto& sub = *TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, s);
    wholes.push_back(sub.idle != 0 ? 0 : TellsAgain(vital, sub) ? told_again : told);
  }
  return wholes;
}

double ShareOf(const telltale_filter_label& label, const std::vector<double>& wholes) {
  const double whole = label.sub < wholes.size() ? wholes[label.sub] : 0;
  return whole > 0 ? static_cast<double>(label.low) / whole : 0;
}

double FloorOf(std::string_view unit) {
  if (unit == "ns") return 0.01;
  if (unit == "bytes") return 256e3;
  if (unit == "pages" || unit == "calls") return 256;
  if (unit == "misses") return 1e5;
  return 4;
}

std::string RateText(double rate, std::string_view unit) {
  if (unit == "ns") return Scaled(rate, kSeconds) + "/s";
  if (unit == "bytes") return Scaled(rate, kBytes) + "/s";
  return absl::StrCat(Figure(rate), " ", std::string(unit), "/s");
}

std::string BytesText(double bytes) { return Scaled(bytes, kBytes); }

std::string PercentText(double share) { return absl::StrFormat("%.3g %%", 100 * share); }

std::string PText(double p) { return absl::StrFormat("%.1e", p); }

std::optional<uint32_t> ColumnOf(const telltale_filter_epoch& epoch, uint32_t column) {
  for (uint32_t i = 0; i < epoch.process_columns; ++i) {
    if (epoch.process_column[i] == column) return i;
  }
  return std::nullopt;
}

std::string BaseOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string ProgramOf(const telltale_filter_process& process) {
  return process.exe[0] != '\0' ? process.exe : absl::StrCat("[", process.comm, "]");
}

std::string UserText(const char* user, uint32_t uid) {
  return user == nullptr || user[0] == '\0' ? absl::StrCat("uid ", uid)
                                            : absl::StrCat("user ", user);
}

std::string ProcessText(const telltale_filter_process& process) {
  const std::string name =
      process.exe[0] != '\0' ? BaseOf(process.exe) : absl::StrCat("[", process.comm, "]");
  const std::string user = UserText(process.user, process.uid);
  if (process.pid == 0) return absl::StrCat(name, " x ", process.instances, " (", user, ")");
  return absl::StrCat(name, " (pid ", process.pid, ", ", user, ")");
}

}  // namespace telltale::filter
