#include "collector/cli/incident_table.h"

#include <array>

#include "collector/cli/commands.h"

namespace telltale::cli {

std::span<const Command> IncidentCommands() {
  static const std::array kCommands = {
      Command{"investigate", "what was odd then, on one page: how much, who, where in the code",
              "  telltale investigate --at \"last wednesday 5pm\"            all nodes\n"
              "  telltale investigate --node db-1 --at 17:00 --around 5m\n"
              "  telltale investigate --node db-1 --at \"2026-11-18 17:00\" --for 10m --hide-self\n"
              "Each vital is held against the same node's hour before and the same time of the "
              "seven days\n"
              "before. Without --at: the last 15 minutes.",
              [](CLI::App* c, Arguments& a) {
                AddNodes(c, a);
                c->add_option("--at", a.range.at, "about when; 15 minutes on both sides")
                    ->group("Time");
                c->add_option("--around", a.range.around, "so much on both sides of --at (15m)")
                    ->group("Time");
                c->add_option("--for", a.range.length, "so long from --at on, or until now")
                    ->group("Time");
                c->add_option("--from", a.range.from, "start")->group("Time");
                c->add_option("--to", a.range.to, "end; now if not given")->group("Time");
                AddLimit(c, a, 20, "so many findings (5); at most 20");
                AddHideSelf(c, a);
              },
              RunInvestigate},
      Command{
          "live", "the whole terminal: who does most now, vital by vital",
          "  telltale live\n  telltale live --node db-1 --vital blocking\n"
          "Keys: Tab or right and left choose the vital, up and down scroll, space holds it, q "
          "leaves.\n"
          "The collector tells when an epoch is over, and each second of nodes named with --node. "
          "While it tells nothing the screen says so and asks every 2 s (--every). No answer is "
          "waited for\n"
          "longer than 5 s: the screen says so and asks again.",
          [](CLI::App* c, Arguments& a) {
            AddNodes(c, a);
            AddVital(c, a, "the vital to begin with (cpu)");
            c->add_option("--for", a.range.length, "the last so long (1m)")->group("Time");
            c->add_option("--every", a.every_s,
                          "ask so often while nothing is told, in seconds (2)")
                ->check(From1To(3600));
            AddHideSelf(c, a);
          },
          RunLive},
      Command{"heat", "a vital of many nodes over time, in blocks",
              "  telltale heat --vital cpu\n"
              "  telltale heat --vital blocking/disk --from -1d --label role=db\n"
              "  telltale heat --vital syscall --from -6h --limit 100 | less",
              [](CLI::App* c, Arguments& a) {
                AddNodes(c, a);
                AddRange(c, a, "hour");
                AddTier(c, a);
                AddVital(c, a, "e.g. cpu or blocking/disk");
                AddLimit(c, a, 5000, "so many nodes, the highest first (30); at most 5,000");
              },
              RunHeat},
      Command{"note",
              "note a deploy, a change, a suspicion beside the data; lists them without a text",
              "  telltale note \"deploy 1.2\"\n"
              "  telltale note \"raised the cache to 4 GB\" --node db-1 --at \"yesterday 17:00\"\n"
              "  telltale note                                  those of the last 7 days\n"
              "  telltale note --remove 1a2b3c4d\n"
              "Noting and removing need an operator's certificate. Notes are shown by note, events "
              "and\n"
              "investigate, and are in backups.",
              [](CLI::App* c, Arguments& a) {
                c->add_option("TEXT", a.note, "what to note, at most 300 bytes")
                    ->check(CLI::Validator(
                        [](const std::string& text) {
                          return std::string(text.empty() ? "is empty: a note needs a text" : "");
                        },
                        ""));
                AddNodes(c, a);
                AddRange(c, a, "7 days");
                c->get_option("--at")->description("the moment it is about (now)");
                c->add_option("--remove", a.remove, "the id of a note to take back");
                AddLimit(c, a, 10'000, "list the newest so many (200); at most 10,000");
              },
              RunNote},
  };
  return kCommands;
}

}  // namespace telltale::cli
