#include "tools/cli/manual.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>

namespace tools::cli {
namespace {

// Hidden ones are in no group.
std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  std::vector<const CLI::App*> shown;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_group().empty()) shown.push_back(one);
  }
  return shown;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* one : app.get_options()) {
    if (!one->get_group().empty() && !one->get_positional()) shown.push_back(one);
  }
  return shown;
}

// "-o,--output" and "TEXT", as help prints them.
std::string words_of(const CLI::Option& option) {
  std::string words = option.get_name(false, true);
  for (std::size_t at = words.find(','); at != std::string::npos; at = words.find(',', at + 2)) {
    words.insert(at + 1, " ");
  }
  return option.get_expected_min() > 0 ? words + " VALUE" : words;
}

// roff reads a dash as a hyphen, a dot or a quote at the beginning of a line as its own.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += std::string("\\&") + c;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void describe(std::ostream& page, const CLI::App& app, const std::string& line) {
  const auto inner = shown_commands(app);
  if (inner.empty()) {
    std::string usage = line;
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = option->get_single_name();
      usage += option->get_required() ? " " + name : " [" + name + "]";
    }
    page << ".SS " << roff(usage) << "\n" << roff(app.get_description()) << "\n";
    for (const CLI::Option* option : shown_options(app)) {
      if (option->get_lnames() == std::vector<std::string>{"help"}) continue;
      page << ".TP\n.B " << roff(words_of(*option)) << "\n"
           << roff(option->get_description()) << "\n";
    }
  }
  for (const CLI::App* one : inner) describe(page, *one, line + " " + one->get_name());
}

// A line for each command: its words, a tab, and what may follow.
std::string table_of(const CLI::App& app, const std::string& line) {
  std::string follows;
  for (const CLI::App* one : shown_commands(app)) follows += " " + one->get_name();
  for (const CLI::Option* option : shown_options(app)) {
    for (const std::string& name : option->get_lnames()) follows += " --" + name;
  }
  std::string table = line + "\t" + follows + "\n";
  for (const CLI::App* one : shown_commands(app))
    table += table_of(*one, line + " " + one->get_name());
  return table;
}

constexpr const char* kBash = R"bash(# hutch in bash: what may follow, else files.
_hutch() {
  local line=hutch word follows
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || ! grep -q "^$line $word"$'\t' <<<"$_hutch_table" || line+=" $word"
  done
  follows=$(sed -n "s/^$line"$'\t'"//p" <<<"$_hutch_table")
  mapfile -t COMPREPLY < <(compgen -W "$follows" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _hutch hutch
)bash";

constexpr const char* kFish = R"fish(# hutch in fish: what may follow, else files.
function __hutch_follows
  set -l line hutch
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    string match -qr "^$line $word\t" -- $_hutch_table; and set line "$line $word"
  end
  for row in $_hutch_table
    set -l parts (string split \t -- $row)
    test "$parts[1]" = "$line"; and string split -n ' ' -- $parts[2]
  end
end
complete -c hutch -a '(__hutch_follows)'
)fish";

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  std::ostringstream page;
  page << ".TH HUTCH 1 \"\" \"hutch " << version << "\"\n.SH NAME\nhutch \\- "
       << "a computer of their own for AI agents, over MCP\n.SH SYNOPSIS\n.B hutch\n"
       << "[\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\n"
       << roff(app.get_description()) << ".\n.SH OPTIONS\n";
  for (const CLI::Option* option : shown_options(app)) {
    page << ".TP\n.B " << roff(words_of(*option)) << "\n"
         << roff(option->get_description()) << "\n";
  }
  page << ".SH COMMANDS\n";
  for (const CLI::App* one : shown_commands(app)) describe(page, *one, "hutch " + one->get_name());
  page << ".SH FILES\n.TP\n.I ~/.config/hutch/config.toml\nthe configuration, else "
       << ".IR /etc/hutch/config.toml ;\nflags beat HUTCH_* variables, which beat it\n"
       << ".TP\n.I ~/.local/state/hutch\nsessions and what belongs to them\n";
  return page.str();
}

std::string completion_for(const std::string& shell, const CLI::App& app) {
  const std::string table = table_of(app, "hutch");  // has neither quotes nor backslashes
  if (shell == "bash") return "_hutch_table='" + table + "'\n" + kBash;
  if (shell == "zsh") {
    return "#compdef hutch\nautoload -Uz bashcompinit && bashcompinit\n_hutch_table='" + table +
           "'\n" + kBash;
  }
  if (shell != "fish") return "";
  std::string script = "set -g _hutch_table";
  std::istringstream rows(table);
  for (std::string row; std::getline(rows, row);) script += " \\\n  '" + row + "'";
  return script + "\n" + kFish;
}

}  // namespace tools::cli
