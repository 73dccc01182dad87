#include "collector/filter/host/hosted_filter.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/filter_file.h"
#include "collector/filter/host/host_limits.h"
#include "collector/filter/node_feed.h"

namespace telltale::filter {

class HostedInstance : public FilterInstance {
 public:
  HostedInstance(HostedFilter* filter, const telltale_filter_host& host, const HourReader& hours,
                 uint32_t number)
      : filter_(filter), host_(host), hours_(hours), number_(number) {}

  ~HostedInstance() override {
    if (!filter_->failure_.ok()) return;
    v1::HostRequest request;
    request.set_destroy(number_);
    // Of a failure the next call learns.
    static_cast<void>(filter_->Call(request, {}, nullptr));
  }

  absl::StatusOr<int> Show(const SourceEpoch& epoch) override {
    v1::HostRequest request;
    v1::HostEpoch& shown = *request.mutable_epoch();
    shown.set_instance(number_);
    shown.set_start_ns(epoch.span.start_ns);
    shown.set_end_ns(epoch.span.end_ns);
    shown.set_watched_ns(epoch.span.watched_ns);
    shown.set_sequence(epoch.sequence);
    epoch.body->SerializeToString(shown.mutable_body());
    epoch.schema->SerializeToString(shown.mutable_schema());
    const uint64_t start_ns = epoch.span.start_ns;
    const bool ran = filter_->failure_.ok();
    auto done = filter_->Call(
        request,
        {.from_ns = start_ns - std::min(start_ns, kMostEarlierNs), .to_ns = epoch.span.end_ns},
        &hours_);
    if (!done.ok()) {
      if (!ran) return done.status();
      return filter_->Fail(absl::Status(
          done.status().code(), absl::StrCat(done.status().message(), " (node ", host_.node, ")")));
    }
    Emit(*done);
    if (done->has_learning()) learning_ = std::move(*done->mutable_learning());
    return done->code();
  }

  absl::StatusOr<std::string> Save() override {
    if (!filter_->declared_->saves()) return std::string();
    v1::HostRequest request;
    request.set_save(number_);
    auto done = filter_->Call(request, {}, nullptr);
    if (!done.ok()) return done.status();
    return std::move(*done->mutable_state());
  }

  bool Load(std::string_view state) override {
    if (!filter_->declared_->saves()) return true;
    v1::HostRequest request;
    request.mutable_load()->set_instance(number_);
    request.mutable_load()->set_state(std::string(state));
    const auto done = filter_->Call(request, {}, nullptr);
    return done.ok() && done->code() == 0;
  }

  std::optional<telltale_filter_learning> Learning() const override {
    if (!learning_.has_value()) return std::nullopt;
    telltale_filter_learning told = {};
    told.struct_size = sizeof told;
    told.learned_epochs = learning_->learned_epochs();
    told.needed_epochs = learning_->needed_epochs();
    told.unit = learning_->unit().c_str();
    told.muted = learning_->muted().c_str();
    told.no_room = learning_->no_room();
    return told;
  }

 private:
  void Emit(const v1::HostDone& done) const {
    for (const v1::HostPoint& point : done.points()) {
      const telltale_filter_point to = {.struct_size = sizeof to,
                                        .series = point.series().c_str(),
                                        .vital = point.vital().c_str(),
                                        .sub = point.sub().c_str(),
                                        .time_ns = point.time_ns(),
                                        .value = point.value()};
      host_.point(host_.context, &to);
    }
    for (const v1::HostMark& mark : done.marks()) {
      const telltale_filter_mark to = {.struct_size = sizeof to,
                                       .vital = mark.vital().c_str(),
                                       .sub = mark.sub().c_str(),
                                       .start_ns = mark.start_ns(),
                                       .end_ns = mark.end_ns(),
                                       .text = mark.text().c_str()};
      host_.mark(host_.context, &to);
    }
    for (const v1::HostAnomaly& anomaly : done.anomalies()) {
      std::vector<telltale_filter_fact> facts;
      for (const v1::HostFact& fact : anomaly.facts()) {
        facts.push_back({.struct_size = sizeof(telltale_filter_fact),
                         .name = fact.name().c_str(),
                         .value = fact.value(),
                         .unit = fact.unit().c_str(),
                         .text = fact.text().c_str()});
      }
      const telltale_filter_anomaly to = {.struct_size = sizeof to,
                                          .open = anomaly.open() ? 1U : 0U,
                                          .vital = anomaly.vital().c_str(),
                                          .sub = anomaly.sub().c_str(),
                                          .start_ns = anomaly.start_ns(),
                                          .end_ns = anomaly.end_ns(),
                                          .value = anomaly.value(),
                                          .expected = anomaly.expected(),
                                          .deviation = anomaly.deviation(),
                                          .severity = anomaly.severity(),
                                          .learned_epochs = anomaly.learned_epochs(),
                                          .text = anomaly.text().c_str(),
                                          .subject = anomaly.subject().c_str(),
                                          .evidence = anomaly.evidence().c_str(),
                                          .against = anomaly.against().c_str(),
                                          .cause = anomaly.cause().c_str(),
                                          .next = anomaly.next().c_str(),
                                          .cgroup = anomaly.cgroup().c_str(),
                                          .device = anomaly.device().c_str(),
                                          .site = anomaly.site().c_str(),
                                          .fact_count = static_cast<uint32_t>(facts.size()),
                                          .facts = facts.data()};
      host_.anomaly(host_.context, &to);
    }
  }

  HostedFilter* const filter_;
  const telltale_filter_host& host_;
  const HourReader& hours_;
  const uint32_t number_;
  std::optional<v1::HostLearning> learning_;
};

absl::StatusOr<std::unique_ptr<HostedFilter>> HostedFilter::Open(
    const HostOptions& options, const std::string& path,
    const std::function<void(HostProcess*)>& on_process) {
  const auto library = OpenFilter(path);
  if (!library.ok()) return library.status();
  auto process = HostProcess::Start(options, *library);
  close(*library);
  if (!process.ok()) return process.status();
  std::unique_ptr<HostedFilter> filter(new HostedFilter(*std::move(process)));
  if (on_process) on_process(filter->process_.get());
  // Before the process is gone with the filter.
  const auto failed = [&](absl::Status why) {
    if (on_process) on_process(nullptr);
    return why;
  };
  const auto bytes = filter->process_->Read();
  if (!bytes.ok()) {
    return failed(absl::Status(bytes.status().code(),
                               absl::StrCat("while it was loaded: ", bytes.status().message())));
  }
  auto declared = ReadDeclared(*bytes);
  if (!declared.ok()) return failed(declared.status());
  filter->declared_ = std::make_unique<DeclaredFilter>(*declared);
  return filter;
}

absl::StatusOr<v1::HostDone> HostedFilter::Call(const v1::HostRequest& request,
                                                const ReplyBounds& bounds,
                                                const HourReader* hours) {
  if (!failure_.ok()) return failure_;
  process_->Begin();
  if (auto status = process_->Write(request.SerializeAsString()); !status.ok()) return Fail(status);
  for (int asked = 0;; ++asked) {
    const auto bytes = process_->Read();
    if (!bytes.ok()) return Fail(bytes.status());
    auto reply = ReadReply(*bytes, bounds);
    if (!reply.ok()) return Fail(reply.status());
    if (!reply->wants_hour) {
      memory_bytes_ = reply->done.memory_bytes();
      dropped_ += reply->dropped;
      return std::move(reply->done);
    }
    if (hours == nullptr || asked == kMaxHours) {
      return Fail(absl::AbortedError("flooded: asks for too many hours of the past"));
    }
    v1::HostRequest answer;
    v1::HostHour& hour = *answer.mutable_hour();
    hour.set_found((*hours)(reply->hour_ns, [&hour](const SourceHour& found) {
      found.window->SerializeToString(hour.mutable_window());
      found.schema->SerializeToString(hour.mutable_schema());
    }));
    if (auto status = process_->Write(answer.SerializeAsString()); !status.ok()) {
      return Fail(status);
    }
  }
}

void HostedFilter::End(const absl::Status& why) { (void)Fail(why); }

// The first failure is the cause of those after it; one may be told more exactly than it was found.
absl::Status HostedFilter::Fail(absl::Status why) {
  process_->Kill();
  if (failure_.ok() || failure_.code() == why.code()) failure_ = std::move(why);
  return failure_;
}

absl::Status HostedFilter::failure() {
  if (failure_.ok()) failure_ = process_->Check();
  return failure_;
}

absl::StatusOr<std::unique_ptr<FilterInstance>> HostedFilter::Create(
    const telltale_filter_host& host, const HourReader& hours,
    const std::vector<telltale_filter_option>& options) {
  v1::HostRequest request;
  v1::HostCreate& create = *request.mutable_create();
  create.set_instance(next_instance_);
  create.set_node(host.node);
  if (host.machine != nullptr) create.set_machine(host.machine);
  if (host.scope != nullptr) create.set_scope(host.scope);
  for (const telltale_filter_option& option : options) {
    v1::HostOption& to = *create.add_options();
    to.set_name(option.name);
    to.set_value(option.value);
  }
  const auto done = Call(request, {}, nullptr);
  if (!done.ok()) return done.status();
  if (done->code() != 0) return absl::FailedPreconditionError("cannot begin");
  return std::make_unique<HostedInstance>(this, host, hours, next_instance_++);
}

HostedFigures HostedFilter::figures() const {
  return {.cpu_ns = process_->cpu_ns(), .memory_bytes = memory_bytes_, .dropped = dropped_};
}

}  // namespace telltale::filter
