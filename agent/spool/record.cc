#include "agent/spool/record.h"

#include <xxhash.h>

#include <charconv>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::agent {
namespace {

constexpr std::string_view kMagic = "TTSPOOL1";
constexpr size_t kHeadBytes = 1 + sizeof(uint32_t);
constexpr size_t kChecksumBytes = sizeof(uint64_t);
constexpr std::string_view kExtension = ".rec";
constexpr size_t kSequenceDigits = 20;

enum ChunkType : uint8_t { kSchema = 1, kNames = 2, kSummary = 3, kJournalBody = 4 };

struct Chunk {
  uint8_t type = 0;
  std::string_view payload;
};

void AppendLittleEndian(uint64_t value, size_t bytes, std::string* to) {
  for (size_t i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

void AppendChunk(ChunkType type, std::string_view payload, std::string* to) {
  const size_t begin = to->size();
  to->push_back(static_cast<char>(type));
  AppendLittleEndian(payload.size(), sizeof(uint32_t), to);
  to->append(payload);
  AppendLittleEndian(XXH3_64bits(to->data() + begin, to->size() - begin), kChecksumBytes, to);
}

// Walks the chunks of a file, never past its end.
class ChunkReader {
 public:
  explicit ChunkReader(std::string_view bytes) : all_(bytes) {
    whole_ = bytes.substr(0, kMagic.size()) == kMagic;
    at_ = kMagic.size();
  }

  // False at the end, and at damage: then error() says what and where.
  bool Next(Chunk* chunk) {
    if (!whole_) return Damaged("does not begin with TTSPOOL1");
    const std::string_view rest = all_.substr(at_);
    if (rest.empty()) return false;
    if (rest.size() < kHeadBytes + kChecksumBytes) return Damaged("ends inside a chunk");
    const uint64_t length = LittleEndian(rest.substr(1, sizeof(uint32_t)));
    if (length > kMaxChunkBytes) return Damaged("has a chunk over the limit of 4 MiB");
    if (rest.size() - kHeadBytes - kChecksumBytes < length) return Damaged("ends inside a chunk");
    const std::string_view sum = rest.substr(kHeadBytes + length, kChecksumBytes);
    if (XXH3_64bits(rest.data(), kHeadBytes + length) != LittleEndian(sum)) {
      return Damaged("has a chunk with a wrong checksum");
    }
    *chunk = {static_cast<uint8_t>(rest[0]), rest.substr(kHeadBytes, length)};
    at_ += kHeadBytes + length + kChecksumBytes;
    return true;
  }

  const std::string& error() const { return error_; }

 private:
  bool Damaged(const char* how) {
    error_ = absl::StrCat(how, " at byte ", at_ > all_.size() ? 0 : at_);
    return false;
  }

  std::string_view all_;
  size_t at_ = 0;
  bool whole_ = false;
  std::string error_;
};

template <typename Message>
bool Parse(std::string_view payload, Message* message) {
  return message->ParseFromArray(payload.data(), static_cast<int>(payload.size()));
}

}  // namespace

uint64_t LeaveOutOversizeNames(std::vector<v1::Names>* names) {
  uint64_t left_out = 0;
  size_t bytes = 0;
  std::erase_if(*names, [&](const v1::Names& message) {
    const size_t payload = message.ByteSizeLong();
    const size_t chunk = kHeadBytes + payload + kChecksumBytes;
    if (payload <= kMaxChunkBytes && bytes + chunk <= kMaxNamesBytes) {
      bytes += chunk;
      return false;
    }
    left_out += static_cast<uint64_t>(message.name_size());
    return true;
  });
  return left_out;
}

std::string EncodeRecord(const Record& record) {
  std::string bytes(kMagic);
  AppendChunk(kSchema, record.schema.SerializeAsString(), &bytes);
  for (const v1::Names& names : record.names) {
    AppendChunk(kNames, names.SerializeAsString(), &bytes);
  }
  AppendChunk(kSummary, record.summary.SerializeAsString(), &bytes);
  return bytes;
}

absl::StatusOr<Record> DecodeRecord(std::string_view bytes) {
  Record record;
  ChunkReader reader(bytes);
  Chunk chunk;
  bool has_schema = false, has_summary = false;
  while (reader.Next(&chunk)) {
    bool good = !has_summary;
    if (good && chunk.type == kSchema) {
      good = !has_schema && Parse(chunk.payload, &record.schema);
      has_schema = true;
    } else if (good && chunk.type == kNames) {
      good = Parse(chunk.payload, &record.names.emplace_back());
    } else if (good && chunk.type == kSummary) {
      good = Parse(chunk.payload, &record.summary);
      has_summary = true;
    } else {
      good = false;
    }
    if (!good) {
      return absl::DataLossError(absl::StrCat("record has a chunk of type ", chunk.type,
                                              " that is unreadable or out of place"));
    }
  }
  if (!reader.error().empty()) return absl::DataLossError(absl::StrCat("record ", reader.error()));
  if (!has_schema || !has_summary) {
    return absl::DataLossError("record ends before its summary");
  }
  return record;
}

std::string EncodeJournalHead(const v1::Schema& schema) {
  std::string bytes(kMagic);
  AppendChunk(kSchema, schema.SerializeAsString(), &bytes);
  return bytes;
}

std::string EncodeJournalEntry(uint64_t sequence, const v1::SummaryBody& body) {
  std::string payload;
  AppendLittleEndian(sequence, sizeof(sequence), &payload);
  body.AppendToString(&payload);
  std::string bytes;
  AppendChunk(kJournalBody, payload, &bytes);
  return bytes;
}

absl::StatusOr<JournalEntry> DecodeJournal(std::string_view bytes) {
  JournalEntry entry;
  ChunkReader reader(bytes);
  Chunk chunk, last;
  bool has_schema = false;
  while (reader.Next(&chunk)) {
    if (chunk.type == kSchema && !has_schema) {
      has_schema = Parse(chunk.payload, &entry.schema);
    } else if (chunk.type == kJournalBody && chunk.payload.size() > sizeof(uint64_t)) {
      last = chunk;
    }
  }
  if (!has_schema || last.payload.empty()) {
    return absl::NotFoundError("journal holds no whole entry");
  }
  entry.sequence = LittleEndian(last.payload.substr(0, sizeof(uint64_t)));
  if (entry.sequence == 0 || !Parse(last.payload.substr(sizeof(uint64_t)), &entry.body)) {
    return absl::NotFoundError("journal's last entry cannot be read");
  }
  return entry;
}

std::string RecordFileName(uint64_t sequence) { return absl::StrFormat("%020d.rec", sequence); }

uint64_t SequenceOfFileName(std::string_view name) {
  if (name.size() != kSequenceDigits + kExtension.size()) return 0;
  if (name.substr(kSequenceDigits) != kExtension) return 0;
  uint64_t sequence = 0;
  const char* end = name.data() + kSequenceDigits;
  const auto parsed = std::from_chars(name.data(), end, sequence);
  return parsed.ec == std::errc() && parsed.ptr == end ? sequence : 0;
}

}  // namespace telltale::agent
