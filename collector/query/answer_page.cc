#include "collector/query/answer_page.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

constexpr size_t kShownBytes = 64;
constexpr uint64_t kPlaceForm = 1, kRankForm = 2;  // first number of a page

absl::Status NotOurs(const std::string& page, const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": page \"", page.substr(0, kShownBytes),
                   "\" is not one this collector gave; start without a page"));
}

// The numbers of a page, of which there are `count`; nullopt: it is something else.
std::optional<std::vector<uint64_t>> Numbers(const std::string& page, size_t count) {
  std::vector<uint64_t> numbers;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(page, '.'))) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
    if (numbers.size() == count) return std::nullopt;
    numbers.push_back(number);
  }
  if (numbers.size() != count) return std::nullopt;
  return numbers;
}

bool Fits32(uint64_t number) { return number <= std::numeric_limits<uint32_t>::max(); }

uint64_t QuestionDigest(v1::TopRequest request) {
  request.clear_page();
  request.clear_limit();  // pages of one answer may differ in length
  return storage::DigestText(request.SerializeAsString());
}

uint64_t Micros(double seconds) { return static_cast<uint64_t>(std::llround(seconds * 1e6)); }

}  // namespace

std::string Place::Page() const {
  return absl::StrCat(kPlaceForm, ".", time_ns, ".", node, ".", epoch_start_ns, ".", vital, ".",
                      index);
}

absl::StatusOr<Place> ParsePlace(const std::string& page, const char* what) {
  const auto numbers = Numbers(page, 6);
  if (!numbers || (*numbers)[0] != kPlaceForm || !Fits32((*numbers)[2]) || !Fits32((*numbers)[4]) ||
      (*numbers)[5] > INT32_MAX) {
    return NotOurs(page, what);
  }
  return Place{(*numbers)[1], static_cast<uint32_t>((*numbers)[2]), (*numbers)[3],
               static_cast<uint32_t>((*numbers)[4]), static_cast<int>((*numbers)[5])};
}

std::string PageText(const RankPage& page, const v1::TopRequest& request) {
  return absl::StrCat(kRankForm, ".", page.first, ".", Micros(page.start_s), ".",
                      Micros(page.end_s), ".", page.epochs, ".", QuestionDigest(request));
}

absl::StatusOr<RankPage> ParseRankPage(const v1::TopRequest& request) {
  if (request.page().empty()) return RankPage{};
  const auto numbers = Numbers(request.page(), 6);
  if (!numbers || (*numbers)[0] != kRankForm || !Fits32((*numbers)[1]) ||
      (*numbers)[2] >= (*numbers)[3] || !Fits32((*numbers)[4])) {
    return NotOurs(request.page(), "top");
  }
  if ((*numbers)[5] != QuestionDigest(request)) {
    return absl::InvalidArgumentError(
        "top: page is of another question: time, nodes, vital and the rest must be as they were; "
        "start without a page");
  }
  return RankPage{static_cast<uint32_t>((*numbers)[1]), static_cast<double>((*numbers)[2]) * 1e-6,
                  static_cast<double>((*numbers)[3]) * 1e-6, static_cast<uint32_t>((*numbers)[4])};
}

}  // namespace telltale::query
