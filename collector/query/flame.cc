#include "collector/query/flame.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/query/comparison.h"

namespace telltale::query {
namespace {

struct Tree {
  struct Key {
    std::string name, binary;
    bool kernel = false;
    bool operator<(const Key& other) const {
      return std::tie(name, binary, kernel) < std::tie(other.name, other.binary, other.kernel);
    }
  };
  Weighed weight, against;
  double self = 0, against_self = 0;
  uint32_t samples = 0;
  std::map<Key, std::unique_ptr<Tree>> children;

  double Size() const { return std::max(weight.value, against.value); }
  Tree& Child(Key key) {
    std::unique_ptr<Tree>& child = children[std::move(key)];
    if (child == nullptr) child = std::make_unique<Tree>();
    return *child;
  }
};

void AddTo(const v1::StackWeight& stack, double scale, Weighed* weight) {
  weight->value += stack.value() * scale;
  weight->low += stack.low() * scale;
  weight->high += stack.high() * scale;
}

void AddStacks(const v1::StacksAnswer& answer, double scale, Weighed Tree::*weight,
               double Tree::*self, bool count_samples, Tree* root) {
  for (const v1::StackWeight& stack : answer.stacks()) {
    Tree* at = root;
    const auto visit = [&](Tree* node) {
      at = node;
      AddTo(stack, scale, &(at->*weight));
      if (count_samples) at->samples += stack.samples();
    };
    visit(root);
    visit(&at->Child({stack.exe(), "", false}));
    for (int i = stack.frames_size() - 1; i >= 0; --i) {
      const v1::Frame& frame = stack.frames(i);
      visit(&at->Child({frame.name(), frame.binary(), frame.kernel()}));
    }
    at->*self += stack.value() * scale;
  }
}

// Size of the lightest of the heaviest `most` nodes; 0 if there are not more. A child is never
// heavier than its parent, so what is heavy enough hangs together.
double Smallest(const Tree& root, size_t most, size_t* nodes) {
  std::vector<double> sizes;
  const std::function<void(const Tree&)> walk = [&](const Tree& node) {
    sizes.push_back(node.Size());
    for (const auto& [key, child] : node.children) walk(*child);
  };
  walk(root);
  *nodes = sizes.size();
  if (sizes.size() <= most) return 0;
  const auto nth = sizes.begin() + static_cast<long>(most) - 1;
  std::nth_element(sizes.begin(), nth, sizes.end(), std::greater<>());
  return *nth;
}

class Writer {
 public:
  Writer(v1::FlameAnswer* answer, double smallest, uint32_t most)
      : answer_(answer), smallest_(smallest), most_(most) {}

  void Write(const Tree& tree, uint32_t parent, const Tree::Key& key) {
    const auto index = static_cast<uint32_t>(answer_->nodes_size());
    v1::FlameNode* node = answer_->add_nodes();
    node->set_parent(parent);
    node->set_name(key.name);
    node->set_binary(key.binary);
    node->set_kernel(key.kernel);
    node->set_samples(tree.samples);
    const Weighed weight = Capped(tree.weight, answer_->total());
    node->set_value(weight.value);
    node->set_low(weight.low);
    node->set_high(weight.high);
    double self = tree.self, against_self = tree.against_self;
    if (answer_->scale() > 0) {
      const Weighed against = Capped(tree.against, answer_->against_total());
      node->set_against(against.value);
      node->set_against_low(against.low);
      node->set_against_high(against.high);
      node->set_certain(DifferForCertain(weight, against));
    }
    std::vector<std::pair<const Tree::Key*, const Tree*>> children;
    for (const auto& [child_key, child] : tree.children) {
      if (child->Size() >= smallest_) {
        children.emplace_back(&child_key, child.get());
      } else {
        self += child->weight.value;
        against_self += child->against.value;
      }
    }
    std::stable_sort(children.begin(), children.end(), [](const auto& a, const auto& b) {
      return a.second->Size() > b.second->Size();
    });
    for (const auto& [child_key, child] : children) {
      if (static_cast<uint32_t>(answer_->nodes_size()) < most_) {
        Write(*child, index, *child_key);
      } else {  // of many that weigh the same
        self += child->weight.value;
        against_self += child->against.value;
      }
    }
    answer_->mutable_nodes(static_cast<int>(index))->set_self(self);
    if (answer_->scale() > 0) {
      answer_->mutable_nodes(static_cast<int>(index))->set_against_self(against_self);
    }
  }

 private:
  static Weighed Capped(Weighed weight, double total) {
    weight.high = std::min(weight.high, std::max(weight.value, total));
    return weight;
  }

  v1::FlameAnswer* const answer_;
  const double smallest_;
  const uint32_t most_;
};

}  // namespace

v1::FlameAnswer FlameOf(const v1::StacksAnswer& selected, const v1::StacksAnswer* against,
                        uint32_t max_nodes) {
  v1::FlameAnswer answer;
  *answer.mutable_coverage() = selected.coverage();
  answer.set_vital(selected.vital());
  answer.set_sub(selected.sub());
  answer.set_unit(selected.unit());
  answer.set_total(selected.total());
  answer.set_hidden(selected.hidden());
  Tree root;
  AddStacks(selected, 1, &Tree::weight, &Tree::self, true, &root);
  if (against != nullptr) {
    *answer.mutable_against_coverage() = against->coverage();
    const double scale = ScaleOf(selected.coverage(), against->coverage());
    answer.set_scale(scale);
    answer.set_against_total(against->total() * scale);
    if (scale > 0) AddStacks(*against, scale, &Tree::against, &Tree::against_self, false, &root);
  }
  size_t nodes = 0;
  const double smallest = Smallest(root, max_nodes, &nodes);
  Writer(&answer, smallest, max_nodes).Write(root, 0, {});
  const size_t left_out = nodes - static_cast<size_t>(answer.nodes_size());
  if (left_out > 0) {
    answer.mutable_coverage()->add_notes(absl::StrCat(
        left_out, " lighter frames are left out, their weight is in what called them"));
  }
  return answer;
}

}  // namespace telltale::query
