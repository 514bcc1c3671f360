#include "tools/cli/session_options.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli/ending_signals.h"

namespace tools::cli {
namespace {

constexpr int kPortMax = 65535;

template <typename Options>
void choose(CLI::App* command, Command& chosen, const std::shared_ptr<Options>& options,
            base::Result<int> (*run)(Application&, const Options&)) {
  command->callback([&chosen, options, run] {
    chosen = with_application([options, run](Application& app) { return run(app, *options); });
    block_ending_signals();
  });
}

}  // namespace

Command with_application(std::function<base::Result<int>(Application&)> body) {
  return [body = std::move(body)](const Settings& settings) -> base::Result<int> {
    const auto app = TRY(Application::open(settings));
    return body(*app);
  };
}

void add_work_in_sessions(CLI::App& app, Command& chosen) {
  CLI::App* shell_command = app.add_subcommand("shell", "A terminal in a session");
  const auto shell_options = std::make_shared<ShellOptions>();
  shell_command
      ->add_option("session", shell_options->session, "Id or name; made when it is not there")
      ->required();
  shell_command->add_option("command", shell_options->words, "In place of bash, behind --");
  shell_command->callback([&chosen, shell_options] {
    chosen = with_application([shell_options](Application& application) {
      return run_shell(application, *shell_options);
    });
    block_signals(kShellSignals);
  });

  CLI::App* forward =
      app.add_subcommand("forward", "A server in a session, at a port of this machine");
  const auto forward_options = std::make_shared<ForwardOptions>();
  forward->add_option("session", forward_options->session, "Id or name")->required();
  forward->add_option("port", forward_options->port, "Where it listens in the session")
      ->required()
      ->check(CLI::Range(1, kPortMax));
  forward->add_option("--listen", forward_options->listen, "Port of this machine; 0: any")
      ->check(CLI::Range(0, kPortMax));
  choose(forward, chosen, forward_options, run_forward);

  CLI::App* logs = app.add_subcommand("logs", "What a run has printed");
  const auto logs_options = std::make_shared<LogsOptions>();
  auto* id = logs->add_option("id", logs_options->id, "Of a run, or of a session for its newest");
  auto* follow =
      logs->add_flag("-f,--follow", logs_options->follow, "And what it prints, until it ends");
  auto* trace =
      logs->add_flag("--trace", logs_options->trace, "In place of that, where its time went")
          ->excludes(follow);
  logs->add_option("--record", logs_options->record,
                   "The record.json of a run of any principal, in place of the id")
      ->needs(trace)
      ->excludes(id);
  logs->callback([&chosen, logs_options] {
    if (logs_options->id.empty() && logs_options->record.empty()) throw CLI::RequiredError("id");
    if (logs_options->record.empty()) {
      chosen = with_application([logs_options](Application& application) {
        return run_logs(application, *logs_options);
      });
    } else {
      chosen = [logs_options](const Settings&) { return show_record(logs_options->record); };
    }
    block_ending_signals();
  });

  CLI::App* copy =
      app.add_subcommand("cp", "Copy a file or a folder, whole, into a session, or out of it");
  const auto copy_options = std::make_shared<CopyOptions>();
  copy->add_option("from", copy_options->from, "A path or -, or SESSION:PATH")->required();
  copy->add_option("to", copy_options->to, "SESSION:PATH, or a path or -")->required();
  // Not by choose(): a signal ends it as it would end cp(1).
  copy->callback([&chosen, copy_options] {
    chosen = with_application(
        [copy_options](Application& application) { return run_copy(application, *copy_options); });
  });
}

void add_share(CLI::App& app, Command& chosen) {
  struct Options {
    std::string id;
    std::string target;
    bool as_json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* share = app.add_subcommand("share", "Files that sessions have shared");
  share->require_subcommand(1);
  CLI::App* list = share->add_subcommand("ls", "List shared files");
  list->add_flag("--json", options->as_json, "Print JSON");
  list->callback([&chosen, options] {
    chosen = with_application(
        [options](Application& application) { return share_list(application, options->as_json); });
  });
  CLI::App* get = share->add_subcommand("get", "Copy a shared file to here");
  get->add_option("id", options->id, "Id of the shared file")->required();
  get->add_option("-o,--output", options->target,
                  "File or directory to write to, - for standard output")
      ->check(CLI::Validator(
          [](std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); },
          ""));
  get->callback([&chosen, options] {
    chosen = with_application([options](Application& application) {
      return share_get(application, options->id, options->target);
    });
  });
  CLI::App* remove = share->add_subcommand("rm", "Take back a shared file: its links end");
  remove->add_option("id", options->id, "Id of the shared file")->required();
  remove->callback([&chosen, options] {
    chosen = with_application(
        [options](Application& application) { return share_remove(application, options->id); });
  });
}

}  // namespace tools::cli
