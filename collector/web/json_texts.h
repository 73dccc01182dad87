// The JSON of large answers, kept for who is given the same answer again: of what an answer from
// memory takes, printing it takes most (15 ms for 250 KB, where all took 23). A text belongs to the
// bytes of its answer, so it is never old. Bounded in bytes; what was not used for longest goes
// first.
//
// Thread-safe; owned by the table of answers.

#ifndef TELLTALE_COLLECTOR_WEB_JSON_TEXTS_H_
#define TELLTALE_COLLECTOR_WEB_JSON_TEXTS_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "collector/query/answer_cache.h"

namespace telltale::web {

class JsonTexts {
 public:
  explicit JsonTexts(size_t max_bytes) : kept_(max_bytes) {}

  // Protobuf JSON with the names of query.proto and every field. Internal: it has none.
  absl::StatusOr<std::string> Of(const google::protobuf::Message& answer);
  // The same of an answer that is there as bytes; `type`: any message of its type.
  absl::StatusOr<std::string> OfBytes(const google::protobuf::Message& type,
                                      const std::string& answer);
  query::AnswerCache::Figures figures() const { return kept_.figures(); }

 private:
  // `print` where the text is not kept.
  absl::StatusOr<std::string> KeptOr(const google::protobuf::Message& type,
                                     const std::string& answer,
                                     const std::function<absl::StatusOr<std::string>()>& print);

  query::AnswerCache kept_;  // by type and bytes of the answer
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_JSON_TEXTS_H_
