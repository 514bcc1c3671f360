#include "tools/cli/setup_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

namespace tools::cli {
namespace {

// "[NAME=]PATH[:rw]" as it means the same wherever a client starts hutch.
std::string from_anywhere(const std::string& mount) {
  const std::size_t equals = mount.find('=');
  const bool is_named = equals != std::string::npos && mount.find('/') > equals;
  const std::size_t begin = is_named ? equals + 1 : 0;
  if (mount.compare(begin, 1, "/") == 0 || mount.compare(begin, 1, "~") == 0) return mount;
  std::error_code failure;
  const auto whole = std::filesystem::absolute(mount.substr(begin), failure);
  if (failure) return mount;
  return mount.substr(0, begin) + whole.lexically_normal().string();
}

}  // namespace

void add_setup(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<SetupOptions>();
  CLI::App* setup =
      app.add_subcommand("setup", "Tell the MCP clients of this machine about hutch, and try it");
  setup->add_option("--client", options->clients,
                    "Only this one: claude-code, cursor, vscode, ...; may be repeated");
  setup->add_flag("--list", options->list, "List the clients that are known, and where they are");
  setup->add_flag("--remove", options->remove, "Take it out again, to the byte");
  setup->add_flag(
      "--replace", options->replace,
      "Also in place of an entry \"hutch\" that it has not written; --remove brings that back");
  setup->add_flag("-y,--yes", options->yes, "Ask nothing");
  setup->add_flag("--environment", options->environment,
                  "Build the environment of packages, too, where there is none (1.8 GB)");
  // Adds an option that goes into the arguments by which clients start hutch.
  const auto pass = [setup, options](const char* name, const char* help) {
    setup->add_option_function<std::vector<std::string>>(
        name,
        [options, name](const std::vector<std::string>& values) {
          for (const std::string& value : values) {
            const bool is_mount = std::string(name) == "--mount";
            options->arguments.insert(options->arguments.end(),
                                      {name, is_mount ? from_anywhere(value) : value});
          }
        },
        help);
  };
  pass("--mount", "Folder that its sessions see, as of hutch stdio; may be repeated");
  pass("--allow", "Host that they may reach, as of hutch stdio; may be repeated");
  pass("--credential", "Of hutch credential, as of hutch stdio; may be repeated");
  pass("--session", "Name of a lasting session to use");
  setup->add_flag_callback(
      "--packages", [options] { options->arguments.emplace_back("--packages"); },
      "Sessions may install packages");
  setup->callback([&chosen, options] {
    chosen = [options](const Settings& settings) { return run_setup(settings, *options); };
  });
}

}  // namespace tools::cli
