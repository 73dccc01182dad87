// A filter as runner and feeds meet it, wherever its code runs: in this process (built-in ones,
// LocalFilter), or in a process of its own (a user's, host/hosted_filter.h).
//
// One FilterCode makes instances for any number of nodes. It and its instances belong to one thread
// unless said otherwise; it outlives its instances.

#ifndef TELLTALE_COLLECTOR_FILTER_FILTER_CODE_H_
#define TELLTALE_COLLECTOR_FILTER_FILTER_CODE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

class FilterInstance {
 public:
  virtual ~FilterInstance() = default;
  // Shows it an epoch. What it emits comes through the host's callbacks before this returns. The
  // filter's own code, 0: fine; an error: there is no instance any more, and none of its outputs of
  // this epoch came through.
  virtual absl::StatusOr<int> Show(const SourceEpoch& epoch) = 0;
  // Its state, at most kMaxStateBytes; empty: nothing to save. ResourceExhausted: too large.
  virtual absl::StatusOr<std::string> Save() = 0;
  virtual bool Load(std::string_view state) = 0;  // false: not understood
  // Whether it may go between two epochs and another one, with its state, take its place.
  virtual bool MayRest() const { return false; }
  // How far it is; nullopt: not told. Its strings live until the next call of the
  // instance.
  virtual std::optional<telltale_filter_learning> Learning() const = 0;
};

// What a filter may ask about its node's past, see telltale_filter_host.hour. False: not there.
using HourReader = std::function<bool(uint64_t start_ns, const EpochSource::HourVisitor& visit)>;

class FilterCode {
 public:
  static constexpr size_t kMaxStateBytes = 512 * 1024;

  virtual ~FilterCode() = default;
  // What the filter says of itself. Its functions are not to be called through this.
  virtual const telltale_filter& declared() const = 0;
  // Whether instances keep what they know; else each begins knowing nothing.
  virtual bool saves() const = 0;
  // Whether it is of no use any more, for no node; who runs it learns why from it.
  virtual bool ended() const { return false; }
  // Makes it so, where that can be: the runner has a reason of its own.
  virtual void End(const absl::Status&) {}
  // `host` and `hours` outlive the instance. An error: the filter cannot on this node.
  virtual absl::StatusOr<std::unique_ptr<FilterInstance>> Create(
      const telltale_filter_host& host, const HourReader& hours,
      const std::vector<telltale_filter_option>& options) = 0;
};

// The operator's numbers for filters: "NAME.key" is of that filter alone, as its `key`, and stands
// there in place of "key", which is of all.
using FilterOptions = std::vector<std::pair<std::string, double>>;
// Those of the filter of this name. Their names are parts of `all`.
std::vector<telltale_filter_option> OptionsFor(std::string_view filter, const FilterOptions& all);

bool ValidFilterName(std::string_view name);  // 1..64 bytes of [a-z0-9_-]

// InvalidArgument says what of the struct does not fit the interface.
absl::Status CheckFilter(const telltale_filter* filter);

// Calls the filter where it stands. Any number of threads may create; `filter` outlives it.
class LocalFilter : public FilterCode {
 public:
  explicit LocalFilter(const telltale_filter* filter) : filter_(filter) {}
  const telltale_filter& declared() const override { return *filter_; }
  bool saves() const override { return filter_->save != nullptr; }
  absl::StatusOr<std::unique_ptr<FilterInstance>> Create(
      const telltale_filter_host& host, const HourReader& hours,
      const std::vector<telltale_filter_option>& options) override;

 private:
  const telltale_filter* const filter_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FILTER_CODE_H_
