// The options of a program as a document: one row each, from the table that --help is made of.
// Free function, any thread.

#ifndef TELLTALE_CONFIG_REFERENCE_H_
#define TELLTALE_CONFIG_REFERENCE_H_

#include <string>

#include "config/options.h"

namespace telltale::config {

// Markdown; the struct behind the table holds the defaults.
std::string ReferenceMarkdown(const OptionTable& table);

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_REFERENCE_H_
