// A run that is to be started anew is on the disk while it is on, and not a moment longer.
#include "sandbox/box/kept_runs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "tests/support/temporary_directory.h"

namespace sandbox::box {
namespace {

class KeptRunsTest : public testing::Test {
 protected:
  KeptRunsTest()
      : session_(base::open_file(AT_FDCWD, directory_.path(), O_RDONLY | O_DIRECTORY).value()) {}

  [[nodiscard]] std::string place() const {
    return directory_.path() + "/restarts/run_7k2m9c0xq4a1";
  }
  static RunRequest request(const std::string& code) {
    RunRequest request;
    request.run_id = "run_7k2m9c0xq4a1";
    request.code = code;
    request.background = request.restarts_on_wake = true;
    return request;
  }

  const TemporaryDirectory directory_;
  const base::UniqueFd session_;
};

TEST_F(KeptRunsTest, ItComesBackAsItWasAsked) {
  const KeptRuns kept(session_.get());
  ASSERT_TRUE(kept.keep(request("first")).ok());
  ASSERT_TRUE(kept.keep(request("second")).ok());
  std::ifstream file(place());
  const auto read = request_from_json(nlohmann::json::parse(file)).value();
  EXPECT_EQ(read.code, "second");
  EXPECT_TRUE(read.restarts_on_wake && read.background);
  struct stat status {};
  ASSERT_EQ(::stat(place().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  kept.forget("run_7k2m9c0xq4a1");
  EXPECT_FALSE(std::filesystem::exists(place()));
  kept.forget("run_7k2m9c0xq4a1");
}

TEST_F(KeptRunsTest, WhereItCannotBeKeptItIsSaid) {
  std::ofstream(directory_.path() + "/restarts") << "in the way";
  EXPECT_FALSE(KeptRuns(session_.get()).keep(request("1")).ok());
}

}  // namespace
}  // namespace sandbox::box
