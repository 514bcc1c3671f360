// Prompts: work that people ask for again and again, put so that a model does it well here.
#include "sandbox/files/box_files.h"
#include "sessions/boxes.h"
#include "sessions/session.h"
#include "sessions/session_lists.h"
#include "sessions/session_states.h"
#include "sessions/sessions.h"

#include <nlohmann/json.hpp>
#include "tools/mcp/tool_kit.h"
#include "tools/session_files.h"

namespace tools {

using nlohmann::json;

namespace {

mcp::PromptResult message(const std::string& description, const std::string& text) {
  return {description, json{{{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}}}};
}

std::string given(const mcp::PromptArguments& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? "" : found->second;
}

std::string in_session(const mcp::PromptArguments& arguments) {
  const std::string id = given(arguments, "session_id");
  return id.empty() ? "" : " Use session_id " + id + " in every call.";
}

mcp::PromptArgument session_argument_of_prompt() {
  return {"session_id", "Session", "the session that has the file; default: the current one",
          false};
}

// Files of the workspace whose path begins with what was typed.
mcp::Completion complete_path(const Services& services, const mcp::CompletionQuery& query,
                              const std::string& principal_id) {
  mcp::Completion completion;
  const auto id = query.known.find("session_id");
  if (id == query.known.end()) return completion;
  const auto session = services.sessions.find(principal_id, id->second);
  if (!session.ok()) return completion;
  auto root = services.boxes.root_of(session.value());
  if (!root.ok()) return completion;
  const auto files = files_in(std::move(root).value(), session.value());
  sandbox::files::ListOptions options;
  options.recursive = true;
  options.max_depth = 4;
  const std::string& top = session.value().working_directory;
  const auto listed = files.list(top, options);
  if (!listed.ok()) return completion;
  for (const auto& entry : listed.value().entries) {
    const std::string path = entry.path.substr(top.size() + 1);
    if (entry.type == "file" && !entry.escaped && path.starts_with(query.value)) {
      completion.values.push_back(path);
    }
  }
  return completion;
}

auto completer(const Services& services) {
  return [services](const mcp::CompletionQuery& query, mcp::CallContext& context) {
    const std::string& principal_id = context.principal().id;
    if (query.argument == "session_id") {
      return complete_session_id(services, query.value, principal_id);
    }
    if (query.argument == "path") return complete_path(services, query, principal_id);
    mcp::Completion kinds;
    if (query.argument != "kind") return kinds;
    for (const char* kind : {"line", "bar", "scatter", "histogram", "box", "heatmap", "pie"}) {
      if (std::string_view(kind).starts_with(query.value)) kinds.values.emplace_back(kind);
    }
    return kinds;
  };
}

mcp::Prompt analyse(const Services& services) {
  return {"analyse_data",
          "Analyse a data file",
          "Looks through a data file: what is in it, what is wrong with it, what stands out.",
          {{"path", "File", "a CSV, JSON, Parquet or Excel file in /workspace", true},
           {"question", "Question", "what you want to know of it", false},
           session_argument_of_prompt()},
          [](const mcp::PromptArguments& arguments, mcp::CallContext&) {
            const std::string question = given(arguments, "question");
            return message(
                "Analyse " + given(arguments, "path"),
                "Analyse the data file " + given(arguments, "path") + " with run_code." +
                    in_session(arguments) +
                    "\n1. Load it with pandas (variables stay, so load it once) and show shape, "
                    "types, a few rows, missing values and duplicates.\n2. Say what a row is, and "
                    "what is suspicious: outliers, mixed types, impossible values.\n3. " +
                    (question.empty() ? "Find the three things that stand out most, each with the "
                                        "figures that show it, and draw the one chart that "
                                        "explains most."
                                      : "Answer this, with the figures that show it: " + question) +
                    "\nState what you assumed and what the data cannot tell.");
          },
          completer(services)};
}

mcp::Prompt chart(const Services& services) {
  return {"make_chart",
          "Make a chart",
          "Draws a chart of a data file and gives it to you as a file.",
          {{"path", "File", "the data, in /workspace", true},
           {"what", "What to show", "for example: revenue per month by region", true},
           {"kind", "Kind", "line, bar, scatter, ...; default: what suits the data", false},
           session_argument_of_prompt()},
          [](const mcp::PromptArguments& arguments, mcp::CallContext&) {
            const std::string kind = given(arguments, "kind");
            return message(
                "A chart of " + given(arguments, "path"),
                "Draw a " + (kind.empty() ? "chart" : kind + " chart") + " that shows " +
                    given(arguments, "what") + " from " + given(arguments, "path") +
                    " with matplotlib in run_code." + in_session(arguments) +
                    " Check the columns first. Give it a title that says what it shows, axis "
                    "labels with units, and no more than it needs. Look at the image that comes "
                    "back and correct what cannot be read. Then save it as a PNG at 200 dpi and "
                    "give it to me with share_file.");
          },
          completer(services)};
}

mcp::Prompt fix(const Services& services) {
  return {"fix_script",
          "Get a script to run",
          "Runs a script, finds out why it fails, mends it and shows what was changed.",
          {{"path", "Script", "in /workspace", true},
           {"expected", "Expected", "what it should do", false},
           session_argument_of_prompt()},
          [](const mcp::PromptArguments& arguments, mcp::CallContext&) {
            const std::string expected = given(arguments, "expected");
            return message("Mend " + given(arguments, "path"),
                           "Run " + given(arguments, "path") + " with run_code (bash)." +
                               in_session(arguments) +
                               (expected.empty() ? "" : " It should: " + expected + ".") +
                               " If it fails, read it, find the cause rather than hide it, mend it "
                               "with write_file in the fewest changed lines, and run it again "
                               "until it does what it should. Then show me the difference and say "
                               "what the cause was.");
          },
          completer(services)};
}

}  // namespace

std::vector<mcp::Prompt> prompts(const Services& services) {
  return {analyse(services), chart(services), fix(services)};
}

mcp::Completion complete_session_id(const Services& services, const std::string& value,
                                    const std::string& principal_id) {
  mcp::Completion completion;
  const auto sessions =
      services.session_lists.newest(principal_id, false, sessions::SessionStates::kListedMax);
  if (!sessions.ok()) return completion;
  for (const sessions::Session& session : sessions.value()) {
    if (session.name && session.name->starts_with(value))
      completion.values.push_back(*session.name);
    if (session.id.starts_with(value)) completion.values.push_back(session.id);
  }
  return completion;
}

}  // namespace tools
