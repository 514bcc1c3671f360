// The commands of hutch. Each returns the exit status of the process, or why it could not.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/run.h"
#include "sessions/credential_table.h"
#include "tools/cli/application.h"
#include "tools/cli/settings.h"

namespace tools::cli {

using Command = std::function<base::Result<int>(const Settings&)>;

base::Result<int> run_stdio(Application& app, const std::string& session_name);

// With `no_auth` whoever reaches the address is the user of this machine. `reread` gives the
// settings as they are now.
base::Result<int> run_serve(Application& app, bool no_auth,
                            std::function<base::Result<Settings>()> reread);
// It says whether run_serve() could begin with these: nothing is made for that, and nobody asked.
base::Result<int> check_serve(const Settings& settings, bool no_auth);

struct RunOptions {
  std::string file;      // "-": standard input
  std::string language;  // also py, js, ts, sh; empty: from the name of the file
  std::string session;   // empty: one of its own, deleted afterwards
  // Pictures, tables and the files that it writes go there; it is made with the first of them.
  // Empty: none are saved.
  std::string save_directory;
  long timeout_seconds = 0;  // 0: the session's
};
// Returns the language that -l names, else that of the suffix of the file's name; Python without a
// suffix. Fails with kInvalid for a name or a suffix that is no language's.
base::Result<sandbox::Language> language_of(const RunOptions& options);
base::Result<std::string> read_code(const RunOptions& options);
base::Result<int> run_code_once(Application& app, const RunOptions& options, std::string code);

// Becomes the program that makes, lists and removes environments. Returns only when it cannot.
base::Result<int> run_environments(const Settings& settings,
                                   const std::vector<std::string>& arguments);

enum class SessionAction { kList, kShow, kRemove, kPause, kResume, kForgetState };
base::Result<int> run_sessions(Application& app, SessionAction action, const std::string& id,
                               bool as_json);

// Deletes at once what is over its time, where that was held back.
base::Result<int> expire_sessions(Application& app);

// Says the failure in words for the shell; those of the sessions are for clients, and name their
// tools.
base::Result<int> or_no_such_session(const Settings& settings, base::Result<int> done);

struct AllowOptions {
  std::string session;             // by id or name
  std::vector<std::string> hosts;  // rules, or names of sets
  bool take_back = false;
  bool restart = false;  // its processes, where they cannot have it else
  bool as_json = false;
};
base::Result<int> allow_session(Application& app, const AllowOptions& options);

// These are the signals by which run_shell() hears of its terminal, and of those who want it to
// end. The caller blocks them before it runs.
inline constexpr std::initializer_list<int> kShellSignals{SIGWINCH, SIGTERM, SIGHUP, SIGINT};
struct ShellOptions {
  std::string session;             // by id or name
  std::vector<std::string> words;  // a program and its arguments; empty: bash
  std::string code = {};           // a line of bash, made from `words`
};
// Sends keys to the program and prints its output until it ends. Returns its exit status.
base::Result<int> run_shell(Application& app, ShellOptions options);

struct ForwardOptions {
  std::string session;  // by id or name
  int port = 0;
  std::optional<int> listen;  // nothing: the same; 0: any
};
// Forwards until it is ended.
base::Result<int> run_forward(Application& app, const ForwardOptions& options);

struct LogsOptions {
  std::string id;  // a run's; or a session's, or its name
  bool follow = false;
  bool trace = false;  // when the run was where, in place of what it printed
  std::string record;  // the path of a record.json, in place of an id
};
base::Result<int> run_logs(Application& app, const LogsOptions& options);
// Prints the trace of a record.json, whoever's run that is of. Fails with kInvalid where the file
// is none, with kNotFound where it has no trace.
base::Result<int> show_record(const std::string& path);

struct CopyOptions {
  std::string from;
  std::string to;
};
base::Result<int> run_copy(Application& app, const CopyOptions& options);

base::Result<int> share_list(Application& app, bool as_json);
base::Result<int> share_remove(Application& app, const std::string& id);
// Copies the shared file to `target`, or into it where that is a directory; "-" is standard output.
base::Result<int> share_get(Application& app, const std::string& id, const std::string& target);

// Opens the database for a command that needs nothing else.
base::Result<std::unique_ptr<sessions::Store>> open_store(const Settings& settings);

struct TokenOptions {
  std::string name;  // empty: none
  std::string principal = "local";
  std::vector<std::string> scopes;      // empty: everything
  std::int64_t expires_in_seconds = 0;  // 0: never
};
// Prints the token as the last line.
base::Result<int> token_create(const Settings& settings, const TokenOptions& options);
base::Result<int> token_list(const Settings& settings, bool as_json);
base::Result<int> token_revoke(const Settings& settings, const std::string& id_or_name);

struct CredentialOptions {
  std::string name;
  std::string host;
  std::string place = "bearer";  // as sandbox::take_place() reads it
  bool allow_plain = false;
  // They say where its value comes from; all empty: standard input.
  std::string file;
  std::string variable;
  std::string command;  // run each time that the value is needed
};
// Keeps the credential in place of the one of that name; `text` is its value, or the command that
// prints it, as credential.source says.
base::Status keep_credential(const Settings& settings, sessions::CredentialTable& credentials,
                             sessions::StoredCredential credential, const std::string& text);
base::Result<int> credential_set(const Settings& settings, const CredentialOptions& options);
base::Result<int> credential_list(const Settings& settings, bool as_json);
base::Result<int> credential_remove(const Settings& settings, const std::string& name);
// Prints {"value": ".."} or {"error": ".."}, for hutch-egress.
base::Result<int> credential_hand_over(const Settings& settings, const std::string& name);

struct AuditOptions {
  std::string session;  // id or name; empty: all
  bool refused_only = false;
  bool follow = false;   // goes on until it is ended
  bool as_json = false;  // an object a line
  std::int64_t count = 100;
};
base::Result<int> run_audit(Application& app, const AuditOptions& options);

struct SetupOptions {
  std::vector<std::string> clients;    // ids; empty: all that are here
  std::vector<std::string> arguments;  // for hutch stdio, in the entry
  bool list = false;
  bool remove = false;
  bool replace = false;      // an entry that setup has not written
  bool yes = false;          // nobody is asked
  bool environment = false;  // one is built where there is none
};
base::Result<int> run_setup(const Settings& settings, const SetupOptions& options);

enum class DoctorView { kTable, kJson, kImprovable };  // kImprovable: lines that could be better
base::Result<int> run_doctor(const Settings& settings, DoctorView view);

// Parses the command line and runs the command.
int main(int argc, char** argv);

}  // namespace tools::cli
