// The command line, by CLI11.
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/name_service.h"
#include "base/process.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/wire/build_id.h"
#include "tools/cli/commands.h"
#include "tools/cli/ending_signals.h"
#include "tools/cli/logging.h"
#include "tools/cli/manual.h"
#include "tools/cli/network_options.h"
#include "tools/cli/own_command.h"
#include "tools/cli/server_log.h"
#include "tools/cli/session_options.h"
#include "tools/cli/setup_options.h"
#include "tools/cli/terminal.h"
#include "tools/cli/token_options.h"
#include "tools/text_window.h"

namespace tools::cli {
namespace {

// A variable that a script has left empty is no option that was not given.
const CLI::Validator kNotEmpty(
    [](std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); }, "");

// The umask of whoever started it.
mode_t set_up_process() {
  base::use_built_in_names();
  // A session with more descriptors on their way than we may have open would take away ours
  // (unix(7)).
  base::raise_descriptor_limit();

  // Sessions of root's run as users of their own, who must be able to enter their directories. The
  // state directory around them is open to its owner alone.
  const mode_t user_umask = ::umask(022);

  ::signal(SIGPIPE, SIG_IGN);
  // Boxes are children nobody waits for: the kernel reaps them.
  ::signal(SIGCHLD, SIG_IGN);
  return user_umask;
}

constexpr std::int64_t kServeDetachSeconds = 600;

struct Choices {
  Flags flags;
  std::string session_name;
  RunOptions run;
  std::string id;
  bool as_json = false;
  bool expired = false;
  bool no_auth = false;
  bool only_check = false;  // the configuration
  mode_t user_umask = 022;
  Command command;
};

void add_sessions(CLI::App& app, Choices& choices) {
  CLI::App* sessions = app.add_subcommand("sessions", "List and manage sessions");
  sessions->require_subcommand(1);
  struct Row {
    const char* name;
    const char* help;
    SessionAction action;
  };
  for (const Row& row : {Row{"ls", "List sessions", SessionAction::kList},
                         Row{"show", "Show one, with its newest runs", SessionAction::kShow},
                         Row{"rm", "Delete one and its files", SessionAction::kRemove},
                         Row{"pause", "Freeze its processes", SessionAction::kPause},
                         Row{"resume", "Thaw its processes", SessionAction::kResume},
                         Row{"forget-state", "Delete what is stored of its variables",
                             SessionAction::kForgetState}}) {
    CLI::App* one = sessions->add_subcommand(row.name, row.help);
    const bool removes = row.action == SessionAction::kRemove;
    if (row.action != SessionAction::kList) {
      one->add_option("session", choices.id, "Id or name")->required(!removes);
    }
    if (removes) {
      one->add_flag("--expired", choices.expired,
                    "Those over their time, where hutch holds that back (hutch doctor)");
    }
    one->add_flag("--json", choices.as_json, "Print JSON");
    one->callback([&choices, removes, action = row.action] {
      if (removes && choices.expired == !choices.id.empty()) {
        throw CLI::RequiredError("session");
      }
      if (removes && choices.expired) {
        choices.command = with_application(expire_sessions);
        return;
      }
      choices.command = with_application([&choices, action](Application& application) {
        return run_sessions(application, action, choices.id, choices.as_json);
      });
    });
  }
  add_allow(*sessions, choices.command);
}

void add_environments(CLI::App& app, Choices& choices) {
  CLI::App* environments = app.add_subcommand(
      "environments", "ls, build, rm: packages that sessions have, apart from this machine's");
  // Its program knows its arguments, and tells of them.
  environments->prefix_command()->fallthrough(false);
  environments->set_help_flag();
  environments->callback([&choices, environments] {
    choices.command = [arguments = environments->remaining()](const Settings& settings) {
      return run_environments(settings, arguments);
    };
  });
}

// Adds the options for what sessions get of this machine and its network.
void add_grants(CLI::App* command, Choices& choices) {
  // One at a time: what follows may be the file.
  command
      ->add_option("--mount", choices.flags.mounts,
                   "[NAME=]PATH[:rw] of a folder that sessions see as /mnt/NAME, read-only "
                   "without :rw; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--allow", choices.flags.allow,
                   "Host that sessions may reach: api.example.com, *.example.com, with :port, "
                   "'GET api.example.com/v1/*'; or packages, github; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--credential", choices.flags.credentials,
                   "Of hutch credential: added to requests to its host; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--packages", choices.flags.packages,
                    "Sessions may install packages, beside what else they are allowed");
}

void add_stdio_and_run(CLI::App& app, Choices& choices) {
  CLI::App* stdio =
      app.add_subcommand("stdio", "Serve one MCP client on standard input and output");
  stdio
      ->add_option("--session", choices.session_name,
                   "Name of a lasting session to use, made when it is not there")
      ->check(kNotEmpty);
  stdio->add_option_function<std::string>(
      "--share-dir", [&choices](const std::string& path) { choices.flags.share_directory = path; },
      "Where shared files are put for you to keep, ~/hutch unless given; none: nowhere");
  add_grants(stdio, choices);
  stdio->callback([&choices] {
    choices.command = [&choices](Settings settings) -> base::Result<int> {
      settings.serves = true;
      settings.mounting = Settings::Mounting::kAll;
      const auto application = TRY(Application::open(settings));
      return run_stdio(*application, choices.session_name);
    };
    block_ending_signals();
  });
  CLI::App* run = app.add_subcommand("run", "Run one piece of code in a sandbox");
  run->add_option("file", choices.run.file, "File with the code, - for standard input")->required();
  run->add_option("-l,--language", choices.run.language,
                  "python, javascript, typescript, sql, bash; else the suffix of FILE says it");
  run->add_option("-s,--session", choices.run.session, "Name of a lasting session to run it in")
      ->check(kNotEmpty);
  run->add_option("-t,--timeout", choices.run.timeout_seconds, "Seconds")
      ->check(CLI::Range(1, static_cast<int>(sandbox::kRunSecondsMax)));
  run->add_option(
         "--save", choices.run.save_directory,
         "Directory where the pictures and tables it shows are written whole, and the files that "
         "it makes or changes in /workspace; names with a dot in front are left out")
      ->check(kNotEmpty);
  add_grants(run, choices);
  run->callback([&choices] {
    // Before anything is made for it: it is a usage error.
    const auto language = language_of(choices.run);
    if (!language.ok()) {
      throw CLI::ValidationError(language.error().message, CLI::ExitCodes::ValidationError);
    }
    choices.command = [&choices](Settings settings) -> base::Result<int> {
      settings.mounting = Settings::Mounting::kAll;
      // Whoever types it may think better of it: nothing is made yet that would have to be ended.
      std::string code = TRY(read_code(choices.run));
      block_ending_signals();
      const auto application = TRY(Application::open(settings));
      return run_code_once(*application, choices.run, std::move(code));
    };
  });
}

Settings settings_of_serve(Settings settings) {
  // Its clients are not tied to it as the one of stdio is: they come back after a restart.
  if (settings.detach_seconds == kDetachUnset) settings.detach_seconds = kServeDetachSeconds;
  settings.clients_come_back = true;
  settings.serves = true;
  settings.mounting = Settings::Mounting::kAsked;
  return settings;
}

void add_serve(CLI::App& app, Choices& choices) {
  CLI::App* serve = app.add_subcommand("serve", "Serve MCP clients over HTTP");
  serve
      ->add_option("--listen", choices.flags.listen,
                   "Address, 127.0.0.1:8931 unless given, or unix:/path")
      ->check(kNotEmpty);
  serve->add_option("--allow-origin", choices.flags.allow_origins,
                    "Web origin whose pages may use this server; may be repeated");
  serve->add_option("--allow-host", choices.flags.allow_hosts,
                    "Further name that clients may use for this server; may be repeated");
  serve->add_flag("--behind-proxy", choices.flags.behind_proxy,
                  "A proxy in front does TLS: other than loopback addresses are allowed");
  serve
      ->add_option("--public-url", choices.flags.public_url,
                   "Address under which others reach this server: links to files begin with it")
      ->check(kNotEmpty);
  serve->add_flag("--store-at-end", choices.flags.store_at_end,
                  "Store what sessions know when this ends, and end their processes: for services "
                  "and containers, whose end kills those");
  serve->add_flag("--no-auth", choices.no_auth,
                  "Ask for no token: all users of this machine may run code as you");
  serve->add_flag("--check", choices.only_check,
                  "Say what is wrong with the configuration, or that nothing is, and serve nobody");
  add_grants(serve, choices);
  serve->callback([&choices] {
    choices.command = [&choices](const Settings& read) -> base::Result<int> {
      const Settings settings = settings_of_serve(read);
      if (choices.only_check) return check_serve(settings, choices.no_auth);
      const auto application = TRY(Application::open(settings));
      return run_serve(*application, choices.no_auth, [&choices]() -> base::Result<Settings> {
        return settings_of_serve(TRY(resolve_settings(choices.flags, process_environment())));
      });
    };
    block_ending_signals();
  });
}

// For packages and shells; in no list of commands.
void add_manual(CLI::App& app, Choices& choices) {
  app.add_subcommand("manual", "Print the manual page")->group("")->callback([&app, &choices] {
    choices.command = [&app](const Settings&) -> base::Result<int> {
      std::cout << manual_page(app, HUTCH_VERSION);
      return 0;
    };
  });
  CLI::App* completion = app.add_subcommand("completion", "Print what a shell completes words by");
  completion->add_option("shell", choices.id, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &choices] {
    choices.command = [&app, &choices](const Settings&) -> base::Result<int> {
      std::cout << completion_for(choices.id, app);
      return 0;
    };
  });
}

// "ls, show, rm": what may stand behind a command that needs another one.
std::string commands_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    base::append_part(names, one->get_name());
  }
  return names;
}

// The library's words where they are good; of what it took for no command it says only that there
// is none.
std::string usage_failure(const CLI::App* app, const CLI::Error& failure) {
  const CLI::App* last = app;
  std::string line = app->get_name();
  while (!last->get_subcommands().empty()) {
    last = last->get_subcommands().front();
    line += " " + last->get_name();
  }
  std::string what = failure.what();
  const bool lacks_command = failure.get_name() == "RequiredError" && !commands_of(*last).empty();
  if (lacks_command) {
    const auto unknown = app->remaining(true);
    const std::string given = unknown.empty() ? "" : to_utf8(unknown.front());
    const std::string shown = one_line(base::echoed(given));
    what = given.empty() ? line + " needs a command" : "unknown command \"" + shown + "\"";
    what += "; there are: " + commands_of(*last);
    if (given.starts_with('-')) what = "unknown option \"" + shown + "\"";
  }
  // People know cp(1), which takes more.
  const bool has_more = failure.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (has_more && last->get_name() == "cp") {
    what += "; it copies one FROM at a time, and a folder whole without any flag";
  }
  return "hutch: " + what + "\n`" + line + " --help` says more.\n";
}

// The exit status, of which lost output makes a failure; not that a reader has gone, as `head`
// does.
int status_with_output(int status) {
  std::cout.flush();
  pollfd reader{STDOUT_FILENO, 0, 0};
  const bool has_gone = ::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0;
  if (std::cout || has_gone) return status;
  tell("standard output could not be written to: some of it is lost");
  return status == 0 ? 1 : status;
}

int run_command(const Choices& choices) {
  const Environment environment = process_environment();
  auto settings = resolve_settings(choices.flags, environment);
  if (!settings.ok()) {
    // Whoever reads it reads no other lines than these.
    const std::string& format = choices.flags.log_format;
    announce_failure(settings.error(),
                     (format.empty() ? environment("HUTCH_LOG_FORMAT") : format) == "json");
    return 2;
  }
  settings.value().user_umask = choices.user_umask;
  set_up_logging(settings.value());
  const auto status = choices.command(settings.value());
  if (!status.ok()) {
    announce("error",
             in_words_of_shell(status.error().message, own_command(settings.value(), environment)));
  }
  return status.ok() ? status.value() : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Terminals terminals;
  Choices choices;
  choices.user_umask = set_up_process();
  CLI::App app("A computer of their own for AI agents: runs code in a sandbox, over MCP", "hutch");
  app.require_subcommand(1);
  app.failure_message(usage_failure);
  app.fallthrough();
  app.add_option("--config", choices.flags.config_file, "Configuration file (TOML)")
      ->check(kNotEmpty);
  app.add_option("--state-dir", choices.flags.state_directory, "Where sessions are kept")
      ->check(kNotEmpty);
  app.add_option("--log-level", choices.flags.log_level, "trace, debug, info, warning, error")
      ->check(kNotEmpty);
  app.add_option("--log-format", choices.flags.log_format, "text, json")->check(kNotEmpty);
  add_stdio_and_run(app, choices);
  add_serve(app, choices);
  add_setup(app, choices.command);
  add_sessions(app, choices);
  add_work_in_sessions(app, choices.command);
  add_share(app, choices.command);
  add_environments(app, choices);
  add_token(app, choices.command);
  add_credential(app, choices.command);
  add_audit(app, choices.command);
  CLI::App* doctor = app.add_subcommand("doctor", "What this host offers, and how to get the rest");
  doctor->add_flag("--json", choices.as_json, "Print JSON");
  doctor->callback([&choices] {
    choices.command = [&choices](const Settings& settings) {
      return run_doctor(settings, choices.as_json ? DoctorView::kJson : DoctorView::kTable);
    };
  });
  add_manual(app, choices);
  const std::string version =
      std::string("hutch ") + HUTCH_VERSION + "\nbuild " + sandbox::wire::kBuildId;
  app.set_version_flag("--version", version, "Print the version");
  app.add_subcommand("version", "Print the version")->callback([&version] {
    throw CLI::CallForVersion(version, 0);
  });
  if (argc < 2) {
    std::cerr << app.help();
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    // Usage errors are 2, as for other programs.
    return status_with_output(app.exit(failure) == 0 ? 0 : 2);
  }
  return status_with_output(run_command(choices));
}

}  // namespace tools::cli
