#include "collector/filter/host/host_loop.h"

#include <string.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/epoch_view.h"
#include "collector/filter/host/confine.h"
#include "collector/filter/host/frames.h"
#include "collector/filter/host/host_limits.h"
#include "telltale/v1/store.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::filter {

struct HostLoop::Served {
  HostLoop* loop = nullptr;
  std::string node, machine, scope;
  telltale_filter_host host = {};
  HourReader no_hours;
  std::unique_ptr<FilterInstance> instance;
};

HostLoop::HostLoop(int socket, const telltale_filter* filter, uint64_t memory_base)
    : socket_(socket), filter_(filter), code_(filter), memory_base_(memory_base) {}
HostLoop::~HostLoop() = default;

absl::Status HostLoop::Run() {
  v1::HostReply reply;
  Declare(*reply.mutable_declared());
  if (auto status = Send(reply); !status.ok()) return status;
  while (true) {
    const auto bytes = ReadFrame(socket_, kMaxRequestBytes, nullptr);
    if (absl::IsUnavailable(bytes.status())) return absl::OkStatus();
    if (!bytes.ok()) return bytes.status();
    v1::HostRequest request;
    if (!request.ParseFromString(*bytes)) return absl::DataLossError("filter host: a bad request");
    reply.Clear();
    v1::HostDone& done = *reply.mutable_done();
    try {
      Handle(request, done);
    } catch (const std::bad_alloc&) {
      outputs_ = Outputs();
      done.Clear();
      done.set_failed("out of memory: an allocation failed");
    } catch (const std::exception& thrown) {
      done.set_failed(absl::StrCat("threw an exception: ", thrown.what()));
    } catch (...) {
      done.set_failed("threw an exception");
    }
    const uint64_t now = AddressSpace();
    done.set_memory_bytes(now > memory_base_ ? now - memory_base_ : 0);
    if (auto status = Send(reply); !status.ok()) return status;
    if (!done.failed().empty()) return absl::AbortedError(done.failed());
  }
}

absl::Status HostLoop::Send(const v1::HostReply& reply) {
  return WriteFrame(socket_, reply.SerializeAsString(), nullptr);
}

void HostLoop::Declare(v1::HostDeclared& declared) const {
  declared.set_protocol(kHostProtocol);
  declared.set_name(filter_->name);
  declared.set_version(filter_->version);
  declared.set_needs(filter_->needs);
  if (filter_->about != nullptr) declared.set_about(filter_->about);
  declared.set_all_vitals(filter_->vitals == nullptr);
  for (const char* const* vital = filter_->vitals; vital != nullptr && *vital != nullptr; ++vital) {
    declared.add_vitals(*vital);
    if (declared.vitals_size() > kMaxHostVitals) break;  // the collector refuses so many
  }
  declared.set_saves(filter_->save != nullptr);
  if (TELLTALE_FILTER_HAS(filter_, telltale_filter, history_epochs)) {
    declared.set_history_epochs(filter_->history_epochs);
  }
  if (TELLTALE_FILTER_HAS(filter_, telltale_filter, rule)) declared.set_rule(filter_->rule);
}

void HostLoop::Handle(const v1::HostRequest& request, v1::HostDone& done) {
  if (request.has_create()) return Create(request.create(), done);
  if (request.has_epoch()) return Show(request.epoch(), done);
  if (request.request_case() == v1::HostRequest::kDestroy) {
    served_.erase(request.destroy());
    return;
  }
  const bool loads = request.has_load();
  const auto served = served_.find(loads ? request.load().instance() : request.save());
  if (served == served_.end()) {
    done.set_failed("the host has no such instance");
  } else if (loads) {
    done.set_code(served->second->instance->Load(request.load().state()) ? 0 : 1);
  } else {
    auto state = served->second->instance->Save();
    if (state.ok()) {
      done.set_state(*std::move(state));
    } else {
      done.set_failed(std::string(state.status().message()));
    }
  }
}

void HostLoop::Create(const v1::HostCreate& request, v1::HostDone& done) {
  auto served = std::make_unique<Served>();
  served->loop = this;
  served->node = request.node();
  telltale_filter_host& host = served->host;
  host.struct_size = sizeof host;
  host.abi = TELLTALE_FILTER_ABI;
  host.context = served.get();
  host.node = served->node.c_str();
  served->machine = request.machine();
  host.machine = served->machine.c_str();
  served->scope = request.scope();
  host.scope = served->scope.c_str();
  host.point = [](void* context, const telltale_filter_point* point) {
    static_cast<Served*>(context)->loop->outputs_.Take(*point);
  };
  host.mark = [](void* context, const telltale_filter_mark* mark) {
    static_cast<Served*>(context)->loop->outputs_.Take(*mark);
  };
  host.anomaly = [](void* context, const telltale_filter_anomaly* anomaly) {
    static_cast<Served*>(context)->loop->outputs_.Take(*anomaly);
  };
  host.hour = [](void* context, uint64_t start_ns,
                 void (*show)(void*, const telltale_filter_epoch*), void* argument) {
    return static_cast<Served*>(context)->loop->ShowHour(start_ns, show, argument);
  };
  std::vector<telltale_filter_option> options;
  for (const v1::HostOption& option : request.options()) {
    options.push_back({option.name().c_str(), option.value()});
  }
  auto instance = code_.Create(host, served->no_hours, options);
  if (!instance.ok()) {
    done.set_code(1);
    return;
  }
  served->instance = *std::move(instance);
  served_[request.instance()] = std::move(served);
}

void HostLoop::Show(const v1::HostEpoch& request, v1::HostDone& done) {
  const auto served = served_.find(request.instance());
  v1::SummaryBody body;
  v1::Schema schema;
  if (served == served_.end() || !body.ParseFromString(request.body()) ||
      !schema.ParseFromString(request.schema())) {
    done.set_failed("the host was sent an epoch it cannot read");
    return;
  }
  SourceEpoch epoch;
  epoch.span.start_ns = request.start_ns();
  epoch.span.end_ns = request.end_ns();
  epoch.span.watched_ns = request.watched_ns();
  epoch.sequence = request.sequence();
  epoch.body = &body;
  epoch.schema = &schema;
  FilterInstance& instance = *served->second->instance;
  const auto code = instance.Show(epoch);
  outputs_.MoveTo(done);
  done.set_code(code.ok() ? *code : 1);
  if (const auto told = instance.Learning(); told.has_value()) {
    v1::HostLearning& learning = *done.mutable_learning();
    learning.set_learned_epochs(told->learned_epochs);
    learning.set_needed_epochs(told->needed_epochs);
    if (told->unit != nullptr) learning.set_unit(told->unit);
    if (told->muted != nullptr) {
      learning.set_muted(std::string(told->muted, strnlen(told->muted, kMaxHostMutedBytes)));
    }
    learning.set_no_room(told->no_room);
  }
}

int HostLoop::ShowHour(uint64_t start_ns, void (*show)(void*, const telltale_filter_epoch*),
                       void* argument) {
  if (!outputs_.TakeHour()) return 1;
  v1::HostReply wanted;
  wanted.set_hour_wanted(start_ns);
  if (!Send(wanted).ok()) return 1;
  const auto bytes = ReadFrame(socket_, kMaxRequestBytes, nullptr);
  v1::HostRequest request;
  if (!bytes.ok() || !request.ParseFromString(*bytes) || !request.has_hour() ||
      !request.hour().found()) {
    return 1;
  }
  v1::RollupWindow window;
  v1::Schema schema;
  if (!window.ParseFromString(request.hour().window()) ||
      !schema.ParseFromString(request.hour().schema())) {
    return 1;
  }
  show(argument, EpochView(SourceHour{&window, &schema}, start_ns, *filter_).get());
  return 0;
}

}  // namespace telltale::filter
