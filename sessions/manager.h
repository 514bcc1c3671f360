// Holds the services of this layer together: joins the database (what is true) with the boxes (what
// is alive), and sweeps.
//
// The database is told before a box is, and a box records a run before anybody hears of its end; so
// a server may be killed at any point and the next one finds out what happened: see RunLedger.
// All functions may be called from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "sessions/manager_config.h"
#include "sessions/service_stop.h"
#include "sessions/services.h"

namespace sessions {

class Store;
struct ServiceParts;

class Manager {
 public:
  // Takes its place among the servers of the state directory and sweeps what dead ones left.
  static base::Result<std::unique_ptr<Manager>> open(ManagerConfig config, Store& store,
                                                     sandbox::Sandbox& sandbox);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  [[nodiscard]] Services services();
  // Settles runs of dead boxes, ends what is over its time, removes what has no owner.
  void sweep(const std::stop_token& stop);
  // Is for when this server ends, and its service with it: see ServiceStop. Makes no spares and
  // sweeps nothing from then on.
  base::Result<ServiceStop::Report> end_boxes_of_service(std::chrono::seconds patience);

 private:
  explicit Manager(std::unique_ptr<ServiceParts> parts);

  base::Status start();

  const std::unique_ptr<ServiceParts> parts_;
};

}  // namespace sessions
