// Feeds arbitrary bytes to both readers of what lies in a spool directory: the agent's, after a
// crash, and the command line's, which is given files of other machines. The first byte chooses:
//   'r' a record     'j' a journal     's' a slot of the state     'i' an incarnation, as they are
//   'c' chunks (type, length of one byte, payload) with checksums that fit, in a file
//   't' lines of a state with a checksum that fits
// The two readers must agree on what is whole, and what the agent reads it must write again.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "agent/spool/record.h"
#include "agent/spool/spool_state.h"
#include "collector/cli/spool_file.h"
#include "collector/cli/spool_state_file.h"

namespace {

using namespace telltale;

void Require(bool fact) {
  if (!fact) std::abort();
}

void OpenFile(std::string_view bytes) {
  const cli::SpoolFile shown = cli::ReadSpoolFile(bytes);
  const auto record = agent::DecodeRecord(bytes);
  if (record.ok()) {
    Require(shown.damage.ok());
    const std::string again = agent::EncodeRecord(*record);
    const auto reread = agent::DecodeRecord(again);
    Require(reread.ok() && agent::EncodeRecord(*reread) == again);
  } else {
    Require(!record.status().message().empty());
  }
  const auto journal = agent::DecodeJournal(bytes);
  if (journal.ok()) Require(!shown.chunks.empty());
  size_t at = 0;
  for (const cli::SpoolChunk& chunk : shown.chunks) {
    Require(chunk.offset > at || at == 0);
    at = chunk.offset;
    Require(chunk.offset + chunk.payload.size() <= bytes.size());
  }
}

void OpenState(std::string_view bytes) {
  const auto state = agent::SpoolState::Decode(bytes);
  if (state.ok()) {
    const std::string slot = state->Encode();
    Require(slot.size() == agent::SpoolState::kSlotBytes);
    const auto again = agent::SpoolState::Decode(slot);
    Require(again.ok() && again->Encode() == slot);
    Require(cli::ReadSpoolState(slot).ok());
  }
  const auto shown = cli::ReadSpoolState(bytes);
  if (!shown.ok()) return;
  for (const char c : shown->text) Require(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

void AppendChunk(uint8_t type, std::string_view payload, std::string* to) {
  const size_t begin = to->size();
  to->push_back(static_cast<char>(type));
  for (int i = 0; i < 4; ++i) to->push_back(static_cast<char>(payload.size() >> (8 * i)));
  to->append(payload);
  const uint64_t sum = XXH3_64bits(to->data() + begin, to->size() - begin);
  for (int i = 0; i < 8; ++i) to->push_back(static_cast<char>(sum >> (8 * i)));
}

std::string WithChecksums(std::string_view bytes) {
  std::string file = "TTSPOOL1";
  while (bytes.size() >= 2) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(bytes[1]), bytes.size() - 2);
    AppendChunk(static_cast<uint8_t>(bytes[0]), bytes.substr(2, length), &file);
    bytes.remove_prefix(2 + length);
  }
  return file;
}

std::string SlotOf(std::string_view lines) {
  std::string slot = "telltale-spool-state 1\n" + std::string(lines.substr(0, 60'000));
  if (slot.back() != '\n') slot += '\n';
  slot += absl::StrFormat("checksum %016x\n", XXH3_64bits(slot.data(), slot.size()));
  slot.resize(agent::SpoolState::kSlotBytes, '\0');
  return slot;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r':
    case 'j':
      OpenFile(rest);
      break;
    case 's':
      OpenState(rest);
      break;
    case 'i':
      (void)cli::ReadIncarnation(rest);
      break;
    case 'c':
      OpenFile(WithChecksums(rest));
      break;
    case 't':
      OpenState(SlotOf(rest));
      break;
    default:
      break;
  }
  const uint64_t sequence = agent::SequenceOfFileName(rest);
  Require(sequence == 0 || agent::RecordFileName(sequence) == rest);
  return 0;
}
