// The plan: what init must do to enter the box, as bytes that both hutch-box (which writes it) and
// hutch-init (which reads it without allocating) understand.
//
// A plan is a sequence of records. A record is one operation byte, one byte with the number of
// fields, then each field as bytes ended by NUL. Numbers are decimal text. Init carries the
// operations out in the order of `enter_box()`, within one kind in the order of the plan.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sandbox::wire {

inline constexpr std::size_t kPlanBytesMax = 256 * 1024;
inline constexpr int kPlanFieldsMax = 8;
inline constexpr int kPlanBindsMax = 128;

// Fields are listed after each operation. "options" is a string of letters, each documented here.
enum class PlanOp : std::uint8_t {
  kCgroup = 'c',     // path of a tasks file of version 1, to join before the clone
  kCgroup2 = 'g',    // path of a cgroup of version 2, for the clone to start in; at most one
  kIdMap = 'i',      // inside id, outside uid, outside gid; "1" when setgroups must be denied
  kHostname = 'h',   // host name
  kDirectory = 'd',  // path in the box, octal mode
  kBind = 'b',       // source on the host, target in the box, options, device number, inode
                     //   r read-only; o skip when the source is missing; x no programs from here;
                     //   device and inode are "0" when any source at that path will do;
                     //   l laid over what the host has at the target, by overlayfs;
                     //   a alone: without what is mounted below, now or later; s its mount was
                     //   sent by hutch-box (kMount), in the order of the plan
  kProtect = 'k',    // target of a kBind before it, relative path, device number, inode: is made
                     //   read-only where it lies
  kBlock = 'x',      // fields as of kProtect; its path reads as empty
  kNoHostSockets = 'w',  // no Unix sockets by name, no set-id files: there are host folders
  kTmpfs = 't',          // target, size in bytes, number of inodes, octal mode
  kProc = 'p',           // target
  kTerminals = 'y',      // target: a devpts of the box's own
  kMask = 'm',           // path in the box that must read as empty; skipped when it is not there
  kShow = 'v',           // a file in the box, path in the box that must read as that file
  kReadOnly = 'r',       // path in the box to remount read-only
  kSymlink = 'l',        // text of the link, path in the box
  kFile = 'f',           // path in the box, content
  kSysctl = 's',         // path below the box's /proc/sys, value
  kRlimit = 'u',         // number of the resource, soft, hard
  kCpus = 'n',           // how many CPUs the box may use
  kRoute = 'o',          // IPv4 address, prefix length: all its addresses are the box's own
  kListen = 'q',         // "tcp" or "udp", IPv4 address, port: a socket for hutch-box (kListener)
  kAccess = 'a',         // path in the box, what Landlock allows from there down: r read and run;
                         //   u also write what is there, as a device; w also create and delete
};

struct PlanRecord {
  PlanOp op{};
  int field_count = 0;
  const char* fields[kPlanFieldsMax] = {};
};

// Walks a plan in memory. The bytes must outlive the reader.
class PlanReader {
 public:
  PlanReader(const char* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

  // Returns false at the end of the plan, and on a malformed record: see ok().
  bool next(PlanRecord& record);
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  const char* next_;
  const char* end_;
  bool ok_ = true;
};

// Returns how many fields `op` carries; -1 for an unknown operation.
int plan_field_count(PlanOp op);

}  // namespace sandbox::wire
