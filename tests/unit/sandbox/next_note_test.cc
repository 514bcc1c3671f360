// The next run is told what it missed, and a waking takes no more than its budget.
#include "sandbox/box/next_note.h"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using sandbox::box::NextNote;

json waking_of(const std::string& said, const std::string& more = "") {
  return {{"type", "done"}, {"of_state", said}, {"note", said + more}};
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
  NextNote note;
  std::string said = "a new Python has 30 names; not kept: ";
  for (int number = 10; number < 20; ++number) {
    said += "n" + std::to_string(number) + " (generator: again, with what was in it), ";
  }
  said += "last (generator) and 4 more: `hutch sessions show`";
  const std::string cut = note.with_short_waking(waking_of(said, "; more"), 2)["note"];
  EXPECT_EQ(cut,
            "a new Python has 30 names; not kept: n10 (generator: again, with what was in it) and "
            "14 more: `hutch sessions show`; more");
  EXPECT_LE(cut.size(), NextNote::kWakingCharactersMost / 2 + 6);
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
