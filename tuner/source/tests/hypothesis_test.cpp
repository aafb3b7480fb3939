// Tests of cards as models write them, and of what is found about them.
#include "tuner/source/hypotheses/hypothesis_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using Conclusion = Finding::Conclusion;

const char* const kCard =
    "CARD\nFAMILY: memory\nBOUND: DRAM\nCHANGE: stage a tile in shared memory\nMOVES: registers 40 -> 32\nGAIN: 1.4\n"
    "RISK: low\nCOST: 20 lines\n";

TEST(Cards, AreReadAsTheyAreAskedFor) {
  auto cards = read_cards(std::string("Here they are.\n") + kCard + "\n" + kCard, 4);
  ASSERT_EQ(cards.hypotheses.size(), 2u) << cards.complaint;
  EXPECT_TRUE(cards.complaint.empty());
  auto& card = cards.hypotheses[0];
  EXPECT_EQ(card.family, Family::Memory);
  EXPECT_EQ(card.change, "stage a tile in shared memory");
  EXPECT_EQ(card.prediction(), "registers 40 -> 32; 1.40x; risk low");
  EXPECT_EQ(card.cost, "20 lines");
  EXPECT_EQ(read_cards(std::string(kCard) + kCard + kCard, 2).hypotheses.size(), 2u) << "no more than asked for";
}

TEST(Cards, AreReadInTheDressOfMarkdown) {
  auto cards = read_cards(
      "### CARD 1\n- **FAMILY**: Parallelism\n- **CHANGE:** one warp per row,\n  reduced by shuffles\n- **MOVES**: "
      "occupancy: 0.25 to 0.5\n- **GAIN**: 30 %\n- **RISK**: High, since rows are short\n",
      4);
  ASSERT_EQ(cards.hypotheses.size(), 1u) << cards.complaint;
  auto& card = cards.hypotheses[0];
  EXPECT_EQ(card.family, Family::Parallelism);
  EXPECT_EQ(card.change, "one warp per row, reduced by shuffles");
  EXPECT_EQ(card.prediction(), "occupancy 0.25 -> 0.5; 1.30x; risk high");
}

TEST(Cards, AWrongOneCostsNoOther) {
  auto cards = read_cards(std::string("CARD\nCHANGE: x\nGAIN: much\n") + kCard, 4);
  EXPECT_EQ(cards.hypotheses.size(), 1u);
  EXPECT_THAT(cards.complaint, HasSubstr("card 1: its GAIN 'much' is no factor such as 1.3"));
}

TEST(Cards, WhatIsNoneIsRefusedWithTheReason) {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "contains no card"},
      {"I would look at coalescing first.", "contains no card"},
      {"CARD\n", "it has no CHANGE"},
      {"CARD\nCHANGE: x\n", "it has no GAIN"},
      {"CARD\nCHANGE: x\nGAIN: 0.9\n", "no factor above 1"},
      {"CARD\nCHANGE: x\nGAIN: 1e30\n", "no factor above 1"},
      {"CARD\nCHANGE: x\nGAIN: nan\n", "no factor"},
      {"CARD\nCHANGE: x\nGAIN: 1.2\nFAMILY: luck\n", "its FAMILY 'luck' is none of"},
      {std::string(1 << 20, 'x'), "contains no card"}};
  for (auto& [answer, why] : wrong) {
    auto cards = read_cards(answer, 4);
    EXPECT_TRUE(cards.hypotheses.empty());
    EXPECT_THAT(cards.complaint, HasSubstr(why));
    EXPECT_LT(cards.complaint.size(), 1000u);
  }
}

class Findings : public testing::Test {
 protected:
  Findings() {
    add(1, "original", measured(1, 40));
    card_ = read_cards(kCard, 1).hypotheses.at(0);
    card_.base = 1, card_.asked = true;
  }
  static Verdict measured(double speedup, uint64_t registers) {
    Verdict verdict = fake_ok(speedup);
    verdict.resources.registers = registers;
    return verdict;
  }
  void add(int64_t id, const std::string& source, const Verdict& verdict) {
    Candidate candidate;
    candidate.source = source, candidate.tier = id == 1 ? "baseline" : "source";
    history_.add({id, candidate, verdict, {}, {}, 0});
  }
  Finding found(const Verdict& verdict) {
    add(2, "changed", verdict);
    card_.candidate = history_.find(2)->candidate.key().hex();
    return *finding_of(card_, history_);
  }
  History history_;
  Hypothesis card_;
};

TEST_F(Findings, AreConfirmedWhereGainAndFigureCome) {
  auto finding = found(measured(1.3, 33));
  EXPECT_EQ(finding.conclusion, Conclusion::Confirmed) << finding.why;
  EXPECT_EQ(finding.measured, "registers 40 -> 33; 1.30x (1.29x to 1.31x)");
  EXPECT_THAT(finding.text(), HasSubstr("predicted registers 40 -> 32; 1.40x; risk low, measured registers 40 -> 33"));
}

TEST_F(Findings, AreRefutedWhereTheGainDoesNotCome) {
  EXPECT_EQ(found(measured(1.0, 32)).conclusion, Conclusion::Refuted);
  EXPECT_THAT(finding_of(card_, history_)->why, HasSubstr("did not pay"));
}

TEST_F(Findings, AreConfoundedWhereTheGainComesOtherwise) {
  EXPECT_EQ(found(measured(1.4, 40)).conclusion, Conclusion::Confounded);
}

TEST_F(Findings, AreConfoundedWhereTheCandidateIsWrong) {
  auto finding = found(fake_failure(Outcome::Wrong, "9 elements differ"));
  EXPECT_EQ(finding.conclusion, Conclusion::Confounded);
  EXPECT_THAT(finding.why, HasSubstr("9 elements differ"));
}

TEST_F(Findings, AreConfoundedWhereTheNoiseIsLarge) {
  Verdict noisy = fake_noisy(1.2, 0.9, 1.6);
  noisy.resources.registers = 32;
  EXPECT_EQ(found(noisy).conclusion, Conclusion::Confounded);
}

TEST_F(Findings, JudgeByTheGainAloneWhereTheFigureIsNotMeasured) {
  card_.figure = "dram_read_bytes";
  auto finding = found(measured(1.4, 40));
  EXPECT_EQ(finding.conclusion, Conclusion::Confirmed);
  EXPECT_THAT(finding.why, HasSubstr("not measured here"));
}

TEST_F(Findings, AreNotThereBeforeTheVerdict) {
  EXPECT_FALSE(finding_of(card_, history_));
  card_.dropped = "it could not be applied";
  EXPECT_THAT(finding_of(card_, history_)->why, HasSubstr("it could not be applied"));
  card_.dropped.clear(), card_.asked = false;
  EXPECT_FALSE(finding_of(card_, history_));
}

TEST_F(Findings, TellWhatAGainHasCost) {
  card_.requests = 2, card_.tokens = 1000, card_.seconds = 4;
  auto finding = found(measured(1.21, 32));
  EXPECT_EQ(finding.cost_text(), "2 requests, 1000 tokens, 4 s");
  EXPECT_EQ(finding.cost_per_gain(), "500 tokens and 2.0 s for each 10 %");
}

class Board : public Findings {
 protected:
  Hypothesis card(const std::string& change, double gain, Family family = Family::Memory) {
    Hypothesis made = card_;
    made.asked = false, made.change = change, made.gain = gain, made.family = family;
    return made;
  }
};

TEST_F(Board, ChoosesByExpectedGainAndWhatWasNotTried) {
  HypothesisBoard board({});
  board.add(card("stage a tile of the matrix in shared memory", 1.3));
  board.add(card("split the sum over several warps of a block", 1.4, Family::Parallelism));
  EXPECT_EQ(board.best_open(history_)->number, 2);
  EXPECT_EQ(board.add(card("stage the tile of a matrix in shared memory", 2)), 0) << "it says the same";
  Hypothesis risky = card("precompute all rows in a table of the host", 1.45, Family::Structure);
  risky.risk = Hypothesis::Risk::High;
  board.add(risky);
  EXPECT_EQ(board.best_open(history_)->number, 2);
  board.find(2)->asked = true;
  EXPECT_EQ(board.best_open(history_)->number, 1);
  board.find(1)->asked = board.find(3)->asked = true;
  EXPECT_EQ(board.best_open(history_), nullptr);
}

TEST_F(Board, ExpectsLessOfAFamilyWhoseHypothesesWereRefuted) {
  HypothesisBoard board({});
  board.add(card("stage a tile of the matrix in shared memory", 1.4));
  board.add(card("vectorise the loads of each row by four", 1.4));
  const double before = board.expected_of_open(history_);
  add(2, "changed", measured(1.0, 40));
  board.find(1)->asked = true, board.find(1)->candidate = history_.find(2)->candidate.key().hex();
  EXPECT_EQ(board.findings(history_).at(0).conclusion, Conclusion::Refuted);
  EXPECT_LT(std::log(board.expected_of_open(history_)), 0.45 * std::log(before));
}

TEST_F(Board, IsTheSameAfterItWasKept) {
  KeptState state;
  HypothesisBoard board({{}, [&](auto& key, auto& value) { state.known[key] = value; }});
  board.add(card("stage a tile of the matrix in shared memory", 1.3));
  board.add(card("split the sum over several warps", 1.2, Family::Parallelism));
  board.find(1)->asked = true, board.find(1)->dropped = "no answer";
  board.keep(*board.find(1));
  board.find(2)->asked = true;
  board.keep(*board.find(2));
  state.known["llm/card/x"] = "{damaged";
  HypothesisBoard again(state);
  ASSERT_EQ(again.all().size(), 2u);
  EXPECT_EQ(to_json(again.all().at(1)), to_json(board.all().at(1)));
  EXPECT_EQ(again.open(), 0u);
  again.reopen_unjudged(history_);
  EXPECT_EQ(again.best_open(history_)->number, 2) << "nobody carries it out any more";
}

}  // namespace
}  // namespace kernelift::tuner
