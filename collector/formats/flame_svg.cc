#include "collector/formats/flame_svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "collector/formats/escape.h"
#include "collector/formats/quantity.h"

namespace telltale::formats {
namespace {

constexpr double kWidth = 1200, kRow = 18, kHead = 46, kMargin = 10;
constexpr double kNarrowest = 1.0 / 3, kCharacter = 7.25;
constexpr size_t kShades = 4, kChanges = 3;

// The colours of the web interface, which tell apart for the colour-blind: user amber, kernel blue;
// more orange, less blue.
constexpr std::string_view kStyle =
    "svg{background:#fff;color:#1c2430;font:12px ui-monospace,monospace}"
    "text{fill:#10141a;pointer-events:none}.h{fill:#1c2430}.d{fill:#5b6673}"
    "g:hover rect{stroke:#1c2430}"
    ".b0{fill:#9aa6b2}.b1{fill:#a5b0bb}.b2{fill:#8f9ba8}.b3{fill:#aab5bf}"
    ".u0{fill:#e9b44c}.u1{fill:#e3a63a}.u2{fill:#f0c268}.u3{fill:#d99b32}"
    ".k0{fill:#7db3e8}.k1{fill:#6ea7e0}.k2{fill:#8fc0ef}.k3{fill:#629bd6}"
    ".s{fill:#c3cad2}.m0{fill:#f0c9a0}.m1{fill:#f2a95c}.m2{fill:#ee8a22}"
    ".l0{fill:#b5cfe8}.l1{fill:#84b6e6}.l2{fill:#4f9be0}"
    "@media(prefers-color-scheme:dark){svg{background:#13171c}.h{fill:#dfe5ec}.d{fill:#93a0ae}"
    "g:hover rect{stroke:#dfe5ec}}";

// The first `most` code points, with a mark where some are missing.
std::string Cut(std::string_view raw, size_t most) {
  const std::string text = Escaped(raw);
  size_t at = 0, points = 0, mark = 0;  // mark: where the last one that may stand beside it begins
  while (at < text.size() && points < most) {
    mark = at;
    at += std::max<size_t>(1, HeadOf(std::string_view(text).substr(at)).length);
    ++points;
  }
  return at >= text.size() ? text : absl::StrCat(text.substr(0, mark), "…");
}

std::string MomentText(double time_s) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(static_cast<int64_t>(time_s)),
                          absl::UTCTimeZone());
}

std::string Line(std::string_view style, double y, std::string_view raw) {
  return absl::StrFormat("<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", style, kMargin, y,
                         Markup(Escaped(raw)));
}

// What the picture rests on.
std::string BasisText(const v1::Coverage& coverage) {
  double lost = 0;
  for (const v1::ReasonCount& reason : coverage.lost_events()) lost += reason.events();
  return absl::StrCat(
      MomentText(coverage.asked_start_s()), " to ", MomentText(coverage.asked_end_s()),
      " UTC, watched ", Quantity(coverage.watched_s(), "s"), " of ",
      Quantity(coverage.selected_s(), "s"), coverage.nodes_selected() > 1 ? " of node time" : "",
      " on ", Plural(coverage.nodes(), "node"), ", ",
      lost > 0 ? absl::StrCat(Plural(lost, "event"), " lost") : std::string("no events lost"));
}

class Drawing {
 public:
  explicit Drawing(const v1::FlameAnswer& answer) : answer_(answer), children_(Size()) {
    for (size_t i = 1; i < Size(); ++i) {
      const size_t parent = Node(i).parent();
      if (parent < i) children_[parent].push_back(i);
    }
    for (std::vector<size_t>& list : children_) {
      std::stable_sort(list.begin(), list.end(),
                       [&](size_t a, size_t b) { return Weight(a) > Weight(b); });
    }
  }

  std::string Make() {
    if (Size() > 0) Place(0, kMargin, 0, kWidth - 2 * kMargin);
    const double height = kHead + kRow * static_cast<double>(rows_) + kMargin;
    return absl::StrCat(
        absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                        "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<style>%s</style>\n",
                        kWidth, height, kWidth, height, kStyle),
        Head(), frames_, "</svg>\n");
  }

 private:
  bool compared() const { return answer_.scale() > 0; }
  size_t Size() const { return static_cast<size_t>(answer_.nodes_size()); }
  const v1::FlameNode& Node(size_t i) const { return answer_.nodes(static_cast<int>(i)); }
  double Weight(size_t i) const { return Node(i).value() + (compared() ? Node(i).against() : 0); }

  // Children of a frame never weigh more than it, up to rounding.
  void Place(size_t i, double x, size_t depth, double width) {
    rows_ = std::max(rows_, depth + 1);
    Draw(i, x, depth, width);
    const double right = x + width;
    for (const size_t child : children_[i]) {
      const double part =
          Weight(i) > 0 ? std::min(width * Weight(child) / Weight(i), right - x) : 0;
      if (part < kNarrowest) {
        ++narrow_;
        continue;
      }
      Place(child, x, depth + 1, part);
      x += part;
    }
  }

  void Draw(size_t i, double x, size_t depth, double width) {
    const double y = kHead + kRow * static_cast<double>(depth);
    absl::StrAppend(
        &frames_, "<g><title>", Title(i, depth), "</title>",
        absl::StrFormat("<rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\"/>",
                        Colour(i, depth), x, y, std::max(width - 0.5, kNarrowest), kRow - 1));
    const auto fits = static_cast<size_t>(std::max(0.0, (width - 6) / kCharacter));
    if (fits >= 3) {
      absl::StrAppend(&frames_, absl::StrFormat("<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 13),
                      Markup(Cut(Name(i, depth), fits)), "</text>");
    }
    frames_ += "</g>\n";
  }

  std::string Name(size_t i, size_t depth) const {
    if (depth == 0) return "all";
    const std::string& name = Node(i).name();
    if (depth > 1) return name;
    const std::string program = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
    return program.empty() ? "(unknown)" : program;
  }

  std::string Colour(size_t i, size_t depth) const {
    const v1::FlameNode& node = Node(i);
    if (compared()) {
      const double share = Weight(i) > 0 ? (node.value() - node.against()) / Weight(i) : 0;
      if (!node.certain() || share == 0) return "s";
      const auto step = static_cast<size_t>(std::abs(share) * kChanges);
      return absl::StrCat(share > 0 ? "m" : "l", std::min(step, kChanges - 1));
    }
    uint32_t hash = 0;
    for (const char c : node.name()) hash = hash * 31 + static_cast<unsigned char>(c);
    return absl::StrCat(depth < 2 ? "b" : node.kernel() ? "k" : "u", hash % kShades);
  }

  std::string Title(size_t i, size_t depth) const {
    const v1::FlameNode& node = Node(i);
    const auto text = [&](double value) { return Quantity(value, answer_.unit()); };
    const auto range = [&](double low, double high) {
      return low == high ? std::string()
                         : absl::StrCat(" (between ", text(low), " and ", text(high), ")");
    };
    std::string figures = absl::StrCat(text(node.value()), range(node.low(), node.high()));
    if (answer_.total() > 0) {
      absl::StrAppend(&figures, ", ", Share(std::min(1.0, node.value() / answer_.total())), " of ",
                      text(answer_.total()));
    }
    if (compared()) {
      absl::StrAppend(&figures, "; against ", text(node.against()),
                      range(node.against_low(), node.against_high()),
                      node.certain() ? "" : "; the difference may be chance");
    }
    absl::StrAppend(&figures, "; ", Plural(node.samples(), "sample"));
    const std::string& binary = node.binary();
    return Markup(Escaped(absl::StrCat(depth == 1 ? node.name() : Name(i, depth),
                                       binary.empty() ? "" : absl::StrCat(" (", binary, ")"), ": ",
                                       figures)));
  }

  std::string Head() const {
    const double known = Size() > 0 ? Node(0).value() : 0;
    std::string title =
        absl::StrCat(answer_.vital(), answer_.sub().empty() ? "" : "/", answer_.sub(), ": ",
                     Quantity(answer_.total(), answer_.unit()));
    if (answer_.total() > 0) {
      absl::StrAppend(&title, ", ", Share(std::min(1.0, known / answer_.total())),
                      " of it in these stacks");
    }
    if (compared()) {
      absl::StrAppend(&title, "; against ", Quantity(answer_.against_total(), answer_.unit()), ", ",
                      MomentText(answer_.against_coverage().asked_start_s()), " to ",
                      MomentText(answer_.against_coverage().asked_end_s()),
                      " UTC: orange more, blue less, grey may be chance");
    }
    std::string basis = BasisText(answer_.coverage());
    if (narrow_ > 0) {
      absl::StrAppend(&basis, ", ", Plural(static_cast<double>(narrow_), "frame"),
                      " too narrow to draw");
    }
    return absl::StrCat(Line("h", 18, title), Line("d", 36, basis));
  }

  const v1::FlameAnswer& answer_;
  std::vector<std::vector<size_t>> children_;  // by parent, heaviest first
  std::string frames_;
  size_t rows_ = 0, narrow_ = 0;
};

}  // namespace

std::string FlameSvgOf(const v1::FlameAnswer& answer) { return Drawing(answer).Make(); }

}  // namespace telltale::formats
