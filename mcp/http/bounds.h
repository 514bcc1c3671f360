// Bounds limits what one client, and all of them together, may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace mcp::http {

struct Bounds {
  // These bound a request's head.
  std::size_t head_bytes = 32U << 10;
  std::size_t target_bytes = 2U << 10;  // in the request line
  std::size_t header_bytes = 8U << 10;  // one line
  std::size_t header_count = 100;
  std::chrono::milliseconds head_patience{15'000};  // from its first byte to its last
  std::chrono::milliseconds idle_patience{75'000};  // for the first byte

  // These bound its body.
  std::size_t body_bytes = 112U << 20;  // a write_file of 16 MiB, every byte of it escaped
  // All bodies together may take this; beyond it, who takes more than an equal part gives way:
  std::size_t bodies_bytes = 512U << 20;            // all that are being read or answered, beyond
  std::size_t small_body = 1U << 20;                // this much of each, which is always kept
  std::size_t body_readers = 96;                    // threads that wait for what is not there yet
  std::size_t slow_bodies = 32;                     // threads that may wait for one longer than
  std::chrono::milliseconds slow_after{100};        // all may
  std::chrono::milliseconds body_patience{15'000};  // and a second more per
  std::size_t body_bytes_per_second = 64U << 10;
  std::chrono::milliseconds body_patience_max{60'000};  // however much has come

  // These limit the output that waits for clients to read it.
  std::size_t stream_bytes = 4U << 20;     // for one, and as much behind the event that passes it
  std::size_t waiting_bytes = 512U << 20;  // for all, shared as above; exceeded only by
  std::size_t small_output = 16U << 10;    // answers of this size
  std::chrono::milliseconds write_patience{30'000};  // for a reader to take all that waits, or
  std::size_t write_progress = 64U << 10;            // so much of it

  bool are_connections_shared = false;  // by those behind a proxy: the next request is anybody's
  std::size_t connections = 16384;      // less where the system gives fewer descriptors
  std::size_t threads = 128;            // that read bodies and answer
  // So many of them work for one principal while others ask, too; those that wait do not count.
  std::size_t at_work_beside_others_each = std::max(1U, std::thread::hardware_concurrency() / 2);
  std::size_t queue = 4096;       // requests that wait for one
  std::size_t queue_each = 1000;  // for one principal
};

}  // namespace mcp::http
