#include "collector/cli/session.h"

#include <google/protobuf/util/json_util.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/commands.h"
#include "collector/cli/retyped.h"
#include "collector/formats/export.h"

namespace telltale::cli {
namespace {

absl::StatusOr<v1::Tier> ParseTier(const std::string& text) {
  if (text.empty() || text == "auto") return v1::TIER_AUTO;
  if (text == "raw") return v1::TIER_RAW;
  if (text == "5m" || text == "5min") return v1::TIER_5MIN;
  if (text == "1h") return v1::TIER_1H;
  if (text == "1d") return v1::TIER_1D;
  return absl::InvalidArgumentError(
      absl::StrCat("--tier \"", text, "\": must be auto, raw, 5m, 1h or 1d"));
}

}  // namespace

absl::StatusOr<Session> OpenSession(const Arguments& arguments) {
  const std::string format = arguments.folded ? "folded" : arguments.output;
  const std::vector<std::string> formats = {"table", "json", "csv", "folded", "svg", "pprof"};
  if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("-o \"", format, "\": must be ", absl::StrJoin(formats, ", ")));
  }
  if (format == "pprof" && isatty(STDOUT_FILENO) != 0) {
    return absl::InvalidArgumentError(
        "-o pprof: is not for a terminal; write it to a file, e.g. > cpu.pb.gz");
  }
  if (arguments.timeout_s < 1 || arguments.timeout_s > 3600) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timeout ", arguments.timeout_s, ": must be 1 to 3,600 seconds"));
  }
  SettingsSources sources;
  sources.flags = arguments.connection;
  sources.environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  sources.files = SettingsFiles(sources.environment("HOME"));
  absl::StatusOr<Settings> settings = LoadSettings(sources);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<std::unique_ptr<Client>> client =
      Client::Open(*settings, std::chrono::seconds(arguments.timeout_s));
  if (!client.ok()) return client.status();
  Session session;
  session.words = arguments.words;
  session.client = *std::move(client);
  session.view = {StyleOfStdout(), absl::LocalTimeZone(), absl::Now()};
  session.format = format;
  return session;
}

absl::StatusOr<v1::Selection> SelectionOf(const Arguments& arguments, const Session& session,
                                          absl::Duration usual) {
  absl::StatusOr<Range> range =
      ResolveRange(arguments.range, session.view.now, session.view.zone, usual);
  if (!range.ok()) return range.status();
  absl::StatusOr<v1::Tier> tier = ParseTier(arguments.tier);
  if (!tier.ok()) return tier.status();
  v1::Selection selection;
  for (const std::string& node : arguments.nodes) selection.add_nodes(node);
  for (const std::string& label : arguments.labels) selection.add_label_matches(label);
  selection.set_start_s(static_cast<double>(absl::ToUnixMicros(range->start)) * 1e-6);
  selection.set_end_s(static_cast<double>(absl::ToUnixMicros(range->end)) * 1e-6);
  selection.set_tier(*tier);
  return selection;
}

absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok())
    return absl::InternalError(absl::StrCat("json: ", std::string(status.message())));
  return json;
}

absl::Status PrintJson(const google::protobuf::Message& message) {
  const absl::StatusOr<std::string> json = JsonText(message);
  if (json.ok()) Print(*json);
  return json.status();
}

absl::Status CheckFormat(const Session& session, const google::protobuf::Message& answer) {
  if (session.table() || session.json()) return absl::OkStatus();
  return formats::Check(answer, session.format);
}

int Show(const Session& session, const google::protobuf::Message& answer,
         const std::function<std::string()>& render) {
  if (session.json()) {
    const absl::Status status = PrintJson(answer);
    return status.ok() ? kOk : Report(status);
  }
  if (session.table()) {
    Print(render());
    return kOk;
  }
  const absl::StatusOr<formats::File> file = formats::Export(answer, session.format);
  if (!file.ok()) return Report(file.status());
  Print(file->bytes);
  return kOk;
}

void Print(const std::string& text) { std::cout << text << std::flush; }

int Deliver(const Session& session, const google::protobuf::Message& answer,
            const v1::Coverage& coverage, const v1::Selection& asked, bool empty,
            const std::function<std::string()>& render, Side side,
            const std::function<absl::StatusOr<std::string>()>& json) {
  const std::string nothing = empty ? NothingFound(coverage, asked, session.view) : "";
  if (session.json()) {
    const absl::StatusOr<std::string> text = json ? json() : JsonText(answer);
    if (!text.ok()) return Report(text.status());
    Print(*text);
  } else if (!session.table()) {
    const absl::StatusOr<formats::File> file = formats::Export(answer, session.format);
    if (!file.ok()) return Report(file.status());
    Print(file->bytes);
    View plain = session.view;
    plain.style = Style{};
    if (nothing.empty()) std::cerr << RenderCoverage(coverage, plain);
  } else if (nothing.empty()) {
    Print(Headline(coverage, session.view) + render());
  }
  if (nothing.empty()) return kOk;
  std::cerr << "telltale: " << nothing << "\n";
  const std::vector<std::string> range = NearestRange(coverage, asked, session.view.zone);
  if (!range.empty()) {
    std::cerr << "  try  "
              << (side == Side::kAgainst ? RetypedAgainst(session.words, range)
                                         : Retyped(session.words, range))
              << "\n";
  }
  return kNoData;
}

bool MayPass(const absl::Status& status, bool heard) {
  return absl::IsUnavailable(status) || (heard && absl::IsUnauthenticated(status));
}

int Report(const absl::Status& status) {
  std::cerr << "telltale: " << Escaped(std::string(status.message())) << "\n";
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kOk;
    case absl::StatusCode::kInvalidArgument:
      return kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kFailedPrecondition:
      return kNoCollector;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return kRefused;
    case absl::StatusCode::kNotFound:
      return kUnknownName;
    default:
      return kFailed;
  }
}

}  // namespace telltale::cli
