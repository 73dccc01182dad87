#include "collector/filter/host/user_filters.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::filter {

std::string FilterHostProgram() {
  constexpr char kName[] = "telltale-filter-host";
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (std::filesystem::exists(own / kName, error)) return own / kName;
  return own.parent_path() / "libexec/telltale" / kName;
}

UserFilters::UserFilters(UserFiltersOptions options) : options_(std::move(options)) {
  each_.host = options_.host;
  if (each_.host.program.empty()) each_.host.program = FilterHostProgram();
  each_.runner = options_.runner;
  each_.retry_first = options_.retry_first;
  each_.retry_most = options_.retry_most;
  each_.claim = [this](const telltale_filter& filter, const std::string& file) {
    return Claim(filter, file);
  };
  each_.release = [this](const std::string& file) {
    const std::lock_guard lock(mutex_);
    std::erase_if(names_, [&](const auto& entry) { return entry.second == file; });
  };
  each_.changed = [this](const std::string& filter, const std::string& what) {
    Changed(filter, what);
  };
}

UserFilters::~UserFilters() { Stop(); }

void UserFilters::Start() {
  if (options_.directory.empty()) return;
  thread_ = std::thread([this] {
    while (true) {
      Look();
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, options_.look, [this] { return stop_; })) return;
    }
  });
}

void UserFilters::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  decltype(filters_) ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(filters_);
  }
}

void UserFilters::Changed(const std::string& filter, const std::string& what) {
  if (options_.changed) options_.changed(filter, what);
}

absl::Status UserFilters::Claim(const telltale_filter& filter, const std::string& file) {
  const std::string name = filter.name;
  if (options_.taken.contains(name)) {
    return absl::FailedPreconditionError(
        absl::StrCat("its name, ", name, ", is a built-in filter's; call it otherwise"));
  }
  const std::lock_guard lock(mutex_);
  const auto [entry, added] = names_.emplace(name, file);
  if (!added && entry->second != file) {
    // Not for good: the other may go.
    return absl::AlreadyExistsError(
        absl::StrCat("its name, ", name, ", is that of ", entry->second, " already"));
  }
  identities_.emplace(name, filter.version);
  return absl::OkStatus();
}

void UserFilters::Look() {
  auto listing = ListFilters(options_.directory);
  std::string trouble;
  if (!listing.ok()) {
    trouble = std::string(listing.status().message());
  } else if (listing->left_out > 0) {
    trouble = absl::StrCat(options_.directory, " has ", listing->left_out, " filters beyond the ",
                           kMaxFilterFiles, " that are run");
  }
  if (trouble != trouble_ && !trouble.empty()) Changed("filters.d", trouble);
  trouble_ = trouble;
  if (!listing.ok()) return;  // what runs goes on

  // Ended without the lock: that waits for their threads, which take it.
  std::vector<std::unique_ptr<UserFilter>> ended;
  std::vector<std::pair<std::string, std::string>> said;
  std::vector<std::pair<std::string, FilterStamp>> begun;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = filters_.begin(); entry != filters_.end();) {
      const auto now = listing->files.find(entry->first);
      if (now != listing->files.end() && now->second == entry->second.first) {
        ++entry;
        continue;
      }
      const std::string name = entry->second.second->Info().name();
      said.emplace_back(name, now == listing->files.end() ? "removed: its file is gone"
                                                          : "its file changed; loaded again");
      ended.push_back(std::move(entry->second.second));
      entry = filters_.erase(entry);
    }
    for (const auto& [file, stamp] : listing->files) {
      const auto before = seen_.files.find(file);
      if (filters_.contains(file) || before == seen_.files.end() || before->second != stamp)
        continue;
      begun.emplace_back(file, stamp);
    }
  }
  ended.clear();
  for (const auto& [name, what] : said) Changed(name, what);
  for (auto& [file, stamp] : begun) {
    auto filter = std::make_unique<UserFilter>(&each_, file);
    const std::lock_guard lock(mutex_);
    filters_[file] = {stamp, std::move(filter)};
  }
  seen_ = *std::move(listing);
}

std::vector<v1::FilterInfo> UserFilters::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::FilterInfo> list;
  for (const auto& [file, entry] : filters_) list.push_back(entry.second->Info());
  return list;
}

std::vector<v1::FilterLearning> UserFilters::Learning() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::FilterLearning> all;
  for (const auto& [file, entry] : filters_) {
    const auto learning = entry.second->Learning();
    all.insert(all.end(), learning.begin(), learning.end());
  }
  return all;
}

bool UserFilters::IsOpen(const std::string& filter, const NodeNames& nodes,
                         const std::function<bool(const OpenAnomaly&)>& fits) const {
  const std::lock_guard lock(mutex_);
  const auto file = names_.find(filter);
  const auto running = file == names_.end() ? filters_.end() : filters_.find(file->second);
  return running != filters_.end() && running->second.second->IsOpen(nodes, fits);
}

std::vector<FilterIdentity> UserFilters::Identities() const {
  const std::lock_guard lock(mutex_);
  std::vector<FilterIdentity> list;
  for (const auto& [name, version] : identities_) {
    const bool runs = std::ranges::any_of(filters_, [&](const auto& one) {
      const v1::FilterInfo info = one.second.second->Info();
      return info.name() == name && info.version() == version;
    });
    list.push_back({name, version, runs});
  }
  return list;
}

absl::StatusOr<std::unique_ptr<HostedFilter>> UserFilters::Open(const std::string& name) const {
  std::string file;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, entry] : filters_) {
      if (entry.second->Info().name() == name) file = path;
    }
  }
  if (file.empty()) return absl::NotFoundError(absl::StrCat("no user filter is called ", name));
  auto filter = HostedFilter::Open(each_.host, file);
  if (!filter.ok()) return filter.status();
  if ((*filter)->declared().name != name) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " is by now the filter ", (*filter)->declared().name));
  }
  return filter;
}

}  // namespace telltale::filter
