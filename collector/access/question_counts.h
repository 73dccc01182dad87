// Which questions are one entry of the audit log: those of one asker of one kind about the same
// nodes, within an hour of the first. Of one asker so many are told apart; the others of that hour
// count in one more, so that nobody fills the log by asking about ever other nodes.
//
// One thread at a time: the audit log's lock guards it.

#ifndef TELLTALE_COLLECTOR_ACCESS_QUESTION_COUNTS_H_
#define TELLTALE_COLLECTOR_ACCESS_QUESTION_COUNTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "telltale/v1/access.pb.h"

namespace telltale::access {

class QuestionCounts {
 public:
  static constexpr uint64_t kHourNs = 3'600'000'000'000;
  static constexpr size_t kToldApart = 20;  // of one asker
  static constexpr size_t kAskers = 1'000;  // above that the hour that began first ends early

  struct Question {
    v1::StoredAuditEntry entry;      // with how often it was asked
    std::optional<uint64_t> number;  // of its row; none: it has none yet
    uint64_t written = 0;            // how often, as the row has it
  };
  using Visit = std::function<void(Question&)>;

  // The question that `asked`, made at its time_ns, counts in, counted. `over` is given those whose
  // hour has ended.
  Question& Count(const v1::StoredAuditEntry& asked, const Visit& over);
  void ForEach(const Visit& visit);

 private:
  struct Asker {
    uint64_t since_ns = 0;
    std::map<std::string, Question> questions;  // by kind and nodes
  };
  void MakeRoom(const Visit& over);

  std::map<std::string, Asker> askers_;
};

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_QUESTION_COUNTS_H_
