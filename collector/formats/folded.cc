#include "collector/formats/folded.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/escape.h"

namespace telltale::formats {
namespace {

std::string Name(std::string_view raw) {
  std::string name = Escaped(raw);
  std::replace(name.begin(), name.end(), ';', ':');
  return name;
}

void Append(std::string_view name, bool kernel, std::string* path) {
  absl::StrAppend(path, path->empty() ? "" : ";", Name(name), kernel ? "_[k]" : "");
}

}  // namespace

double WholeUnits(double value, std::string_view unit) { return unit == "s" ? value * 1e9 : value; }

std::string FoldedPath(std::string_view exe, FrameIterator leaf, FrameIterator end) {
  std::string path = Name(exe);
  while (end != leaf) {
    --end;
    Append(end->name(), end->kernel(), &path);
  }
  return path;
}

std::string FoldedOf(const v1::StacksAnswer& answer) {
  std::string out;
  for (const v1::StackWeight& stack : answer.stacks()) {
    absl::StrAppend(
        &out, FoldedPath(stack.exe(), stack.frames().begin(), stack.frames().end()),
        absl::StrFormat(" %.0f\n", std::max(1.0, WholeUnits(stack.value(), answer.unit()))));
  }
  return out;
}

std::string FoldedOf(const v1::FlameAnswer& answer) {
  const bool compared = answer.scale() > 0;
  std::string out;
  std::vector<std::string> paths;
  for (const v1::FlameNode& node : answer.nodes()) {
    // A parent stands before its children; the root is no frame.
    std::string path = node.parent() < paths.size() ? paths[node.parent()] : std::string();
    if (!paths.empty()) Append(node.name(), node.kernel(), &path);
    const double self = WholeUnits(node.self(), answer.unit()),
                 against = WholeUnits(node.against_self(), answer.unit());
    if (!path.empty() && (self >= 0.5 || against >= 0.5)) {
      absl::StrAppend(&out, path, compared ? absl::StrFormat(" %.0f", against) : "",
                      absl::StrFormat(" %.0f\n", self));
    }
    paths.push_back(std::move(path));
  }
  return out;
}

}  // namespace telltale::formats
