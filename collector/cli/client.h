// The command line's connection to a collector: mutual TLS, one call at a time, and errors that say
// what is wrong.
//
// One thread.

#ifndef TELLTALE_COLLECTOR_CLI_CLIENT_H_
#define TELLTALE_COLLECTOR_CLI_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/cli/settings.h"
#include "collector/cli/waiting.h"
#include "telltale/v1/access.grpc.pb.h"
#include "telltale/v1/enroll.grpc.pb.h"
#include "telltale/v1/incident.grpc.pb.h"
#include "telltale/v1/live.grpc.pb.h"
#include "telltale/v1/operate.grpc.pb.h"
#include "telltale/v1/query.grpc.pb.h"
#include "telltale/v1/watch.grpc.pb.h"

namespace telltale::cli {

class Client {
 public:
  // Reads the PEM files and checks that key and certificate belong together. Does not connect yet.
  static absl::StatusOr<std::unique_ptr<Client>> Open(const Settings& settings,
                                                      std::chrono::seconds timeout);

  template <typename Question, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (v1::Query::Stub::*method)(grpc::ClientContext*,
                                                                     const Question&, Answer*),
                             const Question& question) {
    return Call<Answer>(*stub_, method, question);
  }
  template <typename Question, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (v1::Access::Stub::*method)(grpc::ClientContext*,
                                                                      const Question&, Answer*),
                             const Question& question) {
    return Call<Answer>(*access_, method, question);
  }

  template <typename Question, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (v1::Enrolment::Stub::*method)(grpc::ClientContext*,
                                                                         const Question&, Answer*),
                             const Question& question) {
    return Call<Answer>(*enrolment_, method, question);
  }

  template <typename Question, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (v1::Operate::Stub::*method)(grpc::ClientContext*,
                                                                       const Question&, Answer*),
                             const Question& question) {
    return Call<Answer>(*operate_, method, question);
  }

  template <typename Question, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (v1::Watch::Stub::*method)(grpc::ClientContext*,
                                                                     const Question&, Answer*),
                             const Question& question) {
    return Call<Answer>(*watch_, method, question);
  }

  template <typename Question, typename Answer>
  absl::StatusOr<Answer> Ask(grpc::Status (v1::Incidents::Stub::*method)(grpc::ClientContext*,
                                                                         const Question&, Answer*),
                             const Question& question) {
    return Call<Answer>(*incidents_, method, question);
  }

  // The whole screen is somebody's, who waits at the keys: calls that take longer than a second are
  // not told of, and where one took too long is not looked for the reason, which takes as long.
  void set_whole_screen() { whole_screen_ = true; }

  // An order of an operator.
  absl::StatusOr<v1::KeepAnswer> Keep(const v1::KeepRequest& request);
  const std::string& collector() const { return settings_.collector; }  // host:port

  // Calls `got` for each message until the stream ends or it returns false. No deadline: it may
  // last for ever.
  absl::Status Follow(const v1::FollowRequest& request,
                      const std::function<bool(const v1::Anomaly&)>& got);
  absl::Status Follow(const v1::FollowIncidentsRequest& request,
                      const std::function<bool(const v1::IncidentNews&)>& got);
  // The same of what happens now; cancelling `context` ends it. May run beside another call.
  absl::Status Subscribe(grpc::ClientContext& context, const v1::SubscribeRequest& request,
                         const std::function<void(const v1::LiveNews&)>& got) const;
  absl::Status Bundle(const std::function<bool(const v1::BundlePart&)>& got);

 private:
  Client(Settings settings, std::chrono::seconds timeout)
      : settings_(std::move(settings)), timeout_(timeout) {}
  void Prepare(grpc::ClientContext& context) const;
  template <typename Answer, typename Stub, typename Method, typename Question>
  absl::StatusOr<Answer> Call(Stub& stub, Method method, const Question& question) const {
    const Waiting waiting("collector " + settings_.collector, !whole_screen_);
    grpc::ClientContext context;
    Prepare(context);
    Answer answer;
    const grpc::Status status = (stub.*method)(&context, question, &answer);
    if (!status.ok()) return Explain(status);
    return answer;
  }
  // The collector's own words for what it refused; for a failed connection what the probe finds
  // out.
  absl::Status Explain(const grpc::Status& status) const;

  const Settings settings_;
  const std::chrono::seconds timeout_;
  bool whole_screen_ = false;
  std::unique_ptr<v1::Query::Stub> stub_;
  std::unique_ptr<v1::Operate::Stub> operate_;
  std::unique_ptr<v1::Access::Stub> access_;
  std::unique_ptr<v1::Enrolment::Stub> enrolment_;
  std::unique_ptr<v1::Watch::Stub> watch_;
  std::unique_ptr<v1::Incidents::Stub> incidents_;
  std::unique_ptr<v1::LiveFeed::Stub> live_;
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_CLIENT_H_
