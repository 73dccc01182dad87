// What the built-in filters share: a class instead of the C functions of telltale_filter.h, and the
// functions that make the one of the other. They see and emit nothing that a filter from elsewhere
// could not.
//
// An instance belongs to one node and one thread at a time, as the interface says.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_DETECTOR_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_DETECTOR_H_

#include <cstdint>
#include <string>

#include "collector/filter/detect/fact_list.h"
#include "collector/filter/detect/state_bytes.h"
#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

// One anomaly on its way out; fields as in telltale_filter_anomaly.
struct Finding {
  std::string vital, sub, subject;
  uint64_t start_ns = 0, end_ns = 0;
  bool open = false;
  double value = 0, expected = 0, deviation = 0;
  uint64_t learned_epochs = 0;
  std::string text, evidence, against, cause, next;
  std::string cgroup, device, site;
  FactList facts;
};

struct Learned {
  uint64_t of = 0, needed = 0;
  const char* unit = "epochs";
  std::string muted;     // as telltale_filter_learning has it
  uint64_t no_room = 0;  // the same
};

class Detector {
 public:
  explicit Detector(const telltale_filter_host& host) : host_(host) {}
  virtual ~Detector() = default;
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;

  virtual void Option(const std::string& name, double value);
  virtual void Epoch(const telltale_filter_epoch& epoch) = 0;
  virtual void Save(StateWriter& to) const = 0;
  // False: not understood; the caller makes a new instance of it then.
  virtual bool Load(StateReader& from) = 0;
  virtual Learned HowFar() const = 0;

 protected:
  // Severity is (value - expected) / deviation.
  void Emit(const Finding& finding) const;
  void Mark(const std::string& vital, uint64_t start_ns, uint64_t end_ns,
            const std::string& text) const;
  // Of the filter's own series: base unit per second, of the vital as a whole.
  void Point(const char* series, const char* vital, uint64_t time_ns, double value) const;
  const telltale_filter_host& host() const { return host_; }

 private:
  const telltale_filter_host host_;
};

// What sets filters apart besides their class.
struct DetectorFacts {
  const char* name;
  uint32_t version;
  uint32_t needs;
  const char* about;
  const char* const* vitals = nullptr;  // all
  uint32_t history_epochs = 0;
  uint32_t rule = 0;
  Detector* (*make)(const telltale_filter_host& host);
};

// What `create` hands out: the detector, and how to make it anew.
struct DetectorInstance;

telltale_filter MakeFilter(const DetectorFacts& facts,
                           void* (*create)(const telltale_filter_host*,
                                           const telltale_filter_option*, uint32_t));
void* CreateInstance(const DetectorFacts& facts, const telltale_filter_host* host,
                     const telltale_filter_option* options, uint32_t option_count);

// The filter of a class whose static member kFacts describes it.
template <typename D>
const telltale_filter* FilterOf() {
  static const telltale_filter filter = MakeFilter(
      D::kFacts, [](const telltale_filter_host* host, const telltale_filter_option* options,
                    uint32_t count) { return CreateInstance(D::kFacts, host, options, count); });
  return &filter;
}
template <typename D>
Detector* Make(const telltale_filter_host& host) {
  return new D(host);
}

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_DETECTOR_H_
