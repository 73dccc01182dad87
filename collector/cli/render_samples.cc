#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kAllFrames = 64;
constexpr size_t kShortId = 12;  // of a container, as runtimes list them

std::string UnitOf(const v1::SampleAnswer& sample) { return sample.unit(); }

std::string Values(const google::protobuf::RepeatedPtrField<v1::NamedValue>& values) {
  std::vector<std::string> parts;
  for (const v1::NamedValue& value : values) {
    if (value.name() == "sp_block") continue;  // tells stacks apart and says nothing to people
    parts.push_back(absl::StrCat(Escaped(value.name()), " ", Escaped(value.value())));
  }
  return absl::StrJoin(parts, ", ");
}

std::string PeerText(const char* role, const v1::PeerAnswer& peer, const View& view) {
  const std::string age =
      peer.process_age_s() > 0 ? absl::StrCat(", ", LengthText(peer.process_age_s()), " old") : "";
  return absl::StrCat(
      "  ", role, " ", Escaped(peer.comm()),
      peer.pid() == 0 ? "" : absl::StrCat(" (pid ", peer.pid(), age, ")"), "\n",
      StackLines({peer.stack().begin(), peer.stack().end()}, "      ", kAllFrames, view));
}

std::string StackText(const char* which,
                      const google::protobuf::RepeatedPtrField<v1::Frame>& frames,
                      const std::string& end, const View& view) {
  if (frames.empty() && (end.empty() || end == "complete")) return "";
  const bool whole = end.empty() || end == "complete";
  return absl::StrCat("  ", which, " stack", whole ? "" : absl::StrCat(" (", Escaped(end), ")"),
                      "\n", StackLines({frames.begin(), frames.end()}, "      ", kAllFrames, view));
}

// The container if the cgroup is one's, else the cgroup.
std::string WhereItRuns(const v1::SampleAnswer& sample) {
  if (sample.container().empty() && sample.pod_uid().empty()) {
    return sample.cgroup().empty() ? "" : absl::StrCat(" in ", Escaped(sample.cgroup()));
  }
  std::string text;
  if (!sample.container().empty())
    absl::StrAppend(&text, " in container ", Escaped(sample.container().substr(0, kShortId)));
  if (!sample.pod_uid().empty()) absl::StrAppend(&text, " of pod ", Escaped(sample.pod_uid()));
  return text;
}

// " (mysqld, pid 812, thread 830, uid 27, 3 h old)"; an interrupt is of no process.
std::string ProcessText(const v1::SampleAnswer& sample) {
  if (sample.exe() == "[irq]") return "";
  return absl::StrCat(" (", Escaped(sample.comm()), ", pid ", sample.pid(),
                      sample.tid() != sample.pid() ? absl::StrCat(", thread ", sample.tid()) : "",
                      ", uid ", sample.uid(), ", ", LengthText(sample.process_age_s()), " old)");
}

std::string OneSample(const v1::SampleAnswer& sample, const View& view) {
  std::string name =
      sample.exe().empty() ? absl::StrCat("[", Escaped(sample.comm()), "]") : Escaped(sample.exe());
  std::string out = absl::StrCat(
      Painted(absl::StrCat(MomentText(sample.time_s(), view.zone, true), "  ",
                           Escaped(sample.vital()), sample.sub().empty() ? "" : "/",
                           Escaped(sample.sub()), "  ", Quantity(sample.weight(), UnitOf(sample)),
                           sample.open() ? "  still going on" : ""),
              Ink::kBold, view.style),
      "\n  ", name, ProcessText(sample), " on ", Escaped(sample.node()), " CPU ", sample.cpu(),
      WhereItRuns(sample), "\n");
  if (const std::string label = Values(sample.label()); !label.empty())
    absl::StrAppend(&out, "  label: ", label, "\n");
  if (const std::string detail = Values(sample.detail()); !detail.empty())
    absl::StrAppend(&out, "  event: ", detail, "\n");
  absl::StrAppend(
      &out, "  seen ",
      sample.samples() == 1 ? "once" : absl::StrCat(Count(sample.samples()), " times"),
      "; what it stands for weighs ", Quantity(sample.low(), UnitOf(sample)), " to ",
      Quantity(sample.high(), UnitOf(sample)), " in this epoch",
      sample.watched_share() <= 0
          ? ""
          : absl::StrCat(", an estimate: watched ", Share(sample.watched_share()), " of the time"),
      "\n");
  absl::StrAppend(&out, StackText("kernel", sample.kernel_stack(), sample.kernel_stack_end(), view),
                  StackText("user", sample.user_stack(), sample.user_stack_end(), view));
  if (sample.has_ran_instead())
    absl::StrAppend(&out, PeerText("ran instead:", sample.ran_instead(), view));
  if (sample.has_waker()) absl::StrAppend(&out, PeerText("woken by:", sample.waker(), view));
  if (sample.has_holder()) absl::StrAppend(&out, PeerText("held by:", sample.holder(), view));
  return out;
}

// Bounds that read the same are none.
std::string BetweenText(double low, double high, const std::string& unit) {
  const std::string least = Quantity(low, unit), most = Quantity(high, unit);
  return least == most ? "exact" : absl::StrCat("between ", least, " and ", most);
}

}  // namespace

std::string RenderSamples(const v1::SamplesAnswer& answer, const View& view) {
  std::string out;
  for (const v1::SampleAnswer& sample : answer.samples())
    absl::StrAppend(&out, OneSample(sample, view), "\n");
  const std::string count = Plural(answer.samples_size(), "sample");
  if (!answer.next_page().empty()) {
    absl::StrAppend(&out, "the newest ", count, " of all vitals asked for\n");
  } else if (!answer.samples().empty()) {
    absl::StrAppend(&out, count, ": all that epochs kept of this time, a few of each vital\n");
  }
  return absl::StrCat(out, out.empty() ? "" : ZoneLine(view) + "\n",
                      RenderCoverage(answer.coverage(), view));
}

std::string RenderStacks(const v1::StacksAnswer& answer, const View& view) {
  std::string out;
  for (const v1::StackWeight& stack : answer.stacks()) {
    const double share = answer.total() > 0 ? stack.value() / answer.total() : 0;
    absl::StrAppend(
        &out,
        Painted(absl::StrCat(Quantity(stack.value(), answer.unit()), "  ", Share(share)),
                Ink::kBold, view.style),
        "  ", BetweenText(stack.low(), stack.high(), answer.unit()), ", ",
        Plural(stack.samples(), "sample"), "  ", Escaped(stack.exe()), "\n",
        StackLines({stack.frames().begin(), stack.frames().end()}, "    ", kAllFrames, view),
        stack.end().empty() ? "" : absl::StrCat("    (", Escaped(stack.end()), ")\n"), "\n");
  }
  if (!answer.process().empty()) {
    double shown = 0;
    for (const v1::StackWeight& stack : answer.stacks()) shown += stack.value();
    absl::StrAppend(&out, "these of ", Escaped(answer.process()), ": ",
                    Quantity(shown, answer.unit()), ", ",
                    Share(answer.total() > 0 ? shown / answer.total() : 0), "; ");
  }
  return absl::StrCat(out, answer.process().empty() ? "all together: " : "of all processes: ",
                      Quantity(answer.total(), answer.unit()),
                      answer.process().empty() ? "" : ", which shares are of", "\n",
                      RenderCoverage(answer.coverage(), view));
}

std::string RenderEvents(const v1::EventsAnswer& answer, const View& view) {
  Table table({{"time"},
               {"node"},
               {"what"},
               {"pid", Table::Align::kRight},
               {"uid", Table::Align::kRight},
               {"event"}});
  for (const v1::EventAnswer& event : answer.events()) {
    table.Add({MomentText(event.time_s(), view.zone, true), Escaped(event.node()),
               Escaped(event.type()), event.pid() > 0 ? absl::StrCat(event.pid()) : "",
               event.pid() > 0 ? absl::StrCat(event.uid()) : "", Escaped(event.text())});
  }
  return absl::StrCat(answer.events().empty()
                          ? "no event in this time\n"
                          : absl::StrCat(table.Render(view.style), ZoneLine(view)),
                      "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
