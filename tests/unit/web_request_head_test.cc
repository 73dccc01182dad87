// What a request may look like: one way to read it, or none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "collector/web/request_head.h"

namespace telltale::web {
namespace {

using ::testing::HasSubstr;

std::string Head(const std::string& headers) {
  return "POST /api/v1/top HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

void ExpectBad(const std::string& head, const std::string& part) {
  const absl::Status status = CheckHead(head);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << head;
  EXPECT_THAT(std::string(status.message()), HasSubstr(part)) << head;
}

TEST(RequestHeadTest, WhatClientsSendIsGood) {
  EXPECT_TRUE(CheckHead(Head("")).ok());
  EXPECT_TRUE(CheckHead(Head("Content-Length: 12\r\nAccept:*/*\r\nX-Tab:\ta b \r\n")).ok());
  EXPECT_TRUE(CheckHead(Head("Transfer-Encoding: Chunked\r\n")).ok());
  EXPECT_TRUE(CheckHead("GET / HTTP/1.0\r\n\r\n").ok());
}

TEST(RequestHeadTest, ALengthToldTwiceIsRefused) {
  ExpectBad(Head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), "more than once");
  ExpectBad(Head("Content-Length: 5\r\nContent-Length: 5\r\n"), "more than once");
  ExpectBad(Head("Content-Length: 5\r\ncontent-length: 6\r\n"), "more than once");
  ExpectBad(Head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "more than once");
}

TEST(RequestHeadTest, ALengthOnlySomeUnderstandIsRefused) {
  for (const char* length : {"", "+5", "-5", "5, 5", "0x5", "5 5", "9999999999999999999"}) {
    ExpectBad(Head(std::string("Content-Length: ") + length + "\r\n"), "not a number");
  }
  for (const char* encoding :
       {"gzip", "gzip, chunked", "chunked, identity", "xchunked", "\"chunked\"", ""}) {
    ExpectBad(Head(std::string("Transfer-Encoding: ") + encoding + "\r\n"), "not chunked");
  }
  ExpectBad("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0");
}

TEST(RequestHeadTest, HeadersThatEndElsewhereForOthersAreRefused) {
  ExpectBad(Head("X: a\r\n b\r\n"), "on one line");          // folded
  ExpectBad(Head("Content-Length : 5\r\n"), "on one line");  // space before the colon
  ExpectBad(Head("Content\tLength: 5\r\n"), "on one line");
  ExpectBad(Head(": 5\r\n"), "on one line");
  ExpectBad(Head("nonsense\r\n"), "on one line");
  ExpectBad(Head("X: a\rContent-Length: 5\r\n"), "control characters");
  ExpectBad(Head("X: a\nContent-Length: 5\r\n"), "control characters");
  ExpectBad(Head(std::string("X: a\0b\r\n", 8)), "control characters");
}

TEST(RequestHeadTest, OneHostIsNeeded) {
  ExpectBad("GET / HTTP/1.1\r\n\r\n", "one Host");
  ExpectBad(Head("Host: other\r\n"), "one Host");
}

TEST(RequestHeadTest, AnotherFirstLineIsRefused) {
  for (const char* line :
       {"GET /", "GET  HTTP/1.1", "GET / HTTP/2.0", "GET / http/1.1", " GET / HTTP/1.1",
        "GE(T / HTTP/1.1", "GET /a b HTTP/1.1", "GET /\x80 HTTP/1.1", ""}) {
    EXPECT_FALSE(CheckHead(std::string(line) + "\r\nHost: h\r\n\r\n").ok()) << line;
  }
}

TEST(RequestHeadTest, ManyHeadersAreTooMany) {
  std::string headers;
  for (size_t i = 1; i < kMaxHeaders; ++i) headers += "A: b\r\n";
  EXPECT_TRUE(CheckHead(Head(headers)).ok());
  EXPECT_EQ(CheckHead(Head(headers + "A: b\r\n")).code(), absl::StatusCode::kResourceExhausted);
}

TEST(RequestHeadTest, AHeadIsFoundOnceItHasAllCome) {
  const std::string head = Head("A: b\r\n");
  std::optional<size_t> found;
  for (size_t bytes = 0; bytes < head.size(); ++bytes) {
    EXPECT_TRUE(FindHead(head.substr(0, bytes), &found).ok());
    EXPECT_FALSE(found.has_value());
  }
  EXPECT_TRUE(FindHead(head + "body\n", &found).ok());
  EXPECT_EQ(found, head.size());
}

TEST(RequestHeadTest, ABareLineEndIsNotWaitedOn) {
  std::optional<size_t> found;
  for (const char* bytes : {"GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\rHost", "\n", "\r\r"}) {
    EXPECT_FALSE(FindHead(bytes, &found).ok()) << bytes;
  }
}

}  // namespace
}  // namespace telltale::web
