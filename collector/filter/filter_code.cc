#include "collector/filter/filter_code.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/filter/epoch_view.h"

namespace telltale::filter {
namespace {

constexpr size_t kMaxNameBytes = 64;
constexpr size_t kUsualStateBytes = 16 << 10;  // a larger one is asked for twice

class LocalInstance : public FilterInstance {
 public:
  LocalInstance(const telltale_filter& filter, void* instance)
      : filter_(filter), instance_(instance) {}
  ~LocalInstance() override { filter_.destroy(instance_); }

  absl::StatusOr<int> Show(const SourceEpoch& epoch) override {
    return filter_.epoch(instance_, EpochView(epoch, filter_).get());
  }

  absl::StatusOr<std::string> Save() override {
    if (filter_.save == nullptr) return std::string();
    const auto room = std::make_unique_for_overwrite<char[]>(kUsualStateBytes);
    size_t size = filter_.save(instance_, room.get(), kUsualStateBytes);
    if (size <= kUsualStateBytes) return std::string(room.get(), size);
    std::string state;
    if (size <= FilterCode::kMaxStateBytes) {
      state.resize(size);
      size = filter_.save(instance_, state.data(), state.size());
    }
    if (size > state.size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("state has ", size, " bytes, limit ", FilterCode::kMaxStateBytes));
    }
    state.resize(size);
    return state;
  }

  bool Load(std::string_view state) override {
    return filter_.load == nullptr || filter_.load(instance_, state.data(), state.size()) == 0;
  }

  bool MayRest() const override { return filter_.save != nullptr; }

  std::optional<telltale_filter_learning> Learning() const override {
    if (!TELLTALE_FILTER_HAS(&filter_, telltale_filter, learning) || filter_.learning == nullptr) {
      return std::nullopt;
    }
    telltale_filter_learning told = {};
    told.struct_size = sizeof told;
    told.unit = "epochs";
    filter_.learning(instance_, &told);
    return told;
  }

 private:
  const telltale_filter& filter_;
  void* const instance_;
};

}  // namespace

std::vector<telltale_filter_option> OptionsFor(std::string_view filter, const FilterOptions& all) {
  std::vector<telltale_filter_option> options;
  for (const auto& [name, value] : all) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos || filter != std::string_view(name).substr(0, dot)) continue;
    options.push_back({name.c_str() + dot + 1, value});
  }
  const size_t own = options.size();
  for (const auto& [name, value] : all) {
    const auto is_it = [&](const telltale_filter_option& one) { return one.name == name; };
    const auto end = options.begin() + static_cast<ptrdiff_t>(own);
    if (name.find('.') == std::string::npos && std::none_of(options.begin(), end, is_it)) {
      options.push_back({name.c_str(), value});
    }
  }
  return options;
}

bool ValidFilterName(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return plain && !name.empty() && name.size() <= kMaxNameBytes;
}

absl::Status CheckFilter(const telltale_filter* filter) {
  if (filter == nullptr || filter->abi != TELLTALE_FILTER_ABI) {
    return absl::InvalidArgumentError(absl::StrCat("filter: interface version ",
                                                   filter == nullptr ? 0 : filter->abi,
                                                   ", this collector knows ", TELLTALE_FILTER_ABI));
  }
  if (!TELLTALE_FILTER_HAS(filter, telltale_filter, load)) {
    return absl::InvalidArgumentError(absl::StrCat("filter: struct of ", filter->struct_size,
                                                   " bytes, version 1 has ",
                                                   sizeof(telltale_filter)));
  }
  const std::string_view name = filter->name == nullptr ? "" : filter->name;
  if (!ValidFilterName(name)) {
    return absl::InvalidArgumentError("filter: name is not 1..64 bytes of [a-z0-9_-]");
  }
  if (filter->create == nullptr || filter->epoch == nullptr || filter->destroy == nullptr ||
      (filter->save == nullptr) != (filter->load == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter ", std::string(name), ": needs create, epoch, destroy, and save with load"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FilterInstance>> LocalFilter::Create(
    const telltale_filter_host& host, const HourReader&,
    const std::vector<telltale_filter_option>& options) {
  void* const instance =
      filter_->create(&host, options.data(), static_cast<uint32_t>(options.size()));
  if (instance == nullptr) return absl::FailedPreconditionError("cannot begin");
  return std::make_unique<LocalInstance>(*filter_, instance);
}

}  // namespace telltale::filter
