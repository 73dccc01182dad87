// What a node is for, as its label `role` says: nodes of one role are each other's peers.

#ifndef TELLTALE_STORAGE_NODE_ROLE_H_
#define TELLTALE_STORAGE_NODE_ROLE_H_

#include <string>

#include "storage/node_list.h"

namespace telltale::storage {

// The last, if there are several; empty: none.
inline std::string RoleOf(const NodeRecord& node) {
  std::string role;
  for (const v1::Label& label : node.info().labels()) {
    if (label.key() == "role") role = label.value();
  }
  return role;
}

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_NODE_ROLE_H_
