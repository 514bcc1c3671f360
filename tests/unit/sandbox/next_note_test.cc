// The next run is told what it missed, and a waking takes no more than its budget.
#include "sandbox/box/next_note.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using sandbox::box::NextNote;

json waking_of(const std::string& said, const std::string& more = "") {
  return {{"type", "done"}, {"of_state", {{"back", said}}}, {"note", said + more}};
}

TEST(NextNoteTest, IsToldOnceAndEachPartOnce) {
  NextNote note;
  EXPECT_TRUE(note.is_empty());
  note.tell("");
  EXPECT_TRUE(note.is_empty());
  note.tell("one was killed");
  note.tell("two was killed");
  note.tell("one was killed");
  EXPECT_FALSE(note.is_empty());
  EXPECT_EQ(note.take(), "one was killed; two was killed");
  EXPECT_TRUE(note.is_empty());
  EXPECT_EQ(note.take(), "");
}

TEST(NextNoteTest, OnlyWhatIsOfTheWakingIsCut) {
  NextNote note;
  const std::string all(NextNote::kWakingCharactersMost, 'a');
  EXPECT_EQ(note.with_short_waking(waking_of(all, "; more"), 1)["note"], all + "; more");
  note.begin_anew();
  const std::string cut = note.with_short_waking(waking_of(all + "b", "; more"), 1)["note"];
  EXPECT_EQ(cut, all.substr(3) + "...; more");
  const json other = {{"note", std::string(1000, 'c')}};
  EXPECT_EQ(note.with_short_waking(other, 1), other) << "it says nothing of a waking";
}

TEST(NextNoteTest, ItemsAreWholeAndTheOthersCounted) {
  const std::string back = "a new Python has 30 names";
  json lacks = json::array();
  std::string said = back;
  for (int number = 10; number < 20; ++number) {
    lacks.push_back((lacks.empty() ? "; not kept: n" : ", n") + std::to_string(number) +
                    " (generator: again, with what was in it)");
    said += lacks.back().get<std::string>();
  }
  said += " and 4 more: `hutch sessions show`";
  const json done = {{"of_state", {{"back", back}, {"lacks", lacks}, {"more", 4}}},
                     {"note", said + "; more"}};
  NextNote note;
  const std::string cut = note.with_short_waking(done, 2)["note"];
  EXPECT_EQ(cut,
            "a new Python has 30 names; not kept: n10 (generator: again, with what was in it) and "
            "13 more: `hutch sessions show`; more");
  EXPECT_LE(cut.size(), NextNote::kWakingCharactersMost / 2 + 6);
  EXPECT_EQ(note.with_short_waking(done, 3)["note"],
            "a new Python has 30 names; not kept: 14 values and other things: `hutch sessions "
            "show`; more");
}

TEST(NextNoteTest, WhatIsNoNoteOfAWakingStaysAsItIs) {
  NextNote note;
  const std::string said(400, 'a');
  for (const json& of_state :
       {json(said), json::object(), json{{"back", said}, {"more", -1}},
        json{{"back", said}, {"more", INT64_MAX}}, json{{"back", said}, {"lacks", {1}}},
        json{{"back", said}, {"lacks", json(std::vector<std::string>(100'000))}},
        json{{"back", "b"}}}) {
    const json done = {{"of_state", of_state}, {"note", said}};
    EXPECT_EQ(note.with_short_waking(done, 1), done);
  }
}

TEST(NextNoteTest, LanguagesThatWakeShareTheBudget) {
  NextNote note;
  const std::string much(1000, 'a');
  const auto shown = [&note, &much](std::size_t tell) {
    return note.with_short_waking(waking_of(much), tell)["note"].get<std::string>().size();
  };
  EXPECT_EQ(shown(2), NextNote::kWakingCharactersMost / 2);
  EXPECT_EQ(shown(1), NextNote::kWakingCharactersMost / 2) << "the rest of it";
  EXPECT_EQ(shown(1), 100U) << "each has a little, however much was told";
  note.begin_anew();
  EXPECT_EQ(shown(1), NextNote::kWakingCharactersMost);
}

TEST(NextNoteTest, WhatIsToldBesideTakesHalfOfItAtMost) {
  NextNote note;
  note.tell(std::string(1000, 'a'));
  EXPECT_EQ(note.take().size(), 1000U);
  note.count(std::string(20, 'b'));
  const std::string shown = note.with_short_waking(waking_of(std::string(1000, 'c')), 1)["note"];
  EXPECT_EQ(shown.size(), NextNote::kWakingCharactersMost / 2 - 20);
}

}  // namespace
