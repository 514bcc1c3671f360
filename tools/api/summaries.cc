#include "tools/api/summaries.h"

#include <algorithm>

namespace tools::api {
namespace {

const std::vector<QueryMember> kSigned{
    {"path", "absolute, or below where the sandbox works"},
    {"signature", "of a URL that stands alone, in place of the header X-Access-Token"},
    {"signature_expiration", "until which second since the epoch the signature holds"},
    {"username", "part of what is signed"}};

const std::vector<QueryMember> kListed{{"state", "running, paused, or both with a comma"},
                                       {"metadata", "name=value&..., encoded once more"},
                                       {"template", "only sandboxes of that template"},
                                       {"startedAfter", "a time, RFC 3339"},
                                       {"order", "asc: the oldest first"},
                                       {"limit", "from 1 to 100"},
                                       {"nextToken", "x-next-token of the page before"}};

const std::vector<Summary>& sandbase() {
  static const std::vector<Summary> kAll{
      {"GET", "/sandboxes", "List the sandboxes that live"},
      {"POST", "/sandboxes", "Make a sandbox that ends after timeout seconds"},
      {"GET", "/sandboxes/{id}", "Look at a sandbox"},
      {"DELETE", "/sandboxes/{id}", "End a sandbox and delete its files"},
      {"POST", "/sandboxes/{id}/pause", "Pause a sandbox; its next use wakes it"},
      {"POST", "/sandboxes/{id}/resume", "Wake a sandbox"},
      {"POST", "/sandboxes/{id}/processes",
       "Run one program to its end, and have what it printed; truncated: true where that was too "
       "much, with its size and the file that has the whole"},
      {"GET",
       "/sandboxes/{id}/files",
       "Read a file, or list a directory",
       {{"path", "absolute, or below where the sandbox works; that itself when absent"}}},
      {"POST",
       "/sandboxes/{id}/files",
       "Write a file: a part named file of a form, or the body itself",
       {{"path", "where it goes, unless a part named path says so"}}},
      {"GET",
       "/sandboxes/{id}/archive",
       "Fetch a directory as a zip file",
       {{"path", "the directory; where the sandbox works when absent"}}},
      {"POST",
       "/sandboxes/{id}/uploads",
       "Begin an upload in pieces (tus 1.0): Upload-Length says how many bytes",
       {{"path", "where it goes, unless Upload-Metadata says so"}}},
      {"GET", "/sandboxes/{id}/uploads/{upload}", "See how much of an upload is there"},
      {"PATCH", "/sandboxes/{id}/uploads/{upload}", "Send the piece that begins at Upload-Offset"},
      {"DELETE", "/sandboxes/{id}/uploads/{upload}", "Give an upload up"}};
  return kAll;
}

const std::vector<Summary>& agentcop() {
  static const std::vector<Summary> kAll{
      {"POST", "/api/sandbox/create", "Make a sandbox, as Agentcop's API has it"},
      {"GET", "/api/sandbox/{id}", "Look at a sandbox, also when it is destroyed"},
      {"DELETE", "/api/sandbox/{id}", "Destroy a sandbox; its record stays"},
      {"POST", "/api/sandbox/{id}/run",
       "Run Python code; async: true answers at once with run_id; truncated: true where not all "
       "that it printed is here"},
      {"GET", "/api/sandbox/{id}/run/{run}", "Look at a run, and what it has printed so far"},
      {"POST", "/v1/responses",
       "Run code given as input; posts under one id share one container, as Perplexity's Agent "
       "API has it"},
      {"POST", "/v1/agent", "The other name of POST /v1/responses"},
      {"GET", "/v1/responses/{id}", "Look at a response: its calls and shared files"},
      {"DELETE", "/v1/responses/{id}", "Delete a response and its container"},
      {"POST", "/v1/responses/{id}/cancel", "Cancel the calls of a response that go on"},
      {"GET", "/v1/responses/{id}/files", "List the files that a response has shared"},
      {"POST", "/v1/responses/{id}/files", "Share a file of the container"},
      {"GET", "/v1/responses/{id}/files/{file}/content", "Fetch a shared file"},
      {"GET",
       "/shared/{id}",
       "The page of a shared file; whoever has the link may open it",
       {{"part", "about: the file's description as JSON"}}},
      {"GET",
       "/shared/{id}/{filename}",
       "Fetch a shared file",
       {{"view", "to look at it where it stands, as its page does"}}},
      {"DELETE", "/shared/{id}", "Take a link back"}};
  return kAll;
}

const std::vector<Summary>& control_of_e2b() {
  static const std::vector<Summary> kAll{
      {"POST", "/v2/sandboxes", "E2B: make a sandbox"},
      {"GET", "/v2/sandboxes", "E2B: list sandboxes, a page at a time", kListed},
      {"POST", "/sandboxes/{id}/timeout", "E2B: have a sandbox end in so many seconds"},
      {"POST", "/sandboxes/{id}/connect", "E2B: wake a sandbox, and have its access token"},
      {"POST", "/v2/sandboxes/{id}/connect", "E2B: wake a sandbox, and have its access token"},
      {"PUT", "/sandboxes/{id}/network", "E2B: say anew what a sandbox reaches"},
      {"GET",
       "/sandboxes/{id}/metrics",
       "E2B: what a sandbox uses now",
       {{"start", "seconds since the epoch"}, {"end", "seconds since the epoch"}}},
      {"GET",
       "/sandboxes/{id}/logs",
       "E2B: how the newest runs began and ended, with the beginning of what they printed",
       {{"start", "milliseconds since the epoch"}}},
      {"GET", "/snapshots", "E2B: an empty list, since there are none"},
      {"POST", "/sandboxes/{id}/snapshots", "E2B: refused, since sandboxes are not copied"},
      {"POST", "/sandboxes/{id}/fork", "E2B: refused, since sandboxes are not copied"},
      {"GET", "/templates", "E2B: list templates, which are environments of hutch"}};
  return kAll;
}

const std::vector<Summary>& inside_of_e2b() {
  static const std::vector<Summary> kAll{
      {"GET", "/health", "E2B's envd: 204 while the sandbox runs"},
      {"GET", "/files", "E2B's envd: read a file", kSigned},
      {"POST", "/files", "E2B's envd: write files", kSigned},
      {"POST", "/execute", "E2B's code interpreter: run code, and have a line of JSON per event"},
      {"GET", "/contexts", "E2B's code interpreter: list contexts"},
      {"POST", "/contexts", "E2B's code interpreter: make a context"},
      {"DELETE", "/contexts/{context}", "E2B's code interpreter: remove a context"},
      {"POST", "/contexts/{context}/restart", "E2B's code interpreter: begin a context anew"},
      {"POST", "/filesystem.Filesystem/Stat", "E2B's envd (Connect): look at an entry"},
      {"POST", "/filesystem.Filesystem/ListDir", "E2B's envd (Connect): list a directory"},
      {"POST", "/filesystem.Filesystem/MakeDir", "E2B's envd (Connect): make a directory"},
      {"POST", "/filesystem.Filesystem/Move", "E2B's envd (Connect): move an entry"},
      {"POST", "/filesystem.Filesystem/Remove", "E2B's envd (Connect): remove an entry"},
      {"POST", "/filesystem.Filesystem/WatchDir",
       "E2B's envd (Connect): hear of what changes in a directory"},
      {"POST", "/filesystem.Filesystem/CreateWatcher",
       "E2B's envd (Connect): watch a directory, to ask later"},
      {"POST", "/filesystem.Filesystem/GetWatcherEvents",
       "E2B's envd (Connect): what has changed since one asked last"},
      {"POST", "/filesystem.Filesystem/RemoveWatcher", "E2B's envd (Connect): watch no more"},
      {"POST", "/process.Process/Start", "E2B's envd (Connect): start a process, and hear of it"},
      {"POST", "/process.Process/Connect", "E2B's envd (Connect): hear of a process that runs"},
      {"POST", "/process.Process/List", "E2B's envd (Connect): list the processes that run"},
      {"POST", "/process.Process/SendSignal", "E2B's envd (Connect): end a process"},
      {"POST", "/process.Process/SendInput", "E2B's envd (Connect): write to a process's input"},
      {"POST", "/process.Process/StreamInput",
       "E2B's envd (Connect): write several pieces to a process's input"},
      {"POST", "/process.Process/CloseStdin", "E2B's envd (Connect): end a process's input"},
      {"POST", "/process.Process/Update", "E2B's envd (Connect): set the size of a terminal"}};
  return kAll;
}

}  // namespace

const Summary* find_summary(std::string_view method, std::string_view path) {
  for (const auto* all : {&sandbase(), &agentcop(), &control_of_e2b(), &inside_of_e2b()}) {
    const auto found = std::ranges::find_if(
        *all, [&](const Summary& one) { return one.method == method && one.path == path; });
    if (found != all->end()) return &*found;
  }
  return nullptr;
}

}  // namespace tools::api
