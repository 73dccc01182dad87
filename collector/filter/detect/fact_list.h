// What a finding says, for programs: figures with their units, and names. Sentences are written
// from the same values.
//
// Values of one call.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_FACT_LIST_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_FACT_LIST_H_

#include <string>
#include <utility>
#include <vector>

namespace telltale::filter {

struct Fact {
  const char* name;  // constant
  double value = 0;
  const char* unit = "";  // constant; "": it is a name
  std::string text;
};

class FactList {
 public:
  FactList& Figure(const char* name, double value, const char* unit) {
    facts_.push_back({name, value, unit, ""});
    return *this;
  }
  FactList& FigureIf(bool known, const char* name, double value, const char* unit) {
    return known ? Figure(name, value, unit) : *this;
  }
  // "": it is not known, and left out.
  FactList& Name(const char* name, std::string text) {
    if (!text.empty()) facts_.push_back({name, 0, "", std::move(text)});
    return *this;
  }
  const std::vector<Fact>& all() const { return facts_; }

 private:
  std::vector<Fact> facts_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_FACT_LIST_H_
