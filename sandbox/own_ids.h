// Tells whether sessions can have ids of their own on this host. user_namespaces(7).
#pragma once

#include <cstdint>
#include <string>

namespace sandbox {

// Returns true when we are root and our user namespace has all ids of the range, for users and
// groups. In a rootless container we are root of few ids: then sessions share ours, as an ordinary
// user's do.
bool can_give_ids(std::int64_t first, std::int64_t count);

// Returns whether the text of a /proc/<pid>/uid_map, lines of "inside outside count", has all ids
// of the range in one line.
bool map_has_ids(const std::string& map, std::int64_t first, std::int64_t count);

// Returns whether we may be the host's own root, whom the kernel spares the limit of processes
// (setrlimit(2)), also within user namespaces. Never false where we are.
bool may_be_root_of_host();

// Returns who `id` is in the namespace above, after such a text; -1: nobody.
std::int64_t id_outside(const std::string& map, std::int64_t id);

}  // namespace sandbox
