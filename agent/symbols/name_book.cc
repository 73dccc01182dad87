#include "agent/symbols/name_book.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "proto/codec.h"

namespace telltale::agent {
namespace {

constexpr size_t kNameBytes = 512;
// The collector ends the stream at a message above 1 MiB (collector/grpc_server.h) and the spool
// reads no chunk above 4 MiB (agent/spool/record.h): a message stays well below both.
constexpr size_t kMessageBytes = 256 << 10;
// The spool takes no record above 8 MiB, and the summary must fit beside the names.
constexpr size_t kEpochBytes = 4 << 20;
// Of a name in a message besides its text: an offset of at most 10 bytes, tags and lengths.
constexpr size_t kBesidesTextBytes = 16;

// proto::CheckNames refuses a message of more names, however short.
static_assert(kMessageBytes / (kBesidesTextBytes + 1) <= 16 * 1024);

struct Named {
  uint64_t offset;
  std::string name;
};

size_t BytesOf(const std::string& name) { return name.size() + kBesidesTextBytes; }

// The build id says which file it is; paths differ between containers. No file is so long that an
// offset has the highest bits.
uint64_t KeyOf(v1::MappingKind kind, std::string_view build_id, uint64_t offset) {
  const uint64_t seed = offset ^ static_cast<uint64_t>(kind) << 60;
  return XXH3_64bits_withSeed(build_id.data(), build_id.size(), seed);
}

bool SentLately(uint64_t sent_ns, uint64_t now_ns) {
  const uint64_t apart = std::max(sent_ns, now_ns) - std::min(sent_ns, now_ns);
  return sent_ns != 0 && apart < proto::kNamesTravelAgainNs;
}

uint64_t KeyOf(const CodeLocation& l) { return KeyOf(l.file->kind, l.file->build_id, l.offset); }

// What every message of a file begins with.
v1::Names HeadOf(const v1::Tables& tables, const v1::Mapping& mapping) {
  v1::Names head;
  head.set_build_id(mapping.build_id());
  head.set_kind(mapping.kind());
  if (mapping.path() != 0) head.set_path(tables.strings(mapping.path() - 1));
  return head;
}

// The names of one file, in as many messages as they need.
void AppendMessages(const v1::Names& head, std::vector<Named> named,
                    std::vector<v1::Names>* messages) {
  std::ranges::sort(named, {}, &Named::offset);
  v1::Names* current = nullptr;
  size_t bytes = 0;
  for (Named& n : named) {
    const size_t more = BytesOf(n.name);
    if (current == nullptr || bytes + more > kMessageBytes) {
      current = &messages->emplace_back(head);
      bytes = head.ByteSizeLong();
    }
    bytes += more;
    current->add_offset(n.offset);
    current->add_name(std::move(n.name));
  }
}

}  // namespace

v1::NameOutcome NameBook::Known(const CodeLocation& location) const {
  if (!location.file || location.file->build_id.empty()) return v1::NAME_OUTCOME_UNSPECIFIED;
  const uint64_t key = KeyOf(location);
  for (const Map* map : {&young_, &old_}) {
    if (const auto it = map->find(key); it != map->end()) return it->second.outcome;
  }
  return v1::NAME_OUTCOME_UNSPECIFIED;
}

void NameBook::Learn(const CodeLocation& location, const FunctionName& name) {
  if (!location.file || location.file->build_id.empty() || MayBeNamedLater(name.outcome)) return;
  MakeRoom();
  young_[KeyOf(location)] = {proto::SanitizeText(name.text, kNameBytes), name.outcome, 0};
}

void NameBook::MakeRoom() {
  if (young_.size() < max_names_ / 2) return;
  old_ = std::move(young_);
  young_ = {};
}

NameBook::Entry* NameBook::Find(uint64_t key) {
  if (const auto it = young_.find(key); it != young_.end()) return &it->second;
  const auto it = old_.find(key);
  if (it == old_.end()) return nullptr;
  Entry entry = std::move(it->second);
  old_.erase(it);
  MakeRoom();
  return &(young_[key] = std::move(entry));
}

std::vector<v1::Names> NameBook::Unsent(const v1::Tables& tables, uint64_t now_unix_ns) {
  std::vector<std::vector<Named>> by_file(tables.mappings_size());
  size_t epoch_bytes = 0;
  for (int i = 0; i < tables.frame_mapping_size(); ++i) {
    const uint32_t file = tables.frame_mapping(i);
    if (file == 0) continue;
    const v1::Mapping& mapping = tables.mappings(file - 1);
    Entry* entry = Find(KeyOf(mapping.kind(), mapping.build_id(), tables.frame_offset(i)));
    if (entry == nullptr || entry->name.empty() || SentLately(entry->sent_unix_ns, now_unix_ns)) {
      continue;
    }
    size_t bytes = BytesOf(entry->name);
    if (by_file[file - 1].empty()) bytes += HeadOf(tables, mapping).ByteSizeLong();
    if (epoch_bytes + bytes > kEpochBytes) continue;
    epoch_bytes += bytes;
    entry->sent_unix_ns = now_unix_ns;
    by_file[file - 1].push_back({tables.frame_offset(i), entry->name});
  }
  std::vector<v1::Names> messages;
  for (size_t f = 0; f < by_file.size(); ++f) {
    if (by_file[f].empty()) continue;
    AppendMessages(HeadOf(tables, tables.mappings(static_cast<int>(f))), std::move(by_file[f]),
                   &messages);
  }
  return messages;
}

void NameBook::ForgetSent() {
  for (Map* map : {&young_, &old_}) {
    for (auto& [key, entry] : *map) entry.sent_unix_ns = 0;
  }
}

}  // namespace telltale::agent
