// What all sessions at the door share.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "sandbox/egress/downloads.h"
#include "sandbox/egress/leaf_certificates.h"
#include "sandbox/egress/lookups.h"
#include "sandbox/egress/places.h"

namespace sandbox::egress {

struct Resources {
  Resources(std::size_t connections_most, Downloads kept)
      : places(connections_most), downloads(std::move(kept)) {}

  asio::thread_pool lookup_threads{Lookups::kThreads};
  Places places;
  Downloads downloads;
  // By their contents: servers whose sessions come here have one, as a rule.
  std::map<std::string, std::shared_ptr<LeafCertificates>> authorities;
  std::map<std::string, std::shared_ptr<asio::ssl::context>> roots;
};

}  // namespace sandbox::egress
