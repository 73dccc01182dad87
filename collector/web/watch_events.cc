#include "collector/web/watch_events.h"

#include "collector/web/event_stream.h"

namespace telltale::web {

Handler FollowAnomalies(filter::AnomalyLog* log) {
  return FollowEvents(
      {.name = "anomaly",
       .now = [log] { return log->NowCursor(); },
       .after = [log](const std::string& cursor,
                      size_t limit) -> absl::StatusOr<std::vector<StreamEvent>> {
         auto fresh = log->After(cursor, limit);
         if (!fresh.ok()) return fresh.status();
         std::vector<StreamEvent> events;
         for (v1::Anomaly& anomaly : *fresh) {
           const std::string at = anomaly.cursor();
           const std::string node = anomaly.node();
           events.push_back({at, {node}, std::make_shared<v1::Anomaly>(std::move(anomaly))});
         }
         return events;
       },
       .wait = [log](std::function<void()> wake) { return log->Wait(std::move(wake)); }});
}

Handler FollowIncidents(incident::IncidentBook* book) {
  return FollowEvents(
      {.name = "incident",
       .now = [book] { return book->NowCursor(); },
       .after = [book](const std::string& cursor,
                       size_t limit) -> absl::StatusOr<std::vector<StreamEvent>> {
         auto fresh = book->After(cursor, limit);
         if (!fresh.ok()) return fresh.status();
         std::vector<StreamEvent> events;
         for (v1::IncidentNews& news : *fresh) {
           const auto& nodes = news.incident().nodes();
           events.push_back({news.cursor(),
                             {nodes.begin(), nodes.end()},
                             std::make_shared<v1::Incident>(std::move(*news.mutable_incident()))});
         }
         return events;
       },
       .wait = [book](std::function<void()> wake) { return book->Wait(std::move(wake)); }});
}

}  // namespace telltale::web
