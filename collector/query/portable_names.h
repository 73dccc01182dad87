// Names of what rollups keep free of tables: frames, stacks and sites of labels, shown as those of
// a body are (stack_names.h), with the same stack ids.
//
// Free functions; the cache's thread.

#ifndef TELLTALE_COLLECTOR_QUERY_PORTABLE_NAMES_H_
#define TELLTALE_COLLECTOR_QUERY_PORTABLE_NAMES_H_

#include <string>
#include <vector>

#include "collector/query/stack_names.h"
#include "collector/query/window_sums.h"

namespace telltale::query {

// Leaf first, kernel then user. Empty: no stack of this label was kept.
std::vector<v1::Frame> StackOf(const LabelSum& label, SymbolCache& cache);
// Empty: no stack was kept.
std::string StackIdOf(const LabelSum& label);
// Where the label's events happened, as SiteOfSample of its exemplar; without one, the label's own
// address.
v1::Frame SiteOfLabel(const LabelSum& label, const v1::VitalDescriptor& descriptor,
                      SymbolCache& cache);
// Executable, "[irq]", or "[command]" for tasks without one.
std::string WhoOf(const LabelSum& label);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_PORTABLE_NAMES_H_
