// Answers in the formats other programs read. JSON is not among them: it is the protobuf JSON of
// the message, made where answers are shown.
//
//   csv     tables, a row per figure, for spreadsheets and data frames; what the rows rest on
//           (watched_s, selected_s, lost_events) stands in each
//   folded  stacks as root;...;leaf weight, for flame graph programs; two weights (against, then
//           selection) where two selections are compared
//   svg     a flame graph as a picture
//   pprof   stacks as a gzipped profile, with low and high as further sample types
//
// Names came from other machines: each format escapes them. Pure functions; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_EXPORT_H_
#define TELLTALE_COLLECTOR_FORMATS_EXPORT_H_

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::formats {

struct File {
  std::string bytes;
  std::string content_type;
  std::string extension;  // ".csv"
};

// InvalidArgument names the formats there are for this type of answer ("csv", "folded", "svg",
// "pprof").
absl::Status Check(const google::protobuf::Message& answer, std::string_view format);
absl::StatusOr<File> Export(const google::protobuf::Message& answer, std::string_view format);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_EXPORT_H_
