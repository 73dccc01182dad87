#include "collector/host_figures.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "collector/pem.h"

namespace telltale::collector {
namespace {

// Of each certificate in the file.
std::vector<int64_t> EndsIn(const char* what, const std::string& file) {
  std::vector<int64_t> ends;
  const auto pem = ReadPemFile(what, file);
  if (!pem.ok()) return ends;
  const auto certificates = ParseCertificates(what, file, *pem);
  if (!certificates.ok()) return ends;
  for (const auto& certificate : *certificates) {
    if (const auto end = EndOfValidity(certificate.get())) ends.push_back(*end);
  }
  return ends;
}

}  // namespace

std::optional<metrics::DiskFigures> DiskOf(const std::string& directory) {
  struct statvfs info = {};
  if (statvfs(directory.c_str(), &info) != 0) return std::nullopt;
  return metrics::DiskFigures{info.f_bavail * info.f_frsize, info.f_blocks * info.f_frsize};
}

std::vector<std::pair<std::string, uint64_t>> CertificateEnds(const TlsFiles& files,
                                                              int64_t first_node_s) {
  std::vector<std::pair<std::string, uint64_t>> ends;
  const auto add = [&ends](const char* of, int64_t end_s) {
    if (end_s > 0) ends.emplace_back(of, static_cast<uint64_t>(end_s));
  };
  const auto own = EndsIn("cert", files.cert), authorities = EndsIn("ca", files.ca);
  if (!own.empty()) add("collector", *std::ranges::min_element(own));
  if (!authorities.empty()) add("authority", *std::ranges::max_element(authorities));
  add("nodes", first_node_s);
  return ends;
}

}  // namespace telltale::collector
