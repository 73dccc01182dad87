// Bytes of released formats are read for ever, and written back exactly as they came.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>

#include "proto/codec.h"
#include "proto/compress.h"
#include "tests/unit/proto_bodies.h"

namespace telltale::proto {
namespace {

std::string Golden(const std::string& name) {
  std::ifstream file("tests/golden/" + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << "tests/golden/" << name << " is missing";
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class GoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = Golden(std::string("summary_") + GetParam() + ".bin");
    ASSERT_TRUE(summary_.ParseFromString(bytes_));
    ASSERT_TRUE(schema_.ParseFromString(Golden(std::string("schema_") + GetParam() + ".bin")));
  }
  std::string bytes_;
  v1::Summary summary_;
  v1::Schema schema_;
};

TEST_P(GoldenTest, IsReadAndWrittenBackByteForByte) {
  EXPECT_EQ(Canonical(summary_), bytes_);
  ASSERT_TRUE(CheckSchema(schema_).ok()) << CheckSchema(schema_);
  const absl::StatusOr<Decoded> decoded = DecodeSummary(summary_, schema_);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const absl::StatusOr<std::string> raw =
      Decompress("body", summary_.body(), summary_.body_bytes(), 1 << 20);
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(Canonical(*decoded->body), *raw);
  const absl::StatusOr<v1::SketchCells> cells = DecodeCells(summary_);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_EQ(cells->vitals_size(), schema_.vitals_size());
}

TEST_P(GoldenTest, HasTheDigestItWasAcknowledgedUnder) {
  std::ostringstream digest;
  digest << std::hex << std::setfill('0') << std::setw(16) << Digest(summary_) << "\n";
  EXPECT_EQ(digest.str(), Golden(std::string("summary_") + GetParam() + ".digest"));
}

INSTANTIATE_TEST_SUITE_P(Releases, GoldenTest, ::testing::Values("v1", "v2", "v3"));

// A newer agent's additions, at every level, come out as they went in: an old collector loses
// nothing.
TEST(UnknownFieldsTest, SurviveOpeningAndWritingBack) {
  const v1::Schema schema = BuiltinSchema();
  v1::SummaryBody body = testing::FullBody(schema);
  const auto extend = [](google::protobuf::Message* message) {
    google::protobuf::UnknownFieldSet* unknown =
        message->GetReflection()->MutableUnknownFields(message);
    unknown->AddVarint(1000, 7);
    unknown->AddLengthDelimited(1001, "from the future");
    unknown->AddFixed64(1002, 9);
  };
  extend(&body);
  extend(body.mutable_epoch());
  extend(body.mutable_vitals(0));
  extend(body.mutable_tables()->mutable_stacks(0));
  extend(body.mutable_processes()->mutable_rows(0));
  absl::StatusOr<v1::Summary> summary =
      EncodeSummary(testing::SomeIdentity(), schema.id(), body, {});
  ASSERT_TRUE(summary.ok()) << summary.status();
  extend(&*summary);
  v1::Summary received;
  ASSERT_TRUE(received.ParseFromString(Canonical(*summary)));
  EXPECT_EQ(Digest(received), Digest(*summary));
  const absl::StatusOr<Decoded> decoded = DecodeSummary(received, schema);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(Canonical(*decoded->body), Canonical(body));
  EXPECT_EQ(decoded->body->vitals(0)
                .GetReflection()
                ->GetUnknownFields(decoded->body->vitals(0))
                .field_count(),
            3);
}

// Enum values of a newer agent are no reason to refuse its data.
TEST(UnknownFieldsTest, UnknownEnumValuesAreKept) {
  const v1::Schema schema = BuiltinSchema();
  v1::SummaryBody body = testing::FullBody(schema);
  v1::Loss* loss = body.add_losses();
  loss->set_reason(static_cast<v1::LossReason>(63));  // the highest one that is let in
  body.mutable_epoch()->set_kind(static_cast<v1::EpochKind>(9));
  const absl::StatusOr<v1::Summary> summary =
      EncodeSummary(testing::SomeIdentity(), schema.id(), body, {});
  ASSERT_TRUE(summary.ok()) << summary.status();
  const absl::StatusOr<Decoded> decoded = DecodeSummary(*summary, schema);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->body->epoch().kind(), 9);
  EXPECT_EQ(decoded->body->losses().rbegin()->reason(), 63);
}

}  // namespace
}  // namespace telltale::proto
