// What an operator has to act on before it happens, read where it is kept: the space left on the
// disk, the ends of certificates. Free functions, any thread; a worker of the web server at each
// scrape.

#ifndef TELLTALE_COLLECTOR_HOST_FIGURES_H_
#define TELLTALE_COLLECTOR_HOST_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/metrics/figures.h"
#include "collector/tls.h"

namespace telltale::collector {

// Of the file system of `directory`; nullopt: it cannot be asked.
std::optional<metrics::DiskFigures> DiskOf(const std::string& directory);

// "collector": the first of its chain to end; "authority": the last, for while authorities change
// the old one may end; "nodes": `first_node_s`, unless 0. Unix seconds, from the files as they are
// now; those that cannot be read are left out.
std::vector<std::pair<std::string, uint64_t>> CertificateEnds(const TlsFiles& files,
                                                              int64_t first_node_s);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_HOST_FIGURES_H_
