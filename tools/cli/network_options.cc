#include "tools/cli/network_options.h"

#include <CLI/CLI.hpp>
#include <memory>

namespace tools::cli {
namespace {

void add_set(CLI::App& credential, Command& chosen) {
  const auto options = std::make_shared<CredentialOptions>();
  CLI::App* set = credential.add_subcommand(
      "set", "Keep one, or change it; its value is read from standard input");
  set->add_option("name", options->name, "How sessions name it")->required();
  set->add_option("--host", options->host, "Host that it is for: api.example.com, *.example.com")
      ->required();
  auto* place = set->add_option_group("Where in a request it belongs");
  place->add_flag_callback(
      "--bearer", [options] { options->place = "bearer"; },
      "Authorization: Bearer VALUE, which it is unless something else is said");
  place->add_flag_callback(
      "--basic", [options] { options->place = "basic"; },
      "Authorization: Basic, of a value user:password");
  place->add_option_function<std::string>(
      "--header", [options](const std::string& name) { options->place = "header:" + name; },
      "In this header");
  place->add_option_function<std::string>(
      "--query", [options](const std::string& name) { options->place = "query:" + name; },
      "In this parameter of the address");
  place->add_flag_callback(
      "--sigv4", [options] { options->place = "sigv4"; },
      "Requests to AWS are signed with it, a value id:secret or id:secret:token");
  place->require_option(0, 1);
  set->add_flag("--allow-plain", options->allow_plain, "Also within plain HTTP, for all to read");
  auto* source = set->add_option_group("Where the value comes from");
  source->add_option("--file", options->file, "Read it from this file, now");
  source->add_option("--env", options->variable, "Read it from this variable, now");
  source->add_option("--command", options->command,
                     "Each time it is needed, have this command of the shell print it");
  source->require_option(0, 1);
  set->callback([&chosen, options] {
    chosen = [options](const Settings& settings) { return credential_set(settings, *options); };
  });
}

}  // namespace

void add_credential(CLI::App& app, Command& chosen) {
  CLI::App* credential =
      app.add_subcommand("credential", "Keys and passwords that code uses and never sees");
  credential->require_subcommand(1);
  add_set(*credential, chosen);

  const auto as_json = std::make_shared<bool>(false);
  CLI::App* list = credential->add_subcommand("ls", "List them, without their values");
  list->add_flag("--json", *as_json, "Print JSON");
  list->callback([&chosen, as_json] {
    chosen = [as_json](const Settings& settings) { return credential_list(settings, *as_json); };
  });

  const auto name = std::make_shared<std::string>();
  CLI::App* remove = credential->add_subcommand("rm", "Forget one; sessions have it no more");
  remove->add_option("name", *name, "Its name")->required();
  remove->callback([&chosen, name] {
    chosen = [name](const Settings& settings) { return credential_remove(settings, *name); };
  });
  CLI::App* hand_over = credential->add_subcommand("hand-over", "For hutch-egress")->group("");
  hand_over->add_option("name", *name, "Its name")->required();
  hand_over->callback([&chosen, name] {
    chosen = [name](const Settings& settings) { return credential_hand_over(settings, *name); };
  });
}

void add_allow(CLI::App& sessions, Command& chosen) {
  const auto options = std::make_shared<AllowOptions>();
  CLI::App* allow = sessions.add_subcommand("allow", "Let one reach a host, from now on");
  allow->add_option("session", options->session, "Id or name")->required();
  allow
      ->add_option("host", options->hosts,
                   "api.example.com, *.example.com, with :port; or packages, github")
      ->required();
  allow->add_flag("--take-back", options->take_back, "Not any more what was allowed so");
  allow->add_flag("--restart", options->restart,
                  "End its processes now where they cannot have it else; files stay");
  allow->add_flag("--json", options->as_json, "Print JSON");
  allow->callback([&chosen, options] {
    chosen = [options](const Settings& settings) -> base::Result<int> {
      const auto application = TRY(Application::open(settings));
      return allow_session(*application, *options);
    };
  });
}

void add_audit(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<AuditOptions>();
  CLI::App* audit = app.add_subcommand("audit", "What sessions have asked of the network");
  audit->add_option("--session", options->session, "Only of this one, by id or name");
  audit->add_flag("--refused", options->refused_only, "Only what was refused");
  audit->add_option("-n", options->count, "The last so many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  audit->add_flag("-f,--follow", options->follow, "Go on as more comes");
  audit->add_flag("--json", options->as_json, "Print an object of JSON a line");
  audit->callback([&chosen, options] {
    chosen = [options](const Settings& settings) -> base::Result<int> {
      const auto application = TRY(Application::open(settings));
      return run_audit(*application, *options);
    };
  });
}

}  // namespace tools::cli
