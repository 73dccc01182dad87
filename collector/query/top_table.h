// Collects weights by key for one table of a top answer, then ranks them. Used by the sources of
// rows (process accounts, samples, totals); one thread.

#ifndef TELLTALE_COLLECTOR_QUERY_TOP_TABLE_H_
#define TELLTALE_COLLECTOR_QUERY_TOP_TABLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/query/fitted_rows.h"
#include "collector/query/vital_choice.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

class TopTable {
 public:
  TopTable(VitalChoice choice, v1::Dimension by);

  const VitalChoice& choice() const { return choice_; }
  v1::Dimension by() const { return by_; }
  double factor() const { return factor_; }

  // Adds to a row, values in stored units; `fill` names a new row.
  v1::TopRow& Add(const std::string& key, double value, double low, double high,
                  const std::function<void(v1::TopRow&)>& fill);
  // Sets the bounds of a row that has been added, instead of what Add summed; the value stays in
  // them.
  void Bound(const std::string& key, double low, double high);
  // Every row may weigh so much more: of processes that have no row of their own.
  void AddSlack(double weight) { slack_ += weight; }
  double slack() const { return slack_; }
  // Fits the rows into their executables' accounts and the total (fitted_rows.h); by code only.
  void Fit(const ExeLimits& limits);
  // How much may weigh at most what has no row (by code: each label without one), and how many
  // labels a window keeps (0: there was none): what is said of rows that are not there.
  void Unlisted(double most, uint32_t kept_labels) { unlisted_ = most, kept_labels_ = kept_labels; }
  // Somebody without a row may weigh so much more.
  void AddHidden(double weight) { unlisted_ += weight; }
  // Finish leaves Telltale's own rows out, and what they weigh out of the total.
  void HideSelf() { hide_self_ = true; }
  // The rows are estimates that nobody knows the bounds of.
  void SetEstimated() { estimated_ = true; }
  bool estimated() const { return estimated_; }
  // The stack of the heaviest contribution is kept: true if this one is the heaviest so far.
  bool Heaviest(const std::string& key, double value);
  // The same where the stack takes long to make and what it is made of stays: `fill` is called by
  // Finish, for rows that are shown.
  void FillIfHeaviest(const std::string& key, double value, std::function<void(v1::TopRow&)> fill);

  void AddTotal(double weight, double events) { total_ += weight, events_ += events; }
  void SetState(v1::VitalState state);  // the best seen in the selection
  bool seen() const { return state_ != v1::VITAL_STATE_UNSPECIFIED; }
  v1::VitalState state() const { return state_; }
  double row_sum() const { return row_sum_; }

  // All rows together, in base units.
  struct Together {
    size_t rows = 0;
    double value = 0, low = 0, high = 0;
    double unlisted = 0;  // somebody without a row may weigh so much
    double total = 0;
  };
  Together Sum() const;

  // The `limit` heaviest rows behind the `first` heaviest, with shares; `other` = total - rows -
  // those before, never below 0.
  v1::TopTable Finish(uint32_t first, uint32_t limit, bool exact) const;

 private:
  struct Entry {
    v1::TopRow row;
    double heaviest = -1;
    std::function<void(v1::TopRow&)> fill;
  };
  const VitalChoice choice_;
  const v1::Dimension by_;
  const double factor_;
  std::unordered_map<std::string, Entry> rows_;
  double total_ = 0, events_ = 0, row_sum_ = 0, unlisted_ = 0, slack_ = 0;
  uint32_t kept_labels_ = 0;
  bool estimated_ = false, hide_self_ = false;
  v1::VitalState state_ = v1::VITAL_STATE_UNSPECIFIED;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TOP_TABLE_H_
