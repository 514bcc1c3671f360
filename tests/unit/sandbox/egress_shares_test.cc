// Tests what the sessions of one principal have together at the door, and leave to others.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/unix_socket.h"
#include "sandbox/egress/resources.h"
#include "sandbox/egress/session.h"

namespace {

using namespace sandbox::egress;

constexpr const char* kNeverAnswered = "never";

std::mutex answers_mutex;
std::condition_variable answers_changed;
bool answers_may_come = false;
std::size_t questions_on = 0;

// Stands for getaddrinfo(3) with a name server that does not answer for some names.
Lookups::Addresses resolve(const std::string& host) {
  std::unique_lock lock(answers_mutex);
  if (host.starts_with(kNeverAnswered)) {
    ++questions_on;
    answers_changed.wait(lock, [] { return answers_may_come; });
  }
  return {asio::ip::address_v4::loopback()};
}

class EgressShares : public ::testing::Test {
 protected:
  EgressShares() {
    answers_may_come = false;
    questions_on = 0;
  }
  ~EgressShares() override { answer(); }

  static void answer() {
    const std::lock_guard lock(answers_mutex);
    answers_may_come = true;
    answers_changed.notify_all();
  }

  std::shared_ptr<PrincipalShare> share_of(const std::string& principal_id) {
    sandbox::NetworkQuota quota;
    quota.principal_id = principal_id;
    return resources_.share_of(context_, quota);
  }

  // Returns those of a session.
  std::unique_ptr<Lookups> lookups_of(const std::string& principal_id) {
    auto lookups = std::make_unique<Lookups>(context_, resources_.lookup_threads,
                                             resources_.lookup_turns, &resolve);
    const auto share = share_of(principal_id);
    lookups->set_owner({share, &share->lookups});
    return lookups;
  }

  void find(Lookups& lookups, const std::string& host) {
    asio::co_spawn(
        context_,
        [](Lookups& asked, std::string name, const Socket& client,
           std::size_t& found) -> Task<void> {
          const auto addresses = co_await asked.find(std::move(name), client);
          found += addresses.size();
        }(lookups, host, client_, found_),
        asio::detached);
  }

  std::shared_ptr<Session> session_of(const std::string& principal_id) {
    base::SocketPair ends = base::make_socket_pair(SOCK_SEQPACKET).value();
    boxes_.push_back(std::move(ends.theirs));
    const auto channel = std::make_shared<BoxEvents::Channel>(context_, ends.ours.release());
    auto session = std::make_shared<Session>(context_, resources_,
                                             std::make_shared<BoxEvents>(context_, channel));
    sandbox::NetworkQuota quota;
    quota.principal_id = principal_id;
    session->set_quota(quota);
    return session;
  }

  asio::io_context context_{1};
  Resources resources_{10, Downloads({}, 0)};
  Socket client_{context_, asio::ip::tcp::v4()};
  std::vector<base::UniqueFd> boxes_;
  std::size_t found_ = 0;
};

TEST_F(EgressShares, LookupsThatAreNeverAnsweredLeaveTheOthersTheirTurns) {
  constexpr std::size_t kSessions = 6;
  constexpr std::size_t kAsked = 3;
  std::vector<std::unique_ptr<Lookups>> greedy;
  for (std::size_t i = 0; i < kSessions; ++i) {
    greedy.push_back(lookups_of("greedy"));
    for (std::size_t asked = 0; asked < kAsked; ++asked) {
      find(*greedy.back(), kNeverAnswered + std::to_string(i * kAsked + asked));
    }
  }
  const auto other = lookups_of("other");
  find(*other, "a.test.");
  while (found_ == 0) {
    ASSERT_GT(context_.run_one_for(std::chrono::seconds(20)), 0) << "nobody's turn comes";
  }
  answers_mutex.lock();
  EXPECT_LE(questions_on, Lookups::kThreads / 2);
  answers_mutex.unlock();
  answer();
  context_.run();
  EXPECT_EQ(found_, 1 + kSessions * kAsked) << "they wait, and are not refused";
  EXPECT_EQ(share_of("greedy")->lookups, 0);
}

TEST_F(EgressShares, WhoComesLaterHasATurnToo) {
  std::vector<std::shared_ptr<void>> turns;
  std::vector<std::size_t> had;
  for (int i = 0; i < 5; ++i) {
    const auto owner = std::make_shared<std::size_t>(0);
    while (auto turn = resources_.lookup_turns->take(owner)) turns.push_back(std::move(turn));
    had.push_back(*owner);
  }
  EXPECT_EQ(had, (std::vector<std::size_t>{8, 4, 2, 1, 1}));
  turns.clear();
  EXPECT_TRUE(resources_.lookup_turns->take(std::make_shared<std::size_t>(7)));
}

TEST_F(EgressShares, ConnectionsOfOneLeavePlacesForTheNext) {
  std::vector<std::shared_ptr<void>> taken;
  std::vector<std::size_t> had;
  for (int i = 0; i < 4; ++i) {
    had.push_back(0);
    while (auto place = resources_.places.take(had.back())) {
      taken.push_back(std::move(place));
      ++had.back();
    }
  }
  EXPECT_EQ(had, (std::vector<std::size_t>{5, 3, 1, 1}));
  taken.clear();
  EXPECT_TRUE(resources_.places.take(9)) << "all others have none";
}

TEST_F(EgressShares, BodiesThatAreHeldHaveAShareOfTheirPrincipal) {
  std::vector<std::shared_ptr<Session>> sessions;
  std::vector<std::shared_ptr<void>> places;
  std::string whose;
  const auto take_all = [&](const std::string& principal_id) {
    sessions.push_back(session_of(principal_id));
    std::size_t count = 0;
    std::shared_ptr<void> place;
    while ((whose = sessions.back()->take_body_place(place)).empty()) {
      places.push_back(std::move(place));
      ++count;
    }
    return count;
  };
  std::size_t of_principal = take_all("greedy");
  EXPECT_EQ(of_principal, 4);
  EXPECT_EQ(whose, "the session");
  for (int i = 0; i < 9; ++i) of_principal += take_all("greedy");
  EXPECT_EQ(of_principal, PrincipalShare::kHeldBodiesMost);
  EXPECT_EQ(whose, "the sessions of its principal");
  EXPECT_EQ(take_all("other"), 4);
  places.clear();
  EXPECT_EQ(take_all("greedy"), 4);
  for (const auto& session : sessions) session->end();
}

}  // namespace
