// A clone conflict in a node's record: which agents spoke as the node, from which machines, and
// what an operator decided. Pure changes of the record; the shard applies them and acts on its
// streams.
//
// An agent is known by the incarnation of its spool directory. A copied disk gives two machines one
// incarnation: then a decision names the machine too, and from then on only that one may speak.

#ifndef TELLTALE_COLLECTOR_INGEST_CLONE_DECISION_H_
#define TELLTALE_COLLECTOR_INGEST_CLONE_DECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/node_registry.h"
#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/operate.pb.h"

namespace telltale::ingest {

// An operator's order to keep one agent of a node.
struct KeepOrder {
  std::string node;
  std::string agent;  // as typed: the beginning of an incarnation, hexadecimal, perhaps "/MACHINE"
  std::string by;     // name in the operator's certificate
};

// Remembers that this incarnation spoke from there. `known` is an entry of a node's record.
void NoteMachine(v1::KnownIncarnation& known, const v1::NodeInfo& info, const std::string& address,
                 uint64_t now_ns);

// Changes the record as ordered. Nothing changes if it is so already, or on an error: NotFound, the
// id fits no agent; InvalidArgument: it fits several, or is too short. An error is one line that
// names what could be said instead.
absl::StatusOr<v1::KeepAnswer> Decide(const KeepOrder& order, uint64_t now_ns,
                                      storage::NodeRecord& record);

// Why a stream of this incarnation from this machine may not speak as the node, in one line that
// says what to do; OK: it may.
absl::Status MaySpeak(const storage::NodeRecord& record, const std::string& incarnation,
                      const std::string& fingerprint);

// "telltale nodes --node web-1 --keep 0123abcd", with a word to fill in where several could be.
std::string KeepCommand(const std::string& node, const std::vector<storage::Incarnation>& choices);

// The first digits of an incarnation or fingerprint, as people type them.
std::string ShortId(const std::string& bytes);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_CLONE_DECISION_H_
