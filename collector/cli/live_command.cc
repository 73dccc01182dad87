// telltale live: asks when the collector tells that an epoch is there, and draws what it is told
// with the seconds of the nodes asked for. While it is told nothing, asks every few seconds.

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/commands.h"
#include "collector/cli/full_screen.h"
#include "collector/cli/live_screen.h"
#include "collector/cli/live_stream.h"
#include "collector/cli/question.h"

namespace telltale::cli {
namespace {

using QueryStub = v1::Query::Stub;

class Live {
 public:
  Live(const Arguments& arguments, Session session, FullScreen* screen)
      : arguments_(arguments), session_(std::move(session)), screen_(screen) {}

  absl::Status Run() {
    session_.client->set_whole_screen();
    if (absl::Status status = Prepare(); !status.ok()) return status;
    v1::SubscribeRequest request;
    // Seconds of more nodes than that are not to be had; their epochs are.
    if (arguments_.nodes.size() <= kMostNodes) {
      request.mutable_nodes()->Assign(arguments_.nodes.begin(), arguments_.nodes.end());
    }
    const LiveStream stream(session_.client.get(), std::move(request));
    Clock::time_point asked = Clock::now();
    bool now = false;
    while (true) {
      now = Told(stream.Look()) || now;
      const auto age = Clock::now() - asked;
      const auto every =
          state_.told ? kSeldom : std::chrono::seconds(std::max(1u, arguments_.every_s));
      if (!state_.held && ((now && age >= kSoonest) || age >= every)) {
        (void)Ask();  // what went wrong stands on the screen
        asked = Clock::now();
        now = false;
      }
      Draw();
      const Key key = screen_->Await(kFrame);
      if (key == Key::kQuit) return absl::OkStatus();
      if (Apply(key)) {
        asked = {};
        now = true;
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMostNodes = 16;
  static constexpr std::chrono::milliseconds kFrame{500};      // between looks at what was told
  static constexpr std::chrono::milliseconds kSoonest{1'000};  // between two questions
  // Even while it is told: what was asked moves on by itself.
  static constexpr std::chrono::seconds kSeldom{30};

  // Whether an epoch has come.
  bool Told(const LiveStream::News& news) {
    state_.told = news.up;
    state_.untold = news.dropped > 0 && news.problem.empty()
                        ? absl::StrCat(news.dropped, " news lost, this terminal is too slow")
                        : news.problem;
    state_.asked_every_s = arguments_.every_s;
    const std::string& vital = state_.vitals.empty() ? std::string() : state_.vitals[state_.chosen];
    state_.now.reset();
    // Of a sub-series no second is told.
    state_.unseen = !news.seconds.empty() && !absl::StrContains(vital, '/');
    for (const auto& [node, second] : news.seconds) {
      for (const v1::LiveRate& rate : second.vitals()) {
        if (rate.vital() != vital) continue;
        state_.now = state_.now.value_or(0) + rate.rate();
        state_.unseen = false;
      }
    }
    return std::exchange(epochs_, news.epochs) != news.epochs;
  }

  absl::Status Prepare() {
    absl::StatusOr<std::string> vital = OneVital(arguments_, "live", false);
    if (!vital.ok()) return vital.status();
    if (auto selection = Select(); !selection.ok()) return selection.status();
    state_.who =
        arguments_.nodes.empty() && arguments_.labels.empty()
            ? "all nodes"
            : absl::StrCat(absl::StrJoin(arguments_.nodes, ", "),
                           arguments_.nodes.empty() || arguments_.labels.empty() ? "" : ", ",
                           absl::StrJoin(arguments_.labels, ", "));
    state_.asking = true;
    Draw();
    const auto vitals = session_.client->Ask(&QueryStub::ListVitals, v1::VitalsRequest());
    if (!vitals.ok()) return vitals.status();
    for (const v1::VitalDescriptor& known : vitals->vitals()) {
      state_.vitals.push_back(known.name());
    }
    if (!vital->empty() && std::ranges::count(state_.vitals, *vital) == 0) {
      state_.vitals.insert(state_.vitals.begin(), *vital);  // perhaps a sub-series
    }
    const auto chosen = std::ranges::find(state_.vitals, vital->empty() ? "cpu" : *vital);
    if (chosen != state_.vitals.end()) {
      state_.chosen = static_cast<size_t>(chosen - state_.vitals.begin());
    }
    const absl::Status first = Ask();
    state_.asking = false;
    // What is wrong with the question ends it; that there was no answer in time is shown.
    return absl::IsDeadlineExceeded(first) ? absl::OkStatus() : first;
  }

  absl::StatusOr<v1::Selection> Select() {
    session_.view.now = absl::Now();
    absl::StatusOr<v1::Selection> selection = SelectionOf(arguments_, session_, absl::Minutes(1));
    if (selection.ok()) state_.length_s = selection->end_s() - selection->start_s();
    return selection;
  }

  absl::Status Top(v1::TopAnswer* answer) {
    absl::StatusOr<v1::Selection> selection = Select();
    if (!selection.ok()) return selection.status();
    v1::TopRequest request;
    *request.mutable_selection() = *selection;
    if (!state_.vitals.empty()) request.set_vital(state_.vitals[state_.chosen]);
    request.set_limit(kRows);
    request.set_hide_self(arguments_.hide_self);
    absl::StatusOr<v1::TopAnswer> got = session_.client->Ask(&QueryStub::GetTop, request);
    if (!got.ok()) return got.status();
    *answer = *std::move(got);
    return absl::OkStatus();
  }

  absl::Status Ask() {
    absl::Status status = Top(&state_.answer);
    state_.error = std::string(status.message());
    return status;
  }

  void Draw() {
    const FullScreen::Size size = screen_->size();
    session_.view.now = absl::Now();
    screen_->Draw(LiveScreen(state_, size.columns, size.rows, session_.view));
  }

  // Whether another answer is needed.
  bool Apply(Key key) {
    const size_t vitals = std::max<size_t>(1, state_.vitals.size());
    switch (key) {
      case Key::kNext:
      case Key::kPrevious:
        state_.chosen = (state_.chosen + (key == Key::kNext ? 1 : vitals - 1)) % vitals;
        state_.scrolled = 0;
        state_.held = false;
        return true;
      case Key::kUp:
        if (state_.scrolled > 0) --state_.scrolled;
        return false;
      case Key::kDown:
        state_.scrolled = std::min<size_t>(state_.scrolled + 1, 2 * kRows);
        return false;
      case Key::kPause:
        state_.held = !state_.held;
        return !state_.held;
      default:
        return false;
    }
  }

  static constexpr uint32_t kRows = 20;

  const Arguments& arguments_;
  Session session_;
  FullScreen* const screen_;
  LiveState state_;
  uint64_t epochs_ = 0;
};

}  // namespace

int RunLive(const Arguments& typed) {
  // Keys are read between questions: nobody is to wait a minute until `q` counts.
  constexpr int kLongestQuestionS = 5;
  Arguments arguments = typed;
  arguments.timeout_s = std::min(typed.timeout_s, kLongestQuestionS);
  if (arguments.output != "table") {
    return Report(absl::InvalidArgumentError(
        "live: draws a screen; `telltale top -o json` gives the figures"));
  }
  absl::Status ended;
  {
    // Before gRPC's threads: signals are to come to the screen.
    absl::StatusOr<std::unique_ptr<FullScreen>> screen = FullScreen::Open();
    if (!screen.ok()) return Report(screen.status());
    absl::StatusOr<Session> session = OpenSession(arguments);
    ended =
        session.ok() ? Live(arguments, *std::move(session), screen->get()).Run() : session.status();
  }  // the screen is as it was: what went wrong can be read
  return ended.ok() ? kOk : Report(ended);
}

}  // namespace telltale::cli
