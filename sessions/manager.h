// The life of sessions and runs: joins the database (what is true) with the boxes (what is alive).
//
// The database is told before a box is, and a box records a run before anybody hears of its end; so
// a server may be killed at any point and the next one finds out what happened: see settle().
// All functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sandbox/base/fd.h"
#include "sandbox/base/result.h"
#include "sandbox/journal_calls.h"
#include "sandbox/sandbox.h"
#include "sessions/connection_sessions.h"
#include "sessions/filesystem_choice.h"
#include "sessions/kept_calls.h"
#include "sessions/manager_config.h"
#include "sessions/network_choice.h"
#include "sessions/network_journals.h"
#include "sessions/notice.h"
#include "sessions/readiness.h"
#include "sessions/rounds.h"
#include "sessions/run_files.h"
#include "sessions/session_directory.h"
#include "sessions/session_networks.h"
#include "sessions/session_tokens.h"
#include "sessions/store.h"

namespace sessions {

struct SessionOptions {
  std::string name;           // empty: none
  std::string template_name;  // empty: the usual one
  // Whose connection asks. The processes of a session without a name end with it, soon after what
  // is in progress; empty: no connection.
  std::string connection_id;
  // Made for a call that names no session, for a client without a connection. Of these at most ten
  // of a principal keep a box; the one unused for longest gives way, and none that is at work.
  bool unasked = false;
  std::optional<std::int64_t> lifetime_seconds;
  std::optional<sandbox::Limits> limits;  // nothing: the defaults
  FilesystemWish filesystem;
  NetworkWish network;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> metadata;  // what its client wants to find it by
  std::string working_directory = kWorkspace;   // a directory that every box has
  bool public_ports = false;                    // as in Session
  bool wakes_by_port = true;
  bool pauses_at_end = false;
  std::optional<std::string> port_host;
};

// How long its lifetime goes on, nothing: for ever. Without a start of the machine since it was
// made, no change of the wall clock makes it longer or shorter.
std::optional<std::int64_t> lifetime_left_ms(const Session& session, const Moment& now);
// When that is, by the wall clock of now.
std::optional<std::int64_t> ends_at_ms(const Session& session);
bool lifetime_is_over(const Session& session, const Moment& now = moment_now());

// A session and what is alive of it.
struct SessionState {
  Session session;  // its status is the one of this moment
  std::vector<sandbox::Run> active;
};

// One with something in its /workspace, at the top of which `entries` were counted.
struct EarlierSession {
  Session session;
  std::int64_t entries = 0;
  bool has_more = false;
};

// A run and the session it belongs to.
struct RunState {
  std::string session_id;
  sandbox::Run run;
};

// kInvalid, with what a name may be.
base::Status check_session_name(const std::string& name);

// Returns the error that callers get for a session that is no more.
base::Error deleted();

class Manager {
 public:
  // list() returns at most so many sessions, those used last.
  static constexpr std::int64_t kListedMax = 1000;

  // Takes its place among the servers of the state directory and sweeps what dead ones left.
  static base::Result<std::unique_ptr<Manager>> open(ManagerConfig config, Store& store,
                                                     sandbox::Sandbox& sandbox);
  ~Manager();

  base::Result<SessionState> create(const std::string& principal_id, const SessionOptions& options);
  // The session of that name, made when there is none.
  base::Result<Session> find_or_create_named(const std::string& principal_id,
                                             const std::string& name);
  // The default session of a connection, made on first use.
  base::Result<Session> session_of_connection(const std::string& principal_id,
                                              const std::string& connection_id);
  // Others of the principal that hold files, the one that was used last first. Looks at few
  // sessions, and only at the top of their workspaces.
  base::Result<std::vector<EarlierSession>> earlier_with_files(const std::string& principal_id,
                                                               const std::string& than_id,
                                                               std::size_t most);
  // By id or name. kNotFound, with the same words for a foreign and an unknown one.
  base::Result<Session> find(const std::string& principal_id, const std::string& id_or_name);
  base::Result<SessionState> state_of(Session session);
  base::Result<std::vector<SessionState>> list(const std::string& principal_id,
                                               const std::optional<SessionStatus>& status);
  // One without a box stays as it is, stopped.
  base::Result<SessionState> pause(const std::string& principal_id, const std::string& id);
  base::Result<SessionState> resume(const std::string& principal_id, const std::string& id);
  base::Status destroy(const std::string& principal_id, const std::string& id);
  // From now on, whatever was to be before.
  base::Status set_lifetime(const Session& session, std::int64_t seconds);
  // End of a connection, this server goes on: what it knows of the sessions without a name that the
  // connection has made is let go. Their processes end when nobody else uses them.
  void connection_ended(const std::string& connection_id);

  // The most that a run of the session may have: what the session was made with, or else what the
  // operator allows.
  [[nodiscard]] std::int64_t longest_run_seconds(const Session& session) const;
  // `wanted`, or kInvalid when it is more than that.
  [[nodiscard]] base::Result<std::int64_t> check_run_seconds(const Session& session,
                                                             std::int64_t wanted) const;
  // Accepts the run, which goes on whatever becomes of this server.
  base::Result<RunState> start_run(const Session& session, sandbox::RunRequest request);
  // As Box::wait(), for any run of the principal, live or long ended. What a client gets of one
  // that has ended it has read, unless nobody is there any more to get it, as `stop` says.
  enum class Reader { kClient, kNobody };
  base::Result<RunState> wait_run(const std::string& principal_id, const std::string& run_id,
                                  const sandbox::WaitOptions& options, const std::stop_token& stop,
                                  Reader reader = Reader::kClient);
  // Returns the end that writes to the standard input of a run, which was started with one and
  // is on.
  base::Result<sandbox::RunInput> input_of(const std::string& principal_id,
                                           const std::string& run_id);
  base::Status end_input(const std::string& principal_id, const std::string& run_id);
  // kNotFound: no box lives. It does not stay for whoever asks.
  base::Result<sandbox::BoxStatus> live_status(const Session& session);
  base::Status end_context(const Session& session, const std::string& context);
  // It is in use, though no run says so.
  void keep_awake(const Session& session);
  // To a server in a session whose box lives: see Box::connect().
  base::Result<base::UniqueFd> connect(const Session& session, std::uint16_t port);
  base::Result<RunState> cancel_run(const std::string& principal_id, const std::string& run_id);
  // Held by who changes files of the session on a client's behalf, from the look at what is there
  // to the end of the change.
  std::shared_ptr<std::mutex> lock_of_files(const Session& session);
  // The box's root directory as seen by the code; starts the box when needed.
  base::Result<base::UniqueFd> root_of(const Session& session);
  // Before a file of so many bytes is written there. kLimit: it would not fit.
  base::Status take_disk_room(const Session& session, std::int64_t bytes);
  // If a read-only rule covers `path`, returns the host's view of the workspace and the path in
  // it, so that a client can write what the code cannot. Otherwise returns nothing.
  struct BehindRule {
    base::UniqueFd root;
    std::string path;
  };
  [[nodiscard]] base::Result<std::optional<BehindRule>> behind_rule(const Session& session,
                                                                    const std::string& path) const;
  // Returns the root directory of a live box to look at, which is no use of the session.
  // kNotFound when no box lives.
  base::Result<base::UniqueFd> look_at_root(const Session& session);
  // Whether it is paused and stays so until somebody resumes it. A box that does not answer at once
  // is as its row says.
  bool sleeps(const Session& session);
  // A live box for the session: the running one, or a new one.
  base::Result<std::shared_ptr<sandbox::Box>> box_of(const Session& session);

  // Settles runs of dead boxes, ends what is over its time, removes what has no owner.
  void sweep(const std::stop_token& stop);

  // Hosts that the operator allows one session besides, or takes back what was allowed so. It holds
  // at once, or from the next start of its processes: then this is why.
  base::Result<std::string> allow(const std::string& principal_id, const std::string& id,
                                  const std::vector<sandbox::NetworkRule>& rules, bool take_back);
  // Makes another choice, as SessionOptions::network has it, of what the session may reach of what
  // the operator allows. It holds at once. kUnsupported: its processes would have to start anew.
  base::Status change_network(const Session& known, const NetworkWish& network);
  // Ends the session's processes, unless something is in progress: kConflict.
  base::Status restart(const Session& session);

  // It is as it was opened with: the Quotas that hold now are quotas().
  [[nodiscard]] const ManagerConfig& config() const { return config_; }
  [[nodiscard]] Quotas quotas() const;
  void change_quotas(const Quotas& quotas);
  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] ConnectionSessions& connections() { return connections_; }
  [[nodiscard]] const SessionNetworks& networks() const { return networks_; }
  [[nodiscard]] NetworkJournals& journals() { return journals_; }
  [[nodiscard]] const SessionTokens& tokens() const { return tokens_; }
  [[nodiscard]] const KeptCalls& kept_calls() const { return kept_calls_; }
  [[nodiscard]] const RunFiles& run_files() const { return run_files_; }

 private:
  Manager(ManagerConfig config, Store& store, sandbox::Sandbox& sandbox);

  base::Status take_server_lock();
  void sweep_server_marks() const;
  [[nodiscard]] bool server_is_alive(const std::string& server_id) const;
  [[nodiscard]] SessionDirectory files_of(const std::string& session_id) const;
  [[nodiscard]] std::string directory_of(const std::string& session_id) const;
  base::Status make_directories(const Session& session) const;
  // Tells of one that did not come up, and gives back what it was given.
  base::Result<std::shared_ptr<sandbox::Box>> note_start(
      const Session& session, base::Result<std::shared_ptr<sandbox::Box>> started) const;
  base::Result<std::shared_ptr<sandbox::Box>> start_box(const Session& known,
                                                        const sandbox::SessionLock& lock);
  base::Status renew_ids();
  // As it is, once its files are its own: those of one that was copied are the original's.
  base::Result<Session> with_own_files(Session session);
  base::Status give_to_session(int directory_fd, const char* name, const Session& session);
  // The directory of its template's environment, as it is now; empty: it has the host's packages.
  [[nodiscard]] base::Result<std::string> environment_of(const Session& session) const;
  base::Result<sandbox::BoxSpec> spec_of(const Session& session) const;
  // Makes the session's directory and takes its lock. kConflict: it has an owner.
  [[nodiscard]] base::Result<sandbox::SessionLock> own(const std::string& session_id) const;
  // As own(), and waits for an owner that is about to go.
  [[nodiscard]] base::Result<sandbox::SessionLock> own_soon(const std::string& session_id) const;
  // Makes the directories that path rules name in /workspace.
  [[nodiscard]] base::Status make_ruled_directories(const Session& session) const;
  // False when the box of another server has other folders or another network than the session gets
  // here, and so has been ended. Asks once for each session.
  base::Result<bool> has_its_grants(const Session& session, sandbox::Box& box);
  bool grants_are_known(const std::string& session_id);
  // Remembers whether a box that has just started has the grants that `spec` gave it.
  void remember_grants(const std::string& session_id, const sandbox::BoxStatus& status,
                       const sandbox::BoxSpec& spec);
  // Calls with the session's box; again with a new one when it turns out to have just died.
  base::Status with_live_box(const Session& session,
                             const std::function<base::Status(sandbox::Box&)>& call);
  // Asks the boxes of all sessions that are not destroyed, at once and in bounded time, whatever
  // they do.
  base::Result<std::vector<SessionState>> ask_boxes_of(const std::string& principal_id);
  void ask_boxes(std::vector<SessionState>& states);
  base::Status pause_box(const std::string& session_id);
  void add_silence(SessionState& state, const base::Error& why);
  // The row of a session that is to be, checked against what may be asked for.
  base::Result<Session> make_row(const std::string& principal_id, const SessionOptions& options);
  // With its box, or in the state `error`.
  base::Result<SessionState> start_new(const Session& session);
  base::Result<SessionState> state_of_new(const Session& session);
  [[nodiscard]] Session new_session(const std::string& principal_id,
                                    const sandbox::Limits& limits) const;
  base::Result<Session> take_unasked_row(const Session& wanted);
  base::Status make_room_for_unasked(const std::string& principal_id);
  // Ends its box, if it is idle; the session and its files stay.
  base::Status give_way(const Session& session);
  // The row of a new session: a spare one's where that is as it is wanted. At the bounds of its
  // principal others give way, as far as that loses nothing; else kLimit names some.
  base::Result<Session> take_row(const Session& wanted);
  base::Result<Session> try_to_take_row(const Session& wanted);
  // Counts the session among those that have a box, before it gets one. False: it was so already.
  base::Result<bool> claim_box(const Session& session);
  // Where the principal's boxes, or for a new one its sessions, are as many as may be. False: in
  // vain.
  bool make_room(const std::string& principal_id, bool for_new_session);
  bool forget_dead_boxes(const std::vector<Session>& sessions);
  bool end_left_boxes(const std::vector<Session>& sessions);
  bool delete_some_with_nothing(const std::string& principal_id);
  [[nodiscard]] bool boxes_are_full(const std::vector<Session>& with_box) const;
  base::Error with_names(base::Error limit, const std::string& principal_id);
  // Its connection has ended, or it was never of one.
  [[nodiscard]] bool is_left(const Session& session) const;
  // Deletes it, if nobody named it, nothing of it runs, and nothing in it is anybody's.
  bool delete_if_nothing(const Session& session, const std::string& why);
  void keep_spares(const std::stop_token& stop);
  base::Result<Session> make_spare(const std::stop_token& stop);
  std::optional<Session> take_spare(const Session& wanted);
  bool is_fit(const Session& spare);
  void end_spare(const Session& spare, const std::string& why);
  [[nodiscard]] bool has_usual_environment(const Session& spare) const;
  [[nodiscard]] base::Result<std::vector<sandbox::Language>> languages_ahead() const;
  void condemn_unfit_spares();
  void end_spares();
  void sweep_spare(const Session& session);
  [[nodiscard]] bool was_accepted(const Run& row) const;
  // kUs: its session's lock is held, so that no box of it lives.
  enum class Owner { kUnknown, kUs };
  base::Result<sandbox::Run> settle(const Run& row, Owner owner = Owner::kUnknown,
                                    Reader reader = Reader::kNobody);
  base::Result<sandbox::Run> commit(const Run& row, sandbox::Run run, Reader reader);
  // Nothing when there is none that can be read.
  [[nodiscard]] std::optional<sandbox::Run> read_record(const Run& row) const;
  [[nodiscard]] sandbox::Run lost(const Run& row) const;
  // Whether its session was deleted, or ended when its time was over.
  [[nodiscard]] bool was_ended(const Run& row) const;
  [[nodiscard]] sandbox::Run ended_by_deletion(const Run& row) const;
  base::Status end_session(const Session& session, const std::string& why);
  // As end_session(), of a session that nobody has asked to end.
  void expire_session(const Session& session, const std::string& why);
  base::Error end_of_lifetime(const Session& session);
  // Ends its box and removes its files, the directories too: of one that is being deleted.
  base::Status delete_files_of(const Session& session);
  void shut_down(const std::string& session_id);
  // Ends and removes all that is left of a destroyed session on the host.
  base::Status bury(const Session& session);
  // The rhythm in which another process's box is looked at.
  static void pause_for_box();
  // False when it has not come true by then.
  static bool wait_until(std::chrono::milliseconds patience, const std::function<bool()>& is_so);
  // How long a box may take to end.
  static constexpr std::chrono::seconds kEndPatience{5};
  // And another server to start one, or to clear up after one.
  static constexpr std::chrono::seconds kOthersPatience{20};
  void sweep_session(const Session& session, const Moment& now, bool may_delete);
  // After a box of it that may be dead.
  void clear_up(const Session& session);
  void sweep_from_time_to_time(const std::stop_token& stop);
  // Until the next sweep; after boxes that end meanwhile it is cleared up at once.
  void wait_for_next_sweep(const std::stop_token& stop);
  void note_ended(const std::string& session_id);
  void clear_up_after_ended();
  void sweep_directories(const std::vector<Session>& live, const Moment& now, bool may_delete,
                         const std::stop_token& stop);
  // Names of directories of no session on record, in which there is nothing, or for long nothing
  // new.
  std::vector<std::string> strangers(const std::vector<Session>& live, const Moment& now);
  // Nothing: this sweep cannot be.
  std::optional<bool> may_delete_in_sweep(const std::vector<Session>& live, const Moment& now);
  void prune(const std::stop_token& stop, const Moment& now);
  bool prune_some_runs(std::int64_t ended_before);
  void remove_run_files(const std::string& session_id, const std::vector<std::string>& ids);
  bool forget_some_sessions(std::int64_t ended_before, const std::stop_token& stop);
  std::shared_ptr<std::mutex> lock_of(const std::string& what);

  const ManagerConfig config_;
  mutable std::mutex quotas_mutex_;
  Quotas quotas_;
  Store& store_;
  sandbox::Sandbox& sandbox_;
  const SessionTokens tokens_;
  const SessionNetworks networks_;
  NetworkJournals journals_;
  const KeptCalls kept_calls_;
  const RunFiles run_files_;
  ConnectionSessions connections_;
  std::string server_id_;
  base::UniqueFd server_lock_;
  std::mutex mutex_;                                        // guards the maps
  std::map<std::string, std::weak_ptr<std::mutex>> locks_;  // those in use
  std::set<std::string> grants_known_;  // of sessions whose box has what it is to have of them
  struct Spares {
    std::mutex mutex;
    std::condition_variable_any wakeup;
    std::deque<Session> ready;       // the front is given away first
    std::vector<Session> condemned;  // the maker ends them
    std::size_t in_hand = 0;         // of those who may give them back
    std::jthread maker;
  };
  Spares spares_;
  std::atomic<std::int64_t> served_since_ms_;  // by Moment::uptime_ms, up to the last sweep
  std::mutex prune_mutex_;
  Store::OldRun pruned_up_to_;  // guarded by it
  std::mutex sweeper_mutex_;
  std::condition_variable_any sweeper_wakeup_;
  std::vector<std::string> ended_;  // sessions whose box has; guarded by the sweeper's mutex
  Rounds<std::vector<SessionState>> lists_;  // by principal
  std::jthread sweeper_;
  std::unique_ptr<sandbox::JournalCalls> journal_calls_;
};

}  // namespace sessions
