#include <map>

#include "absl/strings/str_cat.h"
#include "collector/cli/commands.h"
#include "collector/cli/files.h"
#include "collector/cli/session.h"
#include "config/bundle/archive.h"
#include "config/bundle/free_name.h"
#include "config/bundle/log_tail.h"
#include "telltale_version.h"

namespace telltale::cli {
namespace {

constexpr size_t kMaxBundle = 512 << 20;

}  // namespace

int RunBundle(const Arguments& arguments) {
  absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  std::map<std::string, std::string> files;
  size_t bytes = 0;
  absl::Status status = session->client->Bundle([&](const v1::BundlePart& part) {
    bytes += part.data().size();
    if (bytes > kMaxBundle) return false;
    files[part.name()] += part.data();
    return true;
  });
  if (!status.ok()) return Report(status);
  const std::string stamp =
      absl::FormatTime("%Y%m%d-%H%M%S", session->view.now, session->view.zone);
  const std::string name = bundle::FreeName(absl::StrCat("telltale-bundle-", stamp));
  bundle::Archive archive(name, session->view.now);
  files["cli.txt"] = absl::StrCat(
      "telltale ", TELLTALE_VERSION, "\nmade ",
      MomentText(static_cast<double>(absl::ToUnixSeconds(session->view.now)), session->view.zone),
      "\n");
  bundle::AddLogs(arguments.logs, files);
  for (const auto& [file, data] : files) {
    if (absl::Status added = archive.Add(file, data); !added.ok()) return Report(added);
  }
  absl::StatusOr<std::string> packed = archive.Compress();
  if (!packed.ok()) return Report(packed.status());
  const std::string path = arguments.file.empty() ? name + ".tar.gz" : arguments.file;
  // Node names, labels and command names are inside: for the owner's eyes.
  absl::Status written = WriteFile(path, *packed, 0600, false);
  if (absl::IsAlreadyExists(written)) {
    written = absl::AlreadyExistsError(
        absl::StrCat("bundle: ", written.message(), "; choose another --file, or remove that one"));
  }
  if (!written.ok()) return Report(written);
  Print(absl::StrCat("wrote ", path, " (", Quantity(static_cast<double>(packed->size()), "bytes"),
                     ", ", files.size(),
                     " files); it holds node and program names, no samples and no keys\n"));
  return kOk;
}

}  // namespace telltale::cli
