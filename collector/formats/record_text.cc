#include "collector/formats/record_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/quantity.h"

namespace telltale::formats {

std::string RecordText(const v1::FilterRecord& record) {
  const uint32_t planted = record.hits() + record.misses();
  const std::string found =
      planted == 0 ? "no fault planted"
                   : absl::StrCat(record.hits(), " of ", planted,
                                  absl::StrFormat(" found (%.0f to %.0f %%)", 100 * record.low(),
                                                  100 * record.high()));
  const std::string after =
      record.epochs() == 0
          ? ""
          : absl::StrCat(" after ", Plural(record.epochs(), "epoch"),
                         record.most_epochs() > record.epochs()
                             ? absl::StrCat(" (at most ", record.most_epochs(), ")")
                             : "");
  return absl::StrCat(
      found, after, ", ",
      record.mute() ? "no innocent load to be wrong about"
                    : Plural(record.false_alarms(), "false alarm"),
      record.without_counters() ? "; measured without hardware counters" : "",
      record.earlier_version() == 0
          ? ""
          : absl::StrCat("; measured of version ", record.earlier_version(), ", not of this one"));
}

}  // namespace telltale::formats
