#include "storage/keys.h"

#include <gtest/gtest.h>

#include <array>

#include "storage/placement.h"

namespace telltale::storage {
namespace {

RawKey SomeRawKey() {
  RawKey key;
  key.day = 20777;
  key.node = 300;
  key.start_ns = 20777 * kDayNs + 5;
  key.incarnation.fill(0xab);
  key.sequence = 7;
  return key;
}

TEST(KeysTest, RawKeysRoundTrip) {
  RawKey key = SomeRawKey();
  EXPECT_EQ(*DecodeRawKey(EncodeRawKey(key)), key);
  key.apart = true;
  key.apart_digest = 0x0102030405060708;
  EXPECT_EQ(*DecodeRawKey(EncodeRawKey(key)), key);
}

TEST(KeysTest, OrderOfBytesIsOrderOfDayNodeTime) {
  RawKey a = SomeRawKey();
  RawKey b = a;
  b.start_ns += 256;
  EXPECT_LT(EncodeRawKey(a), EncodeRawKey(b));
  a.node = 255;
  a.start_ns = UINT64_MAX;
  EXPECT_LT(EncodeRawKey(a), EncodeRawKey(b));
  b.day = 255;
  EXPECT_LT(EncodeRawKey(b), EncodeRawKey(a));
}

TEST(KeysTest, EveryOtherLengthIsRefused) {
  const std::string raw = EncodeRawKey(SomeRawKey());
  for (size_t length = 0; length < raw.size(); ++length) {
    EXPECT_FALSE(DecodeRawKey(raw.substr(0, length)).ok()) << length;
    EXPECT_EQ(DecodeRollupKey(raw.substr(0, length)).ok(), false) << length;
  }
  EXPECT_FALSE(DecodeSeriesKey("123456").ok());
  EXPECT_FALSE(DecodeLineKey("123456789").ok());
  EXPECT_FALSE(DecodeDerivedKey("").ok());
  EXPECT_FALSE(DecodeFilterNumberKey(FilterNumberKey("", 3)).ok());
  EXPECT_FALSE(DecodeDirtyKey("").ok());
  EXPECT_FALSE(DecodeU64("1234567").ok());
}

TEST(KeysTest, TierKeysRoundTrip) {
  const uint64_t hour = 500000 * kHourNs;
  EXPECT_EQ(*DecodeSeriesKey(EncodeSeriesKey({9, hour})), (SeriesKey{9, hour}));
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    const uint64_t window = FloorTo(hour, WindowNs(tier));
    const RollupKey rollup{tier, 9, window, 4};
    EXPECT_EQ(*DecodeRollupKey(EncodeRollupKey(rollup)), rollup);
    const LineKey line{tier, 4, FloorTo(hour, LineBucketNs(tier)), 2};
    EXPECT_EQ(*DecodeLineKey(EncodeLineKey(line)), line);
    const DirtyKey dirty{9, tier, window};
    EXPECT_EQ(*DecodeDirtyKey(EncodeDirtyKey(dirty)), dirty);
  }
  EXPECT_EQ(*DecodeDerivedKey(EncodeDerivedKey({3, 9, hour})), (DerivedKey{3, 9, hour}));
  EXPECT_EQ(*DecodeFilterNumberKey(FilterNumberKey("ewma", 3)), std::pair(std::string("ewma"), 3u));
}

TEST(KeysTest, ARollupKeyOfAnotherBucketIsRefused) {
  std::string key = EncodeRollupKey({Tier::k5Min, 1, 20777 * kDayNs, 0});
  key[2] = static_cast<char>(key[2] + 1);
  EXPECT_FALSE(DecodeRollupKey(key).ok());
}

TEST(KeysTest, ASpanBeyondAllTimesIsRefused) {
  const std::string far = "\xff\xff\xff\xff";
  std::string dirty = EncodeDirtyKey({7, Tier::k1Day, 0});
  dirty.replace(6, 4, far);
  EXPECT_FALSE(DecodeDirtyKey(dirty).ok());
  std::string line = EncodeLineKey({.tier = Tier::k1Day, .vital = 1});
  line.replace(2, 4, far);
  EXPECT_FALSE(DecodeLineKey(line).ok());
}

TEST(KeysTest, ANameKeyTellsPartitionAndSource) {
  const NamePartition partition = NamePartitionOf(Tier::k1Hour, 20'777 * kDayNs);
  const std::string key = NameKey(partition, "build", 0x40, 7);
  EXPECT_EQ(DecodeNameKey(key)->partition, partition);
  EXPECT_EQ(DecodeNameKey(key)->source, 7u);
  EXPECT_EQ(key.rfind(NamePrefix(partition, "build", 0x40), 0), 0u);
  EXPECT_FALSE(DecodeNameKey(key + "x").ok());
  EXPECT_FALSE(DecodeNameKey(key.substr(0, 12)).ok());
  EXPECT_FALSE(DecodeNameKey("").ok());
}

TEST(KeysTest, ABucketOfNamesHoldsWholeBucketsOfWindows) {
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    EXPECT_EQ(NameBucketNs(tier) % RollupBucketNs(tier), 0u);
  }
  EXPECT_EQ(NamePartitionEndNs(NamePartitionOf(Tier::kRaw, 20 * kDayNs)), 21 * kDayNs);
}

TEST(KeysTest, KeysOfBlobsRoundTripAndStandInOrder) {
  std::array<uint8_t, 16> id;
  id.fill(7);
  EXPECT_EQ(*DecodeBlobKey(EncodeBlobKey(id)), id);
  EXPECT_LT(EncodeBlobPieceKey(id, 255), EncodeBlobPieceKey(id, 256));
  EXPECT_TRUE(absl::IsDataLoss(DecodeBlobKey(EncodeBlobPieceKey(id, 0)).status()));
  const BlobAuditKey audit = {.time_ns = 5, .number = 9};
  EXPECT_EQ(*DecodeBlobAuditKey(EncodeBlobAuditKey(audit)), audit);
  EXPECT_LT(EncodeBlobAuditKey(audit), EncodeBlobAuditKey({.time_ns = 6, .number = 0}));
  EXPECT_TRUE(absl::IsDataLoss(DecodeBlobAuditKey("\x0c").status()));
}

TEST(KeysTest, PrefixEndIsAboveEveryKeyWithThePrefix) {
  EXPECT_EQ(PrefixEnd("ab"), "ac");
  EXPECT_EQ(PrefixEnd(std::string("a\xff\xff", 3)), "b");
  EXPECT_EQ(PrefixEnd("\xff"), "");
}

TEST(PlacementTest, AKnownClockOffsetMovesTheEpoch) {
  v1::Epoch epoch;
  epoch.set_start_unix_ns(1000 * kSecondNs);
  epoch.set_start_mono_ns(5);
  epoch.set_end_mono_ns(5 + 60 * kSecondNs);
  epoch.set_clock_offset_ns(-3600 * static_cast<int64_t>(kSecondNs) / 10);
  EXPECT_EQ(PlaceEpoch(epoch).start_ns, 1000 * kSecondNs) << "offset without an error is unknown";
  epoch.set_clock_error_ns(1);
  EXPECT_EQ(PlaceEpoch(epoch).start_ns, 640 * kSecondNs);
  EXPECT_EQ(PlaceEpoch(epoch).end_ns, 700 * kSecondNs);
  epoch.set_clock_offset_ns(INT64_MIN);
  EXPECT_EQ(PlaceEpoch(epoch).start_ns, 0u) << "never wraps";
}

TEST(PlacementTest, AnEpochJustBeforeTheBoundaryBelongsToTheWindowOfItsMiddle) {
  EpochSpan span;
  span.start_ns = 600 * kSecondNs - 3'000'000;
  span.end_ns = span.start_ns + 60 * kSecondNs;
  EXPECT_EQ(WindowStart(Tier::k5Min, span), 600 * kSecondNs);
}

}  // namespace
}  // namespace telltale::storage
