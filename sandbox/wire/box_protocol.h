// A server and a box talk to each other over one Unix stream socket per box: box.sock in the
// session's directory, bound and reached through a descriptor of that, since its path may be longer
// than an address can be (unix(7)).
//
// Every message is one 'J' frame. The client sends a request and waits for its reply before it
// sends the next, except where it asks for none; who wants two things at once opens two
// connections. The first request is hello.
//
//   {"op":"hello","protocol":1,"detach_seconds":60,       {"ok":true,"protocol":1,"build":".."}
//      "attach":b}                                           build_id.h
//   {"op":"submit","request":{...}}                       {"ok":true}
//   {"op":"wait","run_id":..,"until":"end"|"output",      {"ok":true,"run":{...}} at the end of the
//      "stdout_offset":n,"stderr_offset":n,"timeout_ms":n}   run, on output beyond the offsets, or
//                                                            when time is up
//   {"op":"cancel","run_id":..}                           {"ok":true}
//   {"op":"status"}                                       {"ok":true,"paused":b,"attached":b,
//                                                            "is_storing":b,"held_by":"..",
//                                                            "active":[run..],
//                                                            "contexts":{name:{"language":..,
//                                                            "directory":..}..},
//                                                            "usage":{"memory_bytes":n,..},
//                                                            "isolation":{..}}
//   {"op":"pause"} {"op":"resume"}                        {"ok":true}
//   {"op":"in_use"}                                       {"ok":true}: not idle, nor paused for it
//   {"op":"taken"}                                        {"ok":true}
//   {"op":"end_with_connection"}                          {"ok":true}
//   {"op":"allow","rules":["host:port"..],"take_back":b}  {"ok":true}, from now on; unsupported
//                                                            when only a new box could have it
//   {"op":"network","rules":[..],"credentials":[..],      {"ok":true}: all of it in place of what
//      "denied_addresses":[..]}                              it had; unsupported as above
//   {"op":"root"}                                         {"ok":true}, then one byte that carries
//                                                            the descriptor of the box's root
//   {"op":"input","run_id":..}                            {"ok":true,"terminal":b}, then one byte
//                                                            that carries what writes to the
//                                                            standard input of the run
//   {"op":"end_input","run_id":..}                        {"ok":true}: it ends there
//   {"op":"connect","port":n,"six":b}                     {"ok":true}, then one byte that carries
//                                                            a socket, not blocking, that is
//                                                            connected to that port of the box, or
//                                                            about to be
//   {"op":"end_context","context":..}                     {"ok":true}: its runs are cancelled
//   {"op":"lifetime","ends_in_ms":n,"pauses":b}           {"ok":true}
//   {"op":"disk_room","bytes":n,"for_upload":b}           {"ok":true}, or a limit
//   {"op":"disk_written","bytes":n,"answer":b}            {"ok":true}, or with "answer":false no
//                                                            reply: what had so much room is there
//   {"op":"shutdown","if_idle":b,"why":"..",              {"ok":true}, and the connection is closed
//      "for_good":b,"revoked":b}                             once all has ended; a conflict where
//                                                            it is to be idle and is not
//
// An error is {"ok":false,"kind":"not_found","message":".."}. `request` and `run` are those of
// sandbox/run.h.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox::wire {

inline constexpr int kBoxProtocol = 1;
// Code of 1 MiB may be escaped to six times its size.
inline constexpr std::size_t kBoxRequestBytesMax = 8U << 20;
inline constexpr std::size_t kBoxReplyBytesMax = 32U << 20;
inline constexpr int kBoxWaitMsMax = 60'000;

nlohmann::json error_reply(const base::Error& failure);

// Returns the Error that `reply` carries, or success.
base::Status check_reply(const nlohmann::json& reply);

}  // namespace sandbox::wire
