// The nodes that a question is about, or all that are known, as they stood at one moment: records
// are shared with the registry, never copied (a record has kilobytes and a fleet thousands). Cheap
// to copy; any thread may read it for as long as it likes.

#ifndef TELLTALE_STORAGE_NODE_LIST_H_
#define TELLTALE_STORAGE_NODE_LIST_H_

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "telltale/v1/store.pb.h"

namespace telltale::storage {

// Stored form and what readers get; fields documented in store.proto.
using NodeRecord = v1::NodeRecord;
using SharedNode = std::shared_ptr<const NodeRecord>;

class NodeList {
 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = NodeRecord;
    using difference_type = std::ptrdiff_t;
    using pointer = const NodeRecord*;
    using reference = const NodeRecord&;

    const_iterator() = default;
    explicit const_iterator(const SharedNode* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    const_iterator& operator++() {
      ++at_;
      return *this;
    }
    const_iterator operator++(int) { return const_iterator(at_++); }
    bool operator==(const const_iterator&) const = default;

   private:
    const SharedNode* at_ = nullptr;
  };

  NodeList() = default;
  explicit NodeList(std::vector<SharedNode> nodes) : nodes_(std::move(nodes)) {}

  const_iterator begin() const { return const_iterator(nodes_.data()); }
  const_iterator end() const { return const_iterator(nodes_.data() + nodes_.size()); }
  size_t size() const { return nodes_.size(); }
  bool empty() const { return nodes_.empty(); }
  const std::vector<SharedNode>& shared() const { return nodes_; }
  void Add(SharedNode node) { nodes_.push_back(std::move(node)); }

 private:
  std::vector<SharedNode> nodes_;  // none is null
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_NODE_LIST_H_
