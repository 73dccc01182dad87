#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/commands.h"
#include "collector/cli/files.h"
#include "collector/cli/session.h"
#include "collector/cli/spool_file.h"
#include "collector/cli/spool_state_file.h"
#include "collector/query/nearest.h"
#include "proto/codec.h"
#include "proto/dump.h"
#include "telltale/v1/store.pb.h"

namespace telltale::cli {
namespace {

constexpr size_t kMaxInput = 16 << 20;
constexpr size_t kRawHead = 1 + 8 + 8;  // version byte, digest, length: storage/FORMAT.md
constexpr char kStoredVersion = 1;
constexpr char kOfNoMark[] = "summary";  // what a file is taken for that does not say what it is

// One dump on its way to stdout: text or JSON of each message found, in order.
class Dump {
 public:
  explicit Dump(bool json) : json_(json), schema_(proto::BuiltinSchema()) {}

  absl::Status Schema(std::string_view bytes) {
    v1::Schema schema;
    if (absl::Status status = Parse(bytes, "Schema", &schema); !status.ok()) return status;
    if (absl::Status status = proto::CheckSchema(schema); !status.ok()) return status;
    schema_ = schema;
    return Show(schema, [&] { return proto::DumpSchema(schema); });
  }

  absl::Status Names(std::string_view bytes) {
    v1::Names names;
    if (absl::Status status = Parse(bytes, "Names", &names); !status.ok()) return status;
    for (int i = 0; i < std::min(names.offset_size(), names.name_size()); ++i) {
      symbols_[{names.build_id(), names.offset(i)}] = names.name(i);
    }
    return Show(names, [&] { return proto::DumpNames(names); });
  }

  // The envelope is shown even when what it holds cannot be opened.
  absl::Status Summary(std::string_view bytes) {
    v1::Summary summary;
    if (absl::Status status = Parse(bytes, "Summary", &summary); !status.ok()) return status;
    const absl::StatusOr<proto::Decoded> decoded = proto::DecodeSummary(summary, schema_);
    if (json_ && decoded.ok()) {
      // The compressed parts as they are inside.
      v1::Summary envelope = summary;
      envelope.clear_body();
      envelope.clear_cells();
      if (absl::Status status = Show(envelope, nullptr); !status.ok()) return status;
    } else if (absl::Status status = Show(summary, [&] { return proto::DumpEnvelope(summary); });
               !status.ok()) {
      return status;
    }
    if (!decoded.ok()) return decoded.status();
    if (absl::Status status = Body(*decoded->body); !status.ok()) return status;
    const absl::StatusOr<v1::SketchCells> cells = proto::DecodeCells(summary);
    if (!cells.ok()) return cells.status();
    if (cells->vitals().empty()) return absl::OkStatus();
    return Show(*cells, [&] { return proto::DumpCells(*cells, schema_); });
  }

  absl::Status BodyBytes(std::string_view bytes) {
    v1::SummaryBody body;
    if (absl::Status status = Parse(bytes, "SummaryBody", &body); !status.ok()) return status;
    return Body(body);
  }

  absl::Status Cells(std::string_view bytes) {
    v1::SketchCells cells;
    if (absl::Status status = Parse(bytes, "SketchCells", &cells); !status.ok()) return status;
    return Show(cells, [&] { return proto::DumpCells(cells, schema_); });
  }

  template <typename Message>
  absl::Status Stored(std::string_view bytes) {
    Message message;
    if (absl::Status status = Version(bytes); !status.ok()) return status;
    if (absl::Status status = Parse(bytes.substr(1), message.GetTypeName().c_str(), &message);
        !status.ok())
      return status;
    return Show(message, nullptr);
  }

  absl::Status Raw(std::string_view bytes) {
    if (absl::Status status = Version(bytes); !status.ok()) return status;
    if (bytes.size() < kRawHead)
      return absl::DataLossError(
          absl::StrCat("raw value: ends at byte ", bytes.size(), ", its head has ", kRawHead));
    return Summary(bytes.substr(kRawHead));
  }

  absl::Status Spool(std::string_view bytes) {
    const SpoolFile file = ReadSpoolFile(bytes);
    for (const SpoolChunk& chunk : file.chunks) {
      absl::Status status;
      if (chunk.type == 1)
        status = Schema(chunk.payload);
      else if (chunk.type == 2)
        status = Names(chunk.payload);
      else if (chunk.type == 3)
        status = Summary(chunk.payload);
      else if (chunk.type == 4 && chunk.payload.size() >= 8)
        status = BodyBytes(chunk.payload.substr(8));
      else
        status = absl::DataLossError(absl::StrCat("chunk of unknown type ", chunk.type));
      if (!status.ok()) {
        return absl::DataLossError(absl::StrCat("spool file: chunk at byte ", chunk.offset, ": ",
                                                std::string(status.message())));
      }
    }
    return file.damage;
  }

  absl::Status SpoolText(const absl::StatusOr<SpoolStateFile>& file) {
    if (!file.ok()) return file.status();
    return Show(file->fields, [&] { return file->text; });
  }

 private:
  static absl::Status Version(std::string_view bytes) {
    if (bytes.empty()) return absl::DataLossError("stored value: is empty, want a version byte");
    if (bytes[0] == kStoredVersion) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("stored value: version ",
                                            static_cast<uint8_t>(bytes[0]), ", this program knows ",
                                            static_cast<int>(kStoredVersion)));
  }

  static absl::Status Parse(std::string_view bytes, const char* what,
                            google::protobuf::Message* message) {
    if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(bytes.size(), " bytes are not a ", what));
  }

  absl::Status Body(const v1::SummaryBody& body) {
    return Show(body, [&] {
      return proto::DumpBody(body, schema_, [this](const v1::Mapping& mapping, uint64_t offset) {
        const auto name = symbols_.find({mapping.build_id(), offset});
        return name == symbols_.end() ? std::string() : name->second;
      });
    });
  }

  absl::Status Show(const google::protobuf::Message& message,
                    const std::function<std::string()>& text) {
    if (!json_ && text) {
      Print(text());
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> json = proto::DumpJson(message);
    if (!json.ok()) return json.status();
    Print(*json + "\n");
    return absl::OkStatus();
  }

  const bool json_;
  v1::Schema schema_;
  std::map<std::pair<std::string, uint64_t>, std::string> symbols_;
};

// Told by how it begins.
std::string KindOf(std::string_view bytes) {
  if (IsSpoolFile(bytes)) return "spool";
  if (IsSpoolState(bytes)) return "spool-state";
  if (IsIncarnation(bytes)) return "incarnation";
  return kOfNoMark;
}

}  // namespace

int RunDump(const Arguments& arguments) {
  absl::StatusOr<std::string> bytes = ReadFile(arguments.file, kMaxInput);
  if (!bytes.ok())
    return Report(absl::Status(absl::StatusCode::kInternal, bytes.status().message()));
  if (bytes->empty()) {
    return Report(absl::InvalidArgumentError(absl::StrCat("dump: ", arguments.file, " is empty")));
  }
  Dump dump(arguments.output == "json");
  using Reader = std::function<absl::Status(std::string_view)>;
  const std::map<std::string, Reader> kinds = {
      {"summary", [&](std::string_view b) { return dump.Summary(b); }},
      {"body", [&](std::string_view b) { return dump.BodyBytes(b); }},
      {"schema", [&](std::string_view b) { return dump.Schema(b); }},
      {"names", [&](std::string_view b) { return dump.Names(b); }},
      {"cells", [&](std::string_view b) { return dump.Cells(b); }},
      {"spool", [&](std::string_view b) { return dump.Spool(b); }},
      {"spool-state", [&](std::string_view b) { return dump.SpoolText(ReadSpoolState(b)); }},
      {"incarnation", [&](std::string_view b) { return dump.SpoolText(ReadIncarnation(b)); }},
      {"raw", [&](std::string_view b) { return dump.Raw(b); }},
      {"series", [&](std::string_view b) { return dump.Stored<v1::SeriesBlock>(b); }},
      {"line", [&](std::string_view b) { return dump.Stored<v1::LineBlock>(b); }},
      {"rollup-window", [&](std::string_view b) { return dump.Stored<v1::RollupWindow>(b); }},
      {"rollup-vital", [&](std::string_view b) { return dump.Stored<v1::RollupVital>(b); }}};
  std::string kind = arguments.kind;
  if (kind.empty()) kind = KindOf(*bytes);
  const auto reader = kinds.find(kind);
  if (reader == kinds.end()) {
    std::vector<std::string> names;
    for (const auto& [name, function] : kinds) names.push_back(name);
    return Report(absl::InvalidArgumentError(
        absl::StrCat("dump: --kind \"", kind, "\": must be one of ", absl::StrJoin(names, ", "))));
  }
  const absl::Status status = reader->second(*bytes);
  if (status.ok()) return kOk;
  const std::string hint = arguments.kind.empty() && kind == kOfNoMark
                               ? "; if it is something else, say what with --kind"
                               : "";
  return Report(absl::InternalError(absl::StrCat("dump: ", arguments.file, " as ", kind, ": ",
                                                 std::string(status.message()), hint)));
}

}  // namespace telltale::cli
