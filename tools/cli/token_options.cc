#include "tools/cli/token_options.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/scopes.h"

namespace tools::cli {
namespace {

void add_create(CLI::App& token, Command& chosen) {
  constexpr std::int64_t kDay = 86400;
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* create = token.add_subcommand("create", "Make a bearer token; it is printed last");
  create->add_option("--name", options->name, "What it is for")->check([](const std::string& name) {
    return name.empty() ? "must not be empty" : "";
  });
  create
      ->add_option("--principal", options->principal,
                   "On whose behalf it acts: sessions, runs and files belong to a principal")
      ->capture_default_str();
  create
      ->add_option(
          "--scope", options->scopes,
          "What it may do: read, or metrics (/metrics and nothing else); default: everything "
          "but /metrics")
      ->check(CLI::IsMember({kScopeRead, kScopeMetrics}));
  create->add_option("--expires-in", options->expires_in_seconds, "As 90d, 12h, 30m, 60s")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, std::int64_t>{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", kDay}}))
      ->check(CLI::Range(std::int64_t{1}, 3660 * kDay));
  create->callback([&chosen, options] {
    chosen = [options](const Settings& settings) { return token_create(settings, *options); };
  });
}

}  // namespace

void add_token(CLI::App& app, Command& chosen) {
  CLI::App* token = app.add_subcommand("token", "Who may use hutch serve");
  token->require_subcommand(1);
  add_create(*token, chosen);

  const auto as_json = std::make_shared<bool>(false);
  CLI::App* list = token->add_subcommand("ls", "List tokens, without their secrets");
  list->add_flag("--json", *as_json, "Print JSON");
  list->callback([&chosen, as_json] {
    chosen = [as_json](const Settings& settings) { return token_list(settings, *as_json); };
  });

  const auto id = std::make_shared<std::string>();
  CLI::App* revoke = token->add_subcommand("revoke", "End one; servers refuse it at once");
  revoke->add_option("token", *id, "Id or name")->required();
  revoke->callback([&chosen, id] {
    chosen = [id](const Settings& settings) { return token_revoke(settings, *id); };
  });
}

}  // namespace tools::cli
