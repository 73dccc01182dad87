#include "storage/verify_blobs.h"

#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/blob_rows.h"
#include "storage/keys.h"

namespace telltale::storage {

uint64_t VerifyBlobs(
    const Transaction& catalog,
    const std::function<void(const std::string& place, const std::string& what)>& fault,
    const std::function<bool()>& next) {
  std::vector<BlobInfo> blobs;
  const std::string pieces = TablePrefix(CatalogTable::kBlobPieces);
  std::string from = pieces;
  const auto nothing_before = [&](const std::string& to) {
    const absl::Status between =
        catalog.Scan(from, to, [&fault](std::string_view key, std::string_view) {
          fault(absl::StrCat("piece of a blob, key ", absl::BytesToHexString(std::string(key))),
                "belongs to no blob");
          return true;
        });
    if (!between.ok()) fault("pieces of blobs", std::string(between.message()));
  };
  const std::string records = TablePrefix(CatalogTable::kBlobs);
  const absl::Status scanned = catalog.Scan(
      records, PrefixEnd(records), [&](std::string_view key, std::string_view value) {
        const std::string of_it = pieces + std::string(key.substr(records.size()));
        nothing_before(of_it);
        from = PrefixEnd(of_it);  // of what cannot be read or is not finished any may be there
        const absl::StatusOr<BlobRecord> record = DecodeBlobRecord(key, value);
        if (!record.ok() || record->unfinished) return true;
        from = EncodeBlobPieceKey(record->info.id, BlobPieces(record->info.bytes));
        blobs.push_back(record->info);
        return true;
      });
  if (!scanned.ok()) return 0;  // said with the catalog
  nothing_before(PrefixEnd(pieces));

  uint64_t whole = 0;
  for (const BlobInfo& info : blobs) {
    const absl::StatusOr<std::string> content = ReadBlobContent(catalog, info);
    if (content.ok()) {
      ++whole;
    } else {
      fault(absl::StrCat("blob ", BlobName(info.id), " (", info.kind, " of ", info.owner, ")"),
            std::string(content.status().message()));
    }
    if (!next()) break;
  }
  return whole;
}

}  // namespace telltale::storage
