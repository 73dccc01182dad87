// What becomes of folded samples and events when the sensor cannot cut, and how long it is left
// alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "agent/loop/epoch_source.h"
#include "agent/sensor/replay_sensor.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Each drain gives one process killed for want of memory; the cut fails as often as it is told to.
class SensorThatFails : public ReplaySensor {
 public:
  using ReplaySensor::ReplaySensor;

  absl::StatusOr<uint64_t> Drain(SampleSink& sink) override {
    RawEvent event;
    event.kind = RawEventKind::kOom;
    event.tgid = 77;
    sink.OnEvent(event);
    return 1;
  }
  absl::StatusOr<RawEpoch> Cut(SampleSink& sink) override {
    const absl::Status failure = std::exchange(failure_, absl::OkStatus());
    if (!failure.ok()) return failure;
    return ReplaySensor::Cut(sink);
  }

  SensorRest Rest() override { return {kSecond, -1}; }

  void FailNextCut(absl::Status failure) { failure_ = std::move(failure); }

 private:
  absl::Status failure_;
};

class EpochSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    ReplayOptions replay;
    replay.mono_ns = [this] { return now_; };
    auto sensor = std::make_unique<SensorThatFails>(std::move(replay));
    sensor_ = sensor.get();
    EpochSource::Options options;
    options.sensor = std::move(sensor);
    options.resolver = std::make_unique<ReplayResolver>();
    options.boot_id = std::string(16, 'b');
    options.agent_start.unix_ns = static_cast<uint64_t>(kWallMinusMono) + now_;
    options.agent_start.mono_ns = now_;
    source_ = std::make_unique<EpochSource>(std::move(options));
    ASSERT_TRUE(source_->Start().ok());
  }

  absl::StatusOr<FinishedEpoch> DrainAndCut(int drains) {
    for (int i = 0; i < drains; ++i) {
      now_ += kSecond;
      EXPECT_TRUE(source_->Drain().ok());
    }
    now_ += kSecond;
    EpochSource::Moment moment;
    moment.clock.wall_minus_mono_ns = kWallMinusMono;
    return source_->Cut(moment);
  }

  static uint64_t Killed(const v1::SummaryBody& body) {
    uint64_t killed = 0;
    for (const v1::DiscreteEvent& event : body.events()) {
      if (event.type() == v1::EVENT_TYPE_OOM) killed += std::max(event.count(), 1U);
    }
    return killed;
  }
  static uint64_t LostByFailedCuts(const v1::SummaryBody& body) {
    uint64_t events = 0;
    for (const v1::Loss& loss : body.losses()) {
      if (loss.reason() == v1::LOSS_REASON_CUT_FAILED) events += loss.events();
    }
    return events;
  }

  static constexpr int64_t kWallMinusMono = 1'795'000'000 * static_cast<int64_t>(kSecond);
  uint64_t now_ = 1'000 * kSecond;
  SensorThatFails* sensor_ = nullptr;
  std::unique_ptr<EpochSource> source_;
};

TEST_F(EpochSourceTest, TheEventsOfAnEpochThatIsLostAreToldAsLostInTheNextOnce) {
  sensor_->FailNextCut(absl::DataLossError("no file free"));
  EXPECT_TRUE(absl::IsDataLoss(DrainAndCut(3).status()));
  const auto next = DrainAndCut(1);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Killed(next->body), 1U);
  EXPECT_EQ(LostByFailedCuts(next->body), 3U);
  const auto after = DrainAndCut(1);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(LostByFailedCuts(after->body), 0U);
}

TEST_F(EpochSourceTest, AnEpochThatGoesOnAfterAFailedCutKeepsItsEvents) {
  sensor_->FailNextCut(absl::InternalError("no file free"));
  EXPECT_FALSE(DrainAndCut(3).ok());
  const auto cut = DrainAndCut(1);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(Killed(cut->body), 4U);
  EXPECT_EQ(LostByFailedCuts(cut->body), 0U);
}

TEST_F(EpochSourceTest, WhileSomebodyWatchesSecondsTheSensorIsNotLeftAloneForOne) {
  EXPECT_EQ(source_->Rest(now_).ns, kSecond);
  source_->WatchUntil(now_ + 5 * kSecond);
  EXPECT_LE(source_->Rest(now_).ns, kSecond / 10);
  EXPECT_EQ(source_->Rest(now_ + 5 * kSecond).ns, kSecond);
}

}  // namespace
}  // namespace telltale::agent
