#include "collector/cli/authority_groups.h"

#include "collector/cli/command_options.h"
#include "collector/cli/commands.h"

namespace telltale::cli {

void AddPki(CLI::App& app, Arguments& a, std::function<int()>& run) {
  CLI::App* pki = app.add_subcommand(
      "pki", "authorities and certificates: an offline root, one that issues, revocation");
  pki->require_subcommand(1);
  CLI::App* init = pki->add_subcommand("init", "make an authority: DIR/ca.crt, DIR/ca.key");
  CLI::App* issue = pki->add_subcommand("issue", "make DIR/ROLE-NAME.crt and .key");
  CLI::App* issuing =
      pki->add_subcommand("issuing",
                          "make an authority below it: DIR/issuing.crt and .key, for a collector's "
                          "enroll.ca_cert and enroll.ca_key");
  CLI::App* revoke = pki->add_subcommand(
      "revoke", "put certificates on the authority's list DIR/crl.pem, for tls.crl");
  CLI::App* show = pki->add_subcommand("show", "what a certificate file says");
  for (CLI::App* command : {init, issuing, issue}) {
    command->add_option("--dir", a.pki.dir, "directory of the authority")->required();
    command->add_option("--name", a.pki.name,
                        command == issue ? "who it is for" : "name of the authority");
    command
        ->add_option("--days", a.pki.days,
                     command == init      ? "valid for (3,650)"
                     : command == issuing ? "valid for (1,095)"
                                          : "valid for (825)")
        ->check(From1To(36'500));
    command->add_flag("--force", a.pki.force, "replace what is there");
  }
  issue->add_option("--role", a.pki.role, "node, operator, viewer or collector")->required();
  issue->get_option("--name")->required();
  issue->add_option("--dns", a.pki.dns, "host name of the collector; may be repeated")
      ->allow_extra_args(false);
  issue->add_option("--ip", a.pki.ips, "IP address of the collector; may be repeated")
      ->allow_extra_args(false);
  show->add_option("FILE", a.file, "PEM file")->required();
  revoke->add_option("--dir", a.pki.dir, "directory of the authority")->required();
  revoke->add_flag("--issuing", a.pki.issuing,
                   "of what DIR/issuing.crt signed, as nodes that enrolled; else of DIR/ca.crt");
  revoke->add_option("--cert", a.pki.certificates, "certificate (PEM) to revoke; may be repeated")
      ->allow_extra_args(false);
  revoke
      ->add_option("--serial", a.pki.serials,
                   "the same by its number, as telltale enroll list -o json and pki show have it")
      ->allow_extra_args(false);
  issuing->footer(
      "\nExample:\n  telltale pki issuing --dir pki\n"
      "Then take ca.key away: it is needed again for the next issuing authority only.");
  revoke->footer(
      "\nExamples:\n  telltale pki revoke --dir pki --cert pki/node-db-1.crt\n"
      "  telltale pki revoke --dir pki --issuing --serial 5F21...");
  init->footer("\nExample:\n  telltale pki init --dir pki");
  issue->footer(
      "\nExamples:\n  telltale pki issue --dir pki --role collector --name collector --dns "
      "localhost --ip 127.0.0.1\n"
      "  telltale pki issue --dir pki --role node --name db-1\n  telltale pki issue --dir pki "
      "--role operator --name alice");
  show->footer("\nExample:\n  telltale pki show pki/node-db-1.crt");
  init->callback([&] { run = [&] { return RunPkiInit(a); }; });
  issuing->callback([&] { run = [&] { return RunPkiIssuing(a); }; });
  issue->callback([&] { run = [&] { return RunPkiIssue(a); }; });
  revoke->callback([&] { run = [&] { return RunPkiRevoke(a); }; });
  show->callback([&] { run = [&] { return RunPkiShow(a); }; });
}

void AddToken(CLI::App& app, Arguments& a, std::function<int()>& run) {
  CLI::App* token = app.add_subcommand(
      "token", "tokens with which programs ask over HTTPS without a certificate; an operator's");
  token->require_subcommand(1);
  CLI::App* create = token->add_subcommand("create", "make one; it is shown once");
  CLI::App* list = token->add_subcommand("list", "who has one, until when, when it was used");
  CLI::App* revoke = token->add_subcommand("revoke", "end one at once");
  create->add_option("--name", a.token.name, "who it is for")->required();
  create->add_option("--role", a.token.role, "viewer (default) or operator");
  create->add_option("--expires,--for", a.token.expires,
                     "ends after this: 12h, 90d (default), at most 400d");
  revoke->add_option("ID", a.token.id, "its id or its name, as telltale token list shows it")
      ->required();
  create->footer(
      "\nExample:\n  telltale token create --name grafana --expires 365d\n"
      "  curl --cacert ca.crt -H \"Authorization: Bearer $TOKEN\" "
      "https://collector:7480/api/v1/nodes");
  list->footer("\nExample:\n  telltale token list");
  revoke->footer("\nExample:\n  telltale token revoke 1a2b3c4d");
  for (CLI::App* command : {create, list, revoke}) AddConnection(command, a);
  create->callback([&] { run = [&] { return RunTokenCreate(a); }; });
  list->callback([&] { run = [&] { return RunTokenList(a); }; });
  revoke->callback([&] { run = [&] { return RunTokenRevoke(a); }; });
}

void AddEnroll(CLI::App& app, Arguments& a, std::function<int()>& run) {
  CLI::App* enroll = app.add_subcommand(
      "enroll", "how nodes come to certificates: tokens, requests that wait; an operator's");
  enroll->require_subcommand(1);
  CLI::App* token = enroll->add_subcommand(
      "token", "make one that lets a node enrol by itself; shows what to type there");
  CLI::App* list = enroll->add_subcommand("list", "requests that wait, tokens, and who has what");
  CLI::App* approve = enroll->add_subcommand("approve", "let a request that waits have its name");
  CLI::App* deny = enroll->add_subcommand("deny", "refuse it");
  CLI::App* revoke =
      enroll->add_subcommand("revoke", "end a node's certificates or a token at once");
  token
      ->add_option("--node", a.enroll.node,
                   "name it may enrol as; * stands for any letters, ? for one; only a whole name "
                   "replaces a node that has a certificate")
      ->required();
  token->add_option("--uses", a.enroll.uses, "for so many nodes (1)")->check(From1To(10'000));
  token->add_option("--for,--expires", a.enroll.lifetime,
                    "ends after this: 1h (default), at most 30d");
  for (CLI::App* command : {approve, deny}) {
    command->add_option("ID", a.enroll.id, "as telltale enroll list shows it")->required();
  }
  CLI::Option* node = revoke->add_option("NODE", a.enroll.node,
                                         "whose certificates, all of them, are to count no more");
  revoke->add_option("--token", a.enroll.id, "end this token instead: its id, as list shows it")
      ->excludes(node);
  token->footer(
      "\nExamples:\n  telltale enroll token --node db-1\n"
      "  telltale enroll token --node 'web-*' --uses 40 --for 2h");
  list->footer("\nExample:\n  telltale enroll list");
  approve->footer(
      "\nExample:\n  telltale enroll approve 1a2b3c4d   after comparing the key's SHA-256 with "
      "what the node shows");
  deny->footer("\nExample:\n  telltale enroll deny 1a2b3c4d");
  revoke->footer(
      "\nExamples:\n  telltale enroll revoke db-1   until a token made afterwards enrols it anew\n"
      "  telltale enroll revoke --token 1a2b3c4d");
  for (CLI::App* command : {token, list, approve, deny, revoke}) AddConnection(command, a);
  token->callback([&] { run = [&] { return RunEnrollToken(a); }; });
  list->callback([&] { run = [&] { return RunEnrollList(a); }; });
  approve->callback([&] { run = [&] { return RunEnrollApprove(a); }; });
  deny->callback([&] { run = [&] { return RunEnrollDeny(a); }; });
  revoke->callback([&] { run = [&] { return RunEnrollRevoke(a); }; });
}

}  // namespace telltale::cli
