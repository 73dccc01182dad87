#include "collector/formats/pprof.h"

#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/escape.h"
#include "collector/formats/folded.h"
#include "collector/formats/profile.pb.h"

namespace telltale::formats {
namespace {

constexpr char kNoStack[] = "(no stack)", kKernel[] = "[kernel]";

class Builder {
 public:
  explicit Builder(const v1::StacksAnswer& answer) : answer_(answer) {
    Text("");
    const std::string vital =
        answer.sub().empty() ? answer.vital() : absl::StrCat(answer.vital(), "/", answer.sub());
    const std::string unit = answer.unit() == "s" ? "nanoseconds" : answer.unit();
    AddType("samples", "count");
    AddType(vital, unit);
    AddType(absl::StrCat(vital, "_low"), unit);
    AddType(absl::StrCat(vital, "_high"), unit);
    profile_.set_default_sample_type(Text(vital));
    const v1::Coverage& coverage = answer.coverage();
    profile_.set_time_nanos(std::llround(coverage.values_start_s() * 1e9));
    profile_.set_duration_nanos(
        std::llround((coverage.values_end_s() - coverage.values_start_s()) * 1e9));
    Comment(absl::StrFormat("%.15g %s in all; watched %.0f of %.0f s of node time",
                            WholeUnits(answer.total(), answer.unit()), unit, coverage.watched_s(),
                            coverage.selected_s()));
    for (const v1::ReasonCount& lost : coverage.lost_events()) {
      Comment(absl::StrFormat("lost: %.0f by %s %s", lost.events(), lost.reason(), lost.vital()));
    }
    for (const std::string& note : coverage.notes()) Comment(note);
  }

  pprof::Profile Build() {
    for (const v1::StackWeight& stack : answer_.stacks()) AddStack(stack);
    return std::move(profile_);
  }

 private:
  // Names came from other machines and end on somebody's terminal.
  int64_t Text(std::string_view raw) {
    const auto [it, fresh] = texts_.try_emplace(Escaped(raw), profile_.string_table_size());
    if (fresh) profile_.add_string_table(it->first);
    return it->second;
  }
  void Comment(const std::string& text) { profile_.add_comment(Text(text)); }
  void AddType(const std::string& type, const std::string& unit) {
    pprof::ValueType* value = profile_.add_sample_type();
    value->set_type(Text(type));
    value->set_unit(Text(unit));
  }

  uint64_t Mapping(const v1::Frame& frame) {
    const std::string file = frame.kernel() ? kKernel : frame.binary();
    if (file.empty()) return 0;
    const auto [it, fresh] = mappings_.try_emplace(file, mappings_.size() + 1);
    if (fresh) {
      pprof::Mapping* mapping = profile_.add_mapping();
      mapping->set_id(it->second);
      mapping->set_filename(Text(file));
      mapping->set_has_functions(true);  // nobody needs to look for names
    }
    return it->second;
  }

  uint64_t Location(const v1::Frame& frame) {
    const uint64_t mapping = Mapping(frame);
    const auto address = static_cast<uint64_t>(frame.offset());
    const auto [it, fresh] =
        locations_.try_emplace({mapping, address, frame.name()}, locations_.size() + 1);
    if (!fresh) return it->second;
    pprof::Location* location = profile_.add_location();
    location->set_id(it->second);
    location->set_mapping_id(mapping);
    location->set_address(address);
    location->add_line()->set_function_id(Function(frame));
    return it->second;
  }

  uint64_t Function(const v1::Frame& frame) {
    const int64_t name = Text(frame.name()), file = Text(frame.binary());
    const auto [it, fresh] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (fresh) {
      pprof::Function* function = profile_.add_function();
      function->set_id(it->second);
      function->set_name(name);
      function->set_system_name(name);
      function->set_filename(file);
    }
    return it->second;
  }

  void AddStack(const v1::StackWeight& stack) {
    pprof::Sample* sample = profile_.add_sample();
    for (const v1::Frame& frame : stack.frames()) sample->add_location_id(Location(frame));
    if (stack.frames().empty()) {
      v1::Frame none;
      none.set_name(kNoStack);
      sample->add_location_id(Location(none));
    }
    sample->add_value(stack.samples());
    for (const double value : {stack.value(), stack.low(), stack.high()}) {
      sample->add_value(std::llround(WholeUnits(value, answer_.unit())));
    }
    pprof::Label* label = sample->add_label();
    label->set_key(Text("exe"));
    label->set_str(Text(stack.exe()));
  }

  const v1::StacksAnswer& answer_;
  pprof::Profile profile_;
  std::map<std::string, int64_t> texts_;
  std::map<std::string, uint64_t> mappings_;
  std::map<std::tuple<uint64_t, uint64_t, std::string>, uint64_t> locations_;
  std::map<std::pair<int64_t, int64_t>, uint64_t> functions_;
};

absl::StatusOr<std::string> Gzip(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("pprof: no memory to compress the profile");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) {
    return absl::InternalError(absl::StrCat("pprof: zlib could not compress the profile: ", done));
  }
  return out;
}

}  // namespace

absl::StatusOr<std::string> PprofOf(const v1::StacksAnswer& answer) {
  return Gzip(Builder(answer).Build().SerializeAsString());
}

}  // namespace telltale::formats
