// Feeds arbitrary bytes to the decoders of keys, which read what lies in a store. The first byte
// chooses one:
//   'r' raw and cells   's' series   'l' line   'u' rollup   'd' derived   'n' names
//   'g' ledger          'i' dirty windows       'j' dirty lines            'o' tables keyed by node
//   'b' blobs           'a' audit of blobs      '8' numbers
// What is a key must be written again as the same bytes, and of two keys the lesser bytes are the
// lesser key.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/keys.h"

namespace {

using namespace telltale::storage;

void Require(bool fact) {
  if (!fact) std::abort();
}

template <typename Decode, typename Encode>
void OpenKey(std::string_view bytes, Decode decode, Encode encode) {
  const auto key = decode(bytes);
  if (!key.ok()) {
    Require(!key.status().message().empty());
    return;
  }
  Require(encode(*key) == bytes);
}

// Of a catalog's table the first byte is known to who scans it, and not looked at.
template <typename Decode, typename Encode>
void OpenCatalogKey(std::string_view bytes, Decode decode, Encode encode) {
  const auto key = decode(bytes);
  if (key.ok()) Require(encode(*key).substr(1) == bytes.substr(1));
}

void OpenRaw(std::string_view bytes) {
  OpenKey(bytes, DecodeRawKey, EncodeRawKey);
  const auto key = DecodeRawKey(bytes);
  if (!key.ok()) return;
  const std::string from = RawKeyFrom(key->day, key->node, key->start_ns);
  Require(from <= bytes && bytes.starts_with(DayPrefix(key->day)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r':
      OpenRaw(rest);
      break;
    case 's':
      OpenKey(rest, DecodeSeriesKey, EncodeSeriesKey);
      break;
    case 'l':
      OpenKey(rest, DecodeLineKey, EncodeLineKey);
      break;
    case 'u':
      OpenKey(rest, DecodeRollupKey, EncodeRollupKey);
      break;
    case 'd':
      OpenKey(rest, DecodeDerivedKey, EncodeDerivedKey);
      break;
    case 'n':
      if (const auto origin = DecodeNameKey(rest); origin.ok()) {
        Require(rest.starts_with(NamePartitionPrefix(origin->partition)));
        Require(NamePartitionEndNs(origin->partition) > 0);
      }
      break;
    case 'g':
      OpenCatalogKey(rest, DecodeLedgerKey,
                     [](const auto& key) { return LedgerKey(key.first, key.second); });
      break;
    case 'i':
      OpenCatalogKey(rest, DecodeDirtyKey, EncodeDirtyKey);
      break;
    case 'j':
      OpenCatalogKey(rest, DecodeDirtyLineKey, EncodeDirtyLineKey);
      break;
    case 'b':
      OpenCatalogKey(rest, DecodeBlobKey, EncodeBlobKey);
      break;
    case 'a':
      OpenCatalogKey(rest, DecodeBlobAuditKey, EncodeBlobAuditKey);
      break;
    case 'o':
      Require(DecodeNodeOf(rest).ok() || !DecodeNodeOf(rest).status().message().empty());
      break;
    case '8':
      OpenKey(rest, DecodeU64, EncodeU64);
      break;
    default:
      break;
  }
  const std::string end = PrefixEnd(rest);
  Require(end.empty() || end > rest);
  return 0;
}
