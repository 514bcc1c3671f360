// A run as its row tells it, and as little of it as stays when its session is deleted.
#include "sessions/run_record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace sessions {
namespace {

sessions::Run ended_row() {
  sessions::Run row;
  row.id = "run_1";
  row.session_id = "session_1";
  row.language = "bash";
  row.status = "failed";
  row.background = true;
  row.queued_at = 5;
  row.finished_at = 9;
  return row;
}

TEST(RunRecord, ARowAloneTellsWhatItHas) {
  const sandbox::Run run = run_of(ended_row());
  EXPECT_EQ(run.run_id, "run_1");
  EXPECT_EQ(run.language, sandbox::Language::kBash);
  EXPECT_EQ(run.status, sandbox::RunStatus::kFailed);
  EXPECT_TRUE(run.background);
  EXPECT_EQ(run.queued_at_ms, 5);
  EXPECT_EQ(run.finished_at_ms, 9);
  EXPECT_FALSE(run.error);
}

TEST(RunRecord, ARowWithoutAnEndOrOfANewerHutchIsRead) {
  sessions::Run row = ended_row();
  row.finished_at.reset();
  row.status = "queued";
  EXPECT_EQ(run_of(row).finished_at_ms, 0);
  row.language = "cobol";
  row.status = "dreaming";
  EXPECT_EQ(run_of(row).language, sandbox::Language::kPython);
  EXPECT_EQ(run_of(row).status, sandbox::RunStatus::kQueued);
}

TEST(RunRecord, OfADeletedSessionNothingIsKeptThatItsCodeHasSaid) {
  sandbox::Run end = run_of(ended_row());
  end.started_at_ms = 6;
  end.duration_ms = 3;
  end.exit_code = 7;
  end.stdout_bytes = 11;
  end.note = "secret note";
  end.error = sandbox::RunError{"SecretError", "secret", "secret", sandbox::Cause::kOom, "x", "y"};
  end.outputs.emplace_back();
  end.files_changed.emplace_back().path = "/workspace/secret";
  const sandbox::Run kept = erased_run(ended_row(), end);
  EXPECT_EQ(kept.started_at_ms, 6);
  EXPECT_EQ(kept.duration_ms, 3);
  EXPECT_EQ(kept.exit_code, 7);
  ASSERT_TRUE(kept.error);
  EXPECT_EQ(kept.error->cause, sandbox::Cause::kOom);
  for (const std::string& words :
       {kept.error->name, kept.error->message, kept.error->traceback, kept.note}) {
    EXPECT_EQ(words.find("ecret"), std::string::npos) << words;
  }
  EXPECT_TRUE(kept.error->survived.empty() && kept.error->lost.empty());
  EXPECT_TRUE(kept.outputs.empty() && kept.files_changed.empty());
  EXPECT_EQ(kept.stdout_bytes, 0);
  end.error.reset();
  EXPECT_FALSE(erased_run(ended_row(), end).error) << "what went well stays so";
}

}  // namespace
}  // namespace sessions
