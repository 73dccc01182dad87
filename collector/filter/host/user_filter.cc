#include "collector/filter/host/user_filter.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/hosted_filter.h"
#include "collector/thread_priority.h"
#include "proto/codec.h"

namespace telltale::filter {
namespace {

constexpr size_t kMaxReason = 800;

std::string StemOf(const std::string& file) {
  return proto::SanitizeText(std::filesystem::path(file).stem().string(), 64);
}

}  // namespace

UserFilter::UserFilter(const UserFilterOptions* options, std::string file)
    : options_(*options), file_(std::move(file)), retry_(options->retry_first) {
  info_.set_name(StemOf(file_));
  info_.mutable_status()->set_name(info_.name());
  info_.mutable_status()->set_state("starting");
  info_.mutable_user()->set_file(proto::SanitizeText(file_, 4096));
  info_.mutable_user()->set_memory_limit_bytes(options_.host.memory_bytes);
  report_.status = info_.status();
  thread_ = std::thread([this] { Run(); });
}

UserFilter::~UserFilter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (process_ != nullptr) process_->Kill();
  }
  wake_.notify_all();
  thread_.join();
  options_.release(file_);
}

bool UserFilter::Pause(std::chrono::milliseconds length) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, length, [this] { return stop_; });
}

void UserFilter::Run() {
  collector::LetIngestGoFirst();
  while (true) {
    const absl::Status why = RunOnce();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    Disable(why);
    // The supervisor makes another one of a file that changes.
    const bool again = !absl::IsFailedPrecondition(why);
    if (!Pause(again ? retry_ : std::chrono::hours(24 * 365))) return;
    retry_ = std::min(2 * retry_, options_.retry_most);
  }
}

absl::Status UserFilter::RunOnce() {
  const auto hold = [this](HostProcess* process) {
    const std::lock_guard lock(mutex_);
    process_ = process;
    if (stop_ && process != nullptr) process->Kill();
  };
  const auto filter = HostedFilter::Open(options_.host, file_, hold);
  if (!filter.ok()) return filter.status();
  std::unique_ptr<FilterRunner> runner;
  absl::Status status = Begin(**filter, &runner);
  if (status.ok()) status = Watch(**filter, *runner);
  (*filter)->process().Kill();  // so that its instances are not ended one by one
  runner.reset();
  const std::lock_guard lock(mutex_);
  past_ = Figures();
  past_.memory_bytes = 0;
  past_.dropped += report_.dropped;
  report_.dropped = 0;
  past_no_room_ += std::exchange(report_.no_room, 0);
  process_ = nullptr;
  filter_ = nullptr;
  open_.clear();
  return status;
}

absl::Status UserFilter::Begin(HostedFilter& filter, std::unique_ptr<FilterRunner>* runner) {
  const telltale_filter& declared = filter.declared();
  if (auto status = options_.claim(declared, file_); !status.ok()) return status;
  FilterRunnerOptions options = options_.runner;
  options.filters.clear();
  options.codes = {&filter};
  options.after_look = nullptr;
  options.flood_limits.emplace();
  auto opened = FilterRunner::Open(std::move(options));
  if (!opened.ok()) return opened.status();
  *runner = *std::move(opened);
  const std::lock_guard lock(mutex_);
  filter_ = &filter;
  info_.set_name(declared.name);
  info_.set_version(declared.version);
  info_.set_about(declared.about);
  info_.set_rule(declared.rule);
  info_.clear_vitals();
  for (const char* const* vital = declared.vitals; vital != nullptr && *vital != nullptr; ++vital) {
    info_.add_vitals(*vital);
  }
  info_.mutable_user()->set_retry_s(0);
  report_ = (*runner)->Reports().front();
  return absl::OkStatus();
}

absl::Status UserFilter::Watch(HostedFilter& filter, FilterRunner& runner) {
  const auto began = std::chrono::steady_clock::now();
  options_.changed(filter.declared().name,
                   absl::StrCat("running, version ", filter.declared().version, ", from ", file_));
  while (true) {
    runner.RunOnce();
    FilterReport report = runner.Reports().front();
    std::vector<v1::FilterLearning> learning = runner.Learning();
    auto open = runner.AllOpen();
    const absl::Status failure = filter.failure();
    {
      // Also of the look in which it failed.
      const std::lock_guard lock(mutex_);
      report_ = std::move(report);
      if (!failure.ok()) return failure;
      learning_ = std::move(learning);
      open_ = std::move(open);
    }
    if (std::chrono::steady_clock::now() - began > options_.retry_most) {
      retry_ = options_.retry_first;
    }
    if (!Pause(options_.runner.poll)) return absl::CancelledError("stopped");
  }
}

void UserFilter::Disable(const absl::Status& why) {
  const bool again = !absl::IsFailedPrecondition(why);
  const std::string reason = proto::SanitizeText(std::string(why.message()), kMaxReason);
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    name = info_.name();
    report_.status.set_state("disabled");
    report_.status.set_reason(reason);
    learning_.clear();
    v1::UserFilter& user = *info_.mutable_user();
    user.set_failures(user.failures() + 1);
    const double retry_s = std::chrono::duration<double>(retry_).count();
    user.set_retry_s(again ? static_cast<double>(options_.runner.now_ns()) * 1e-9 + retry_s : 0);
  }
  options_.changed(
      name, absl::StrCat("disabled: ", reason,
                         again ? absl::StrCat("; tried again in ", retry_.count() / 1000, " s")
                               : "; tried again when the file changes"));
}

HostedFigures UserFilter::Figures() const {
  HostedFigures figures = past_;
  if (filter_ == nullptr) return figures;
  const HostedFigures now = filter_->figures();
  figures.cpu_ns += now.cpu_ns;
  figures.memory_bytes = now.memory_bytes;
  figures.dropped += now.dropped;
  return figures;
}

v1::FilterInfo UserFilter::Info() const {
  const std::lock_guard lock(mutex_);
  v1::FilterInfo info = info_;
  const HostedFigures figures = Figures();
  *info.mutable_status() = report_.status;
  info.mutable_status()->set_name(info.name());
  info.set_epochs(report_.shown);
  info.set_epochs_late(report_.skipped);
  info.set_epochs_unreadable(report_.unreadable);
  info.set_no_room(past_no_room_ + report_.no_room);
  info.set_dropped(report_.dropped + figures.dropped);
  info.mutable_muted()->Assign(report_.muted.begin(), report_.muted.end());
  info.mutable_user()->set_cpu_s(static_cast<double>(figures.cpu_ns) * 1e-9);
  info.mutable_user()->set_memory_bytes(figures.memory_bytes);
  return info;
}

std::vector<v1::FilterLearning> UserFilter::Learning() const {
  const std::lock_guard lock(mutex_);
  return learning_;
}

bool UserFilter::IsOpen(const NodeNames& nodes,
                        const std::function<bool(const OpenAnomaly&)>& fits) const {
  const std::lock_guard lock(mutex_);
  const auto holds = [&](const auto& of) { return std::ranges::any_of(of.second, fits); };
  if (nodes.empty()) return std::ranges::any_of(open_, holds);
  return std::ranges::any_of(nodes, [&](std::string_view node) {
    const auto of = open_.find(node);
    return of != open_.end() && holds(*of);
  });
}

}  // namespace telltale::filter
