#include "collector/web/landing_page.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/escape.h"

namespace telltale::web {
namespace {

constexpr int kMaxNodes = 200;
constexpr int kMaxRemarks = 3;

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--ink:#1c2430;--dim:#67707d;--line:#d9dee5;--ground:#fbfcfd;--card:#fff;
--good:#1a7f4b;--warn:#a05a00;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#dde3ea;--dim:#8e98a5;--line:#2c343e;--ground:#12161b;--card:#191f26;
--good:#5bd193;--warn:#f0b35a;--bad:#ff8b81}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:72rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2.25rem 0 .75rem}
p{margin:.35rem 0}.dim{color:var(--dim)}
.figures{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.25rem 0}
.figures div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.6rem 1rem;min-width:8rem}
.figures b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.45rem .9rem;border-top:1px solid var(--line);vertical-align:top}
thead th{border-top:0;font-weight:600;color:var(--dim);font-size:.85rem;white-space:nowrap}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
code,pre{font:13px/1.6 ui-monospace,monospace}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;margin:0}
details{margin-top:.2rem}summary{cursor:pointer;color:var(--dim)}
a{color:inherit}
)css";

std::string Ago(double then_s, double now_s) {
  if (then_s <= 0) return "never";
  const double ago = std::max(0.0, now_s - then_s);
  if (ago < 120) return absl::StrFormat("%.0f s ago", ago);
  if (ago < 7200) return absl::StrFormat("%.0f min ago", ago / 60);
  if (ago < 172800) return absl::StrFormat("%.0f h ago", ago / 3600);
  return absl::StrFormat("%.0f days ago", ago / 86400);
}

std::string Bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, bytes, units[unit]);
}

struct Shown {
  const char* text;
  const char* style;
};

Shown StateOf(const v1::Node& node) {
  switch (node.state()) {
    case v1::Node::REPORTING:
      return {"reporting", "good"};
    case v1::Node::SILENT:
      return {"silent", "bad"};
    case v1::Node::STOPPED:
      return {"stopped", "dim"};
    case v1::Node::NEVER:
      return {"no epoch yet", "warn"};
    case v1::Node::CLONE_CONFLICT:
      return {"two machines, one name", "bad"};
    default:
      return {"unknown", "warn"};
  }
}

Shown StateOf(v1::VitalState state) {
  switch (state) {
    case v1::VITAL_STATE_ACTIVE:
      return {"active", "good"};
    case v1::VITAL_STATE_DEGRADED:
      return {"degraded", "warn"};
    case v1::VITAL_STATE_UNAVAILABLE:
      return {"unavailable", "bad"};
    default:
      return {"unknown", "warn"};
  }
}

void Figure(std::string& out, const std::string& value, const char* text, const char* style = "") {
  absl::StrAppend(&out, "<div><b class=\"", style, "\">", formats::Markup(value), "</b>", text,
                  "</div>");
}

void Figures(std::string& out, const v1::StatusAnswer& status) {
  double bytes = 0;
  for (const v1::StoreSize& size : status.store()) bytes += size.bytes();
  if (!status.not_storing().empty()) {
    absl::StrAppend(&out, "<p class=\"bad\">Not storing: ", formats::Markup(status.not_storing()),
                    "; agents keep their epochs and send them again.</p>");
  }
  out += "<div class=\"figures\">";
  Figure(out, absl::StrCat(status.nodes_reporting(), " of ", status.nodes_known()),
         "nodes reporting");
  Figure(out, absl::StrCat(status.nodes_silent()), "silent",
         status.nodes_silent() > 0 ? "bad" : "");
  Figure(out, absl::StrCat(status.nodes_degraded()), "degraded",
         status.nodes_degraded() > 0 ? "warn" : "");
  if (status.clone_conflicts() > 0) {
    Figure(out, absl::StrCat(status.clone_conflicts()), "clone conflicts", "bad");
  }
  Figure(out, absl::StrCat(status.stored_summaries()), "epochs stored");
  Figure(out, Bytes(bytes), "on disk");
  Figure(out, absl::StrFormat("%.0f ms", status.ack_p99_s() * 1e3), "ack, 99 %");
  out += "</div>";
}

void Vitals(std::string& out, const v1::Node& node, const v1::VitalsAnswer& descriptors) {
  std::map<uint32_t, const v1::VitalDescriptor*> by_id;
  for (const auto& vital : descriptors.vitals()) by_id[vital.id()] = &vital;
  absl::StrAppend(&out, "<details",
                  node.vitals_degraded() + node.vitals_unavailable() > 0 ? " open" : "",
                  "><summary>", node.vitals_active(), " active, ", node.vitals_degraded(),
                  " degraded, ", node.vitals_unavailable(), " unavailable</summary><table>");
  for (const v1::VitalStatus& vital : node.info().vitals()) {
    const auto found = by_id.find(vital.id());
    const Shown state = StateOf(vital.state());
    absl::StrAppend(&out, "<tr><td>",
                    found == by_id.end() ? absl::StrCat("vital ", vital.id())
                                         : formats::Markup(found->second->name()),
                    "</td><td class=\"", state.style, "\">", state.text, "</td><td class=\"dim\">",
                    formats::Markup(vital.reason().empty() ? vital.hook() : vital.reason()),
                    "</td></tr>");
  }
  out += "</table></details>";
}

void Nodes(std::string& out, const LandingData& data) {
  out += "<h2>Nodes</h2>";
  if (data.nodes.nodes().empty()) {
    out +=
        "<p class=\"dim\">No agent has reported yet. Start one with this collector's address and a "
        "node's "
        "certificate; its first epoch shows here within 15 seconds.</p>";
    return;
  }
  out +=
      "<div class=\"scroll\"><table><thead><tr><th>node</th><th>state</th><th>last epoch</th>"
      "<th>epochs</th><th>vitals</th></tr></thead><tbody>";
  int shown = 0;
  for (const v1::Node& node : data.nodes.nodes()) {
    if (shown++ == kMaxNodes) break;
    const Shown state = StateOf(node);
    absl::StrAppend(&out, "<tr><td>", formats::Markup(node.name()), "<p class=\"dim\">",
                    formats::Markup(node.info().kernel_release()), "</p></td><td class=\"",
                    state.style, "\">", state.text);
    int remarks = 0;
    for (const std::string& remark : node.remarks()) {
      if (remarks++ == kMaxRemarks) break;
      absl::StrAppend(&out, "<p class=\"dim\">", formats::Markup(remark), "</p>");
    }
    absl::StrAppend(&out, "</td><td>", Ago(node.last_s(), data.status.now_s()),
                    "</td><td class=\"n\">", node.epochs_received());
    if (node.epochs_lost() > 0) {
      absl::StrAppend(&out, "<p class=\"warn\">", node.epochs_lost(), " lost</p>");
    }
    out += "</td><td>";
    Vitals(out, node, data.vitals);
    out += "</td></tr>";
  }
  out += "</tbody></table></div>";
  if (data.nodes.nodes_size() > kMaxNodes) {
    absl::StrAppend(&out, "<p class=\"dim\">and ", data.nodes.nodes_size() - kMaxNodes,
                    " more: <code>telltale nodes</code></p>");
  }
}

void Filters(std::string& out, const v1::StatusAnswer& status) {
  if (status.filters().empty()) return;
  out +=
      "<h2>Filters</h2><div "
      "class=\"scroll\"><table><thead><tr><th>filter</th><th>state</th><th>anomalies</th>"
      "<th>behind</th></tr></thead><tbody>";
  for (const v1::FilterStatus& filter : status.filters()) {
    absl::StrAppend(&out, "<tr><td>", formats::Markup(filter.name()), ", version ",
                    filter.version(), "</td><td>", formats::Markup(filter.state()),
                    " <span class=\"dim\">", formats::Markup(filter.reason()),
                    "</span></td><td class=\"n\">", filter.anomalies(), "</td><td class=\"n\">",
                    absl::StrFormat("%.0f s", filter.lag_s()), "</td></tr>");
  }
  out += "</tbody></table></div>";
}

constexpr std::string_view kNext = R"html(<h2>What to ask next</h2>
<pre>telltale top                     # who used what, and where in the code, right now
telltale samples --vital blocking
telltale series --vital cpu --from -2h
telltale anomalies --follow
telltale --help</pre>
<p class="dim">The same answers as JSON: <code>/api/v1/top</code>, <code>/api/v1/nodes</code>,
<code>/api/v1/series?vitals=cpu</code>; live anomalies: <code>/api/v1/anomalies/follow</code>. For Prometheus:
<a href="/metrics"><code>/metrics</code></a>. For load balancers: <a href="/healthz"><code>/healthz</code></a>,
<a href="/readyz"><code>/readyz</code></a>.</p>)html";

}  // namespace

std::string LandingPage(const LandingData& data) {
  const v1::StatusAnswer& status = data.status;
  std::string out =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>Telltale</title><style>";
  absl::StrAppend(&out, std::string(kStyle),
                  "</style></head><body><main><h1>Telltale</h1><p class=\"dim\">collector ",
                  formats::Markup(status.version()), ", started ",
                  Ago(status.start_s(), status.now_s()),
                  "; everything below is as of this page's loading</p>");
  Figures(out, status);
  Nodes(out, data);
  Filters(out, status);
  absl::StrAppend(&out, std::string(kNext), "</main></body></html>\n");
  return out;
}

std::string LandingPolicy() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  EVP_Digest(kStyle.data(), kStyle.size(), digest, &bytes, EVP_sha256(), nullptr);
  const std::string hash =
      absl::Base64Escape(std::string(reinterpret_cast<const char*>(digest), bytes));
  return absl::StrCat("default-src 'none'; style-src 'sha256-", hash,
                      "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

Handler LandingHandler(std::function<absl::StatusOr<LandingData>(const Request&)> data) {
  return [data = std::move(data), policy = LandingPolicy()](const Request& request) {
    const auto shown = data(request);
    if (!shown.ok()) return ErrorResponse(shown.status());
    Response response;
    response.content_type = "text/html; charset=utf-8";
    response.body = LandingPage(*shown);
    response.headers.emplace_back("Content-Security-Policy", policy);
    return response;
  };
}

}  // namespace telltale::web
