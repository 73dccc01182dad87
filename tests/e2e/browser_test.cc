// A browser at a collector's HTTPS side over a real store: from the fleet to a process's name, with
// names that try to be markup. What it does there is in browser.mjs.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/query_anomalies.h"
#include "collector/incident/incident_book.h"
#include "collector/ingest/live_hub.h"
#include "collector/query/store_source.h"
#include "collector/web/web_front.h"
#include "proto/codec.h"
#include "sketch/vitals.h"
#include "storage/store.h"
#include "tests/support/program.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"
#include "tests/support/web_pki.h"

namespace telltale::web {
namespace {

constexpr uint64_t kMinute = 60'000'000'000;
constexpr uint64_t kEpochs = 40, kKillAt = 24;
constexpr int kMostSeconds = 540;
constexpr char kPlaywright[] = "collector/web/ui/node_modules/playwright-core";

uint64_t WallNs() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Every program and command of the body is called something a careless page would obey.
void MakeHostile(v1::SummaryBody& body) {
  auto& strings = *body.mutable_tables()->mutable_strings();
  for (std::string& text : strings) {
    if (text.starts_with("/usr/bin/")) {
      text = absl::StrCat("/opt/<img src=x onerror=document.title='pwned'>", text.substr(9));
    } else if (text.starts_with("program-")) {
      text = absl::StrCat("<b onclick='x'>&amp;\"", text);
    }
  }
}

// One of its processes was killed for want of memory, in the middle of the epoch.
void AddKill(v1::SummaryBody& body) {
  v1::DiscreteEvent& killed = *body.add_events();
  killed.set_type(v1::EVENT_TYPE_OOM);
  killed.set_time_ms(30'000);
  killed.set_pid(4711);
  killed.set_exe(1);
  killed.set_comm(1);
}

// What an operator noted, ten minutes ago.
class Notes final : public query::MarkSource {
 public:
  std::vector<v1::Mark> Between(double start_s, double end_s,
                                const std::set<std::string>&) const override {
    if (time_s_ < start_s || time_s_ >= end_s) return {};
    v1::Mark mark;
    mark.set_id("0a1b2c3d");
    mark.set_time_s(time_s_);
    mark.set_text("deploy <u onclick='x'>1.2</u>");
    mark.set_by("olga");
    return {mark};
  }

 private:
  const double time_s_ = static_cast<double>(WallNs() - 10 * kMinute) * 1e-9;
};

// As an agent would tell its seconds, and as if its epochs came much faster; and looks after
// incidents as the filters' side does.
class Teller {
 public:
  Teller(ingest::LiveHub* hub, incident::IncidentBook* incidents)
      : hub_(hub), incidents_(incidents), thread_([this] { Run(); }) {}
  ~Teller() {
    ended_ = true;
    thread_.join();
  }

 private:
  void Run() {
    for (uint64_t i = 0; !ended_; ++i) {
      v1::Live live;
      live.set_unix_ns(WallNs());
      for (const sketch::Vital& vital : sketch::Vitals()) {
        if (vital.name == "signal" && i % 4 < 2) continue;  // not looked at
        v1::LiveVital& told = *live.add_vitals();
        told.set_id(vital.id);
        for (size_t sub = 0; sub < vital.subs.size(); ++sub) {
          told.add_sub_weight((i % 7 + 1) * 100'000'000);
        }
      }
      hub_->Publish("evil-1", live);
      hub_->PublishTrouble("calm-1", "command: node calm-1 is <i>not</i> connected");
      hub_->PublishEpoch("evil-1", WallNs() - kMinute, WallNs());
      EXPECT_TRUE(incidents_->Advance(WallNs()).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }

  ingest::LiveHub* const hub_;
  incident::IncidentBook* const incidents_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // keep last
};

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v node >/dev/null && command -v chromium >/dev/null") != 0) {
      GTEST_SKIP() << "no browser here (Debian: chromium nodejs npm)";
    }
    if (!std::filesystem::exists(kPlaywright)) {
      GTEST_SKIP() << kPlaywright << " is not there; run: (cd collector/web/ui && npm ci)";
    }
    storage::StoreOptions options;
    options.path = dir_.path() + "/store";
    options.memory_bytes = 32 << 20;
    options.min_free_bytes = 0;
    store_ = *storage::Store::Open(options);
    for (const char* name : {"calm-1", "calm-2"}) Fill(name, false);
    Fill("evil-1", true);
    Serve();
  }

  void Fill(const std::string& name, bool hostile) {
    testing::SyntheticNode maker(name, std::hash<std::string>()(name) % 1000);
    const uint32_t number = *store_->nodes().NumberOf(name);
    ASSERT_TRUE(store_->summaries().PutSchema(number, proto::BuiltinSchema()).ok());
    const uint64_t begin = WallNs() - (kEpochs + 1) * kMinute;
    for (uint64_t sequence = 1; sequence <= kEpochs; ++sequence) {
      const auto made =
          maker.MakeWith(sequence, begin + sequence * kMinute, 60, [&](v1::SummaryBody& body) {
            if (hostile) MakeHostile(body);
            if (hostile && sequence == kKillAt) AddKill(body);
          });
      const storage::Incoming incoming{number, &made.summary, &made.body, true};
      const auto outcome = store_->summaries().PutBatch({&incoming, 1});
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      ASSERT_EQ(outcome->front(), storage::Outcome::kStored);
    }
  }

  // Of one node nothing can be found yet; of another what repeats by the week is not known.
  static std::vector<v1::FilterLearning> Learning() {
    std::vector<v1::FilterLearning> all;
    const auto add = [&](const char* filter, const char* node, uint64_t learned, uint64_t needed,
                         const char* unit) {
      v1::FilterLearning& one = all.emplace_back();
      one.set_filter(filter);
      one.set_node(node);
      one.set_learned_epochs(learned);
      one.set_needed_epochs(needed);
      one.set_unit(unit);
    };
    add("ewma", "calm-1", 9, 30, "epochs");
    add("seasonal", "evil-1", 0, 3, "weeks");
    return all;
  }

  // A rule that was measured, a detector that learns, and a filter of the user's that was disabled.
  static v1::ListFiltersAnswer Filters() {
    v1::ListFiltersAnswer answer;
    const auto add = [&](const char* name, const char* about) {
      v1::FilterInfo& one = *answer.add_filters();
      one.set_name(name);
      one.set_version(1);
      one.set_about(about);
      one.set_nodes(3);
      one.mutable_status()->set_state("running");
      return &one;
    };
    v1::FilterInfo& rule = *add("rule_blocked", "says what a waiting process waits for");
    rule.set_rule(5);
    v1::FilterRecord& record = *rule.mutable_record();
    record.set_hits(27);
    record.set_misses(2);
    record.set_false_alarms(1);
    record.set_low(0.78);
    record.set_high(0.98);
    record.set_measured("2026-11-22");
    record.set_faults(33);
    record.set_innocent_loads(24);
    add("ewma", "finds epochs far from the usual")->set_nodes_learning(1);
    v1::FilterInfo& own = *add("crowded", "says when <b>all</b> CPUs are taken");
    own.set_dropped(7);
    own.mutable_status()->set_state("disabled");
    own.mutable_status()->set_reason("flooded: more than 256 <b>marks</b> in one epoch");
    own.mutable_user()->set_file("/etc/telltale/filters.d/crowded.so");
    own.mutable_user()->set_failures(2);
    own.mutable_user()->set_retry_s(static_cast<double>(WallNs()) * 1e-9 + 60);
    return answer;
  }

  // As the filter would have stored it: one anomaly of evil-1.
  void PlantAnomaly() {
    const uint64_t start = WallNs() - 20 * kMinute;
    v1::FilterHour hour;
    v1::FilterAnomaly& found = *hour.add_anomalies();
    found.set_vital("cpu");
    found.set_sub("user");
    found.set_start_ns(start);
    found.set_end_ns(start + 5 * kMinute);
    found.set_value_micro(1'600'000);
    found.set_expected_micro(400'000);
    found.set_deviation_micro(100'000);
    found.set_severity_milli(12'000);
    found.set_learned_epochs(20);
    found.set_text("cpu/user high <script>document.title='pwned'</script>");
    found.set_found_ns(start + 5 * kMinute);
    found.set_evidence("16 CPUs of <em>16</em> in each of 5 epochs");
    found.set_against("a batch job looks the same");
    const filter::FilterIdentity ewma{"ewma", 1};
    const storage::DerivedKey key{*store_->derived().FilterNumber(ewma.name, ewma.version),
                                  *store_->nodes().NumberOf("evil-1"),
                                  storage::FloorTo(start, storage::kHourNs)};
    ASSERT_TRUE(store_->derived().Put(key, hour.SerializeAsString(), 1).ok());
    log_ = *filter::AnomalyLog::Open({.store = &store_->derived()});
    ASSERT_TRUE(log_->Append(ewma.name, ewma.version, "evil-1", found).ok());
    ASSERT_TRUE(log_->Publish().ok());
    silences_ = *incident::SilenceBook::Open(&store_->derived());
    incidents_ = *incident::IncidentBook::Open(
        {.store = &store_->derived(), .log = log_.get(), .silences = silences_.get()});
    ASSERT_TRUE(incidents_->Advance(WallNs()).ok());
    v1::ChangeIncidentRequest said;
    said.set_number(1);
    said.set_action(v1::INCIDENT_ACTION_NOTE);
    said.set_note("looking at <s>it</s>");
    ASSERT_TRUE(incidents_->Change(said, "operator/olga", WallNs()).ok());
    anomalies_ = std::make_unique<filter::QueryAnomalies>(
        &store_->derived(), log_.get(),
        [ewma] { return std::vector<filter::FilterIdentity>{ewma}; }, [] { return Learning(); });
  }

  void Serve() {
    PlantAnomaly();
    source_ = std::make_unique<query::StoreSource>(&store_->reader());
    query::EngineOptions engine;
    engine.source = source_.get();
    engine.anomalies = anomalies_.get();
    engine.marks = &notes_;
    engine.now_ns = WallNs;
    engine_ = std::make_unique<query::Engine>(engine);
    const auto server = pki_.Issue("collector", {});
    WebFrontOptions web;
    web.http.address = "127.0.0.1";
    web.http.port = 0;
    web.http.ca_file = pki_.ca_file();
    web.http.cert_file = server.cert;
    web.http.key_file = server.key;
    web.engine = engine_.get();
    web.reader = &store_->reader();
    web.filters = Filters;
    web.incidents = {
        .book = incidents_.get(),
        .silences = silences_.get(),
        .now_ns = WallNs,
        .audit = [](const std::string&, const std::string&, const std::string&, const std::string&,
                    const absl::Status& refused) { return refused; }};
    web.live = &hub_;
    auto front = WebFront::Start(std::move(web));
    ASSERT_TRUE(front.ok()) << front.status();
    front_ = *std::move(front);
  }

  const testing::TempDir dir_;
  const testing::WebPki pki_;
  const Notes notes_;
  ingest::IngestStats ingest_stats_;
  ingest::LiveHub hub_{&ingest_stats_};
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<filter::AnomalyLog> log_;
  std::unique_ptr<incident::SilenceBook> silences_;
  std::unique_ptr<incident::IncidentBook> incidents_;
  std::unique_ptr<filter::QueryAnomalies> anomalies_;
  std::unique_ptr<query::StoreSource> source_;
  std::unique_ptr<query::Engine> engine_;
  std::unique_ptr<WebFront> front_;
};

TEST_F(BrowserTest, FromTheFleetToAProcess) {
  const auto viewer = pki_.Issue("viewer", {"telltale://viewer/someone"});
  setenv("TELLTALE_URL", absl::StrCat("https://127.0.0.1:", front_->port()).c_str(), 1);
  setenv("TELLTALE_TLS_CERT", viewer.cert.c_str(), 1);
  setenv("TELLTALE_TLS_KEY", viewer.key.c_str(), 1);
  const auto owner = pki_.Issue("operator", {"telltale://operator/olga"});
  setenv("TELLTALE_OPERATOR_CERT", owner.cert.c_str(), 1);
  setenv("TELLTALE_OPERATOR_KEY", owner.key.c_str(), 1);
  const Teller teller(&hub_, incidents_.get());
  testing::Program browser(dir_.path() + "/browser.log");
  browser.Start("/usr/bin/env", {"node", "tests/e2e/browser.mjs"});
  const bool ended = testing::Await([&] { return browser.Ended(); }, kMostSeconds);
  EXPECT_TRUE(ended) << "the browser did not come to an end";
  EXPECT_EQ(browser.exit_code(), 0);
  EXPECT_NE(browser.log().find("all 41 steps"), std::string::npos) << browser.log();
}

}  // namespace
}  // namespace telltale::web
