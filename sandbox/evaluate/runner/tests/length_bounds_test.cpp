// Results of a GPU that are held to error bounds of the original's sums, which another device is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/runner/runner_process.h"
#include "sandbox/evaluate/runner/tests/runner_rig.h"

namespace kernelift::sandbox::fake {
namespace {

using ::testing::HasSubstr;

constexpr size_t kIn = 0, kOut = 1;  // Regions, by address.

/// As if the exact sums were half a unit above what the original leaves, give or take `error`.
LengthAnswer half_a_unit_more(const LengthQuestion& question, double error = 0.01) {
  const bool smaller = question.instance == "b";
  const size_t n = smaller ? 1501 : 3000;
  std::vector<float> in(n);
  for (size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i % 1000) * 0.5f - 100.0f;
  for (auto& contents : question.regions)
    if (contents.index == kIn) std::memcpy(in.data(), contents.bytes.data(), contents.bytes.size());
  LengthAnswer answer;
  auto& lanes = answer.regions.emplace_back(LengthAnswer::Region{kOut, {}}).lanes;
  lanes.emplace_back();
  for (float of : in)
    lanes[0].elements.push_back({static_cast<double>(of * (smaller ? -0.25f : 3.0f) + 2.0f) + 0.5, error});
  return answer;
}

struct Asking {
  explicit Asking(std::function<LengthAnswer(const LengthQuestion&)> answers =
                      [](auto& question) { return half_a_unit_more(question); })
      : answer(std::move(answers)), rig(scale(), settings()) {}
  RunnerSettings settings() {
    RunnerSettings made;
    made.perturbing_limit = 1e9;  // Whatever else this machine does meanwhile.
    made.lengths = [this](const std::vector<LengthQuestion>& questions) {
      std::vector<LengthAnswer> answers;
      for (auto& question : questions) asked.push_back(question), answers.push_back(answer(question));
      most_together = std::max(most_together, questions.size());
      return answers;
    };
    return made;
  }
  Verdict judge(const std::string& image, bool confirm = false) {
    RunnableCode code;
    code.image = image;
    Inquiry inquiry;
    inquiry.confirm = confirm, inquiry.held_to_length = true;
    return std::get<Verdict>(rig.runner->evaluate(code, inquiry).value_or(Verdict{}));
  }
  std::function<LengthAnswer(const LengthQuestion&)> answer;
  std::vector<LengthQuestion> asked;
  size_t most_together = 0;
  Rig rig;
};

TEST(LengthBounds, OfAnotherDeviceDecideOnRecordedPerturbedAndTimedInputs) {
  Asking asking;
  const Verdict right = asking.judge("nearer"), finalist = asking.judge("nearer", true);
  EXPECT_TRUE(right.ok()) << right.text();
  EXPECT_TRUE(finalist.ok()) << finalist.text();
  EXPECT_EQ(finalist.timings.size(), 2u);
  for (auto wrong : {"between", "past", "wrong"}) {
    const Verdict verdict = asking.judge(wrong);
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr("beyond the error bounds of the original's sums, too"));
  }
  EXPECT_EQ(asking.rig.judge("nearer").outcome, Outcome::Wrong)
      << "a candidate that is not held to them is judged as ever";
  size_t recorded = 0, perturbed = 0;
  for (auto& question : asking.asked) {
    EXPECT_EQ(question.wanted, std::vector<size_t>{kOut});
    (question.regions.empty() ? recorded : perturbed)++;
  }
  EXPECT_EQ(recorded, 2u) << "an input is asked about once";
  EXPECT_GE(perturbed, 4u);
  EXPECT_EQ(asking.most_together, 3u) << "two perturbed inputs of two instances; one was known since it was mixed";
}

TEST(LengthBounds, AreAskedOnlyOnceAResultSeemsWrong) {
  Asking asking;
  EXPECT_TRUE(asking.judge("faster", true).ok());
  EXPECT_TRUE(asking.asked.empty());
}

TEST(LengthBounds, OfRecordedAndPerturbedInputsAreLentToThoseBetweenThem) {
  Asking asking([](auto& question) {
    LengthAnswer answer = half_a_unit_more(question, 1);
    for (auto& element : answer.regions[0].lanes[0].elements) element.precise -= 0.5;
    return answer;
  });
  const Verdict right = asking.judge("rounds other inputs otherwise");
  EXPECT_TRUE(right.ok()) << right.text();
  // The recorded input and the perturbed one; not what each timed launch finds.
  EXPECT_LE(asking.asked.size(), 2u);
}

TEST(LengthBounds, ThatAreNotKnownLeaveARefusalWithItsReason) {
  Asking asking([](auto&) {
    LengthAnswer no;
    no.why_not = "it takes a week";
    return no;
  });
  for (int again = 0; again < 2; ++again) {
    const Verdict verdict = asking.judge("nearer");
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr("the error bounds of the original's sums are not known: it takes a week"));
  }
  EXPECT_EQ(asking.asked.size(), 1u) << "what is never known is not asked again";
}

TEST(LengthBounds, ForWhichThereWasNoTimeAreAskedAgain) {
  bool time = false;
  Asking asking([&](auto& question) {
    LengthAnswer no;
    no.why_not = "there was no time left", no.later = true;
    return time ? half_a_unit_more(question) : no;
  });
  EXPECT_THAT(asking.judge("nearer").detail, HasSubstr("are not known: there was no time left"));
  time = true;
  EXPECT_TRUE(asking.judge("nearer").ok());
}

TEST(LengthBounds, ThatDoNotFitTheRegionAreNotTaken) {
  Asking asking([](auto& question) {
    LengthAnswer answer = half_a_unit_more(question, 1e9);
    answer.regions[0].lanes[0].first = 1;
    answer.regions.push_back({~size_t(0), {{}}});
    return answer;
  });
  const Verdict verdict = asking.judge("nearer");
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_THAT(verdict.detail, HasSubstr("are not known: nothing is known of its outputs"));
}

TEST(LengthBounds, OfAnotherProcessTravelBothWays) {
  MepFixture fixture = scale();
  auto device = [](int) -> Result<std::unique_ptr<Device>> {
    return std::unique_ptr<Device>(new FakeDevice(images()));
  };
  auto server = RunnerProcess::fork_server(fixture.mep, fixture.path(), {}, {device});
  ASSERT_TRUE(server.ok());
  RunnableCode original, nearer;
  original.image = "original", nearer.image = "nearer";
  std::set<std::string> fatal;
  BaselineReport report;
  std::vector<std::string> asked;
  RunnerStart with;
  with.lengths = [&](const std::vector<LengthQuestion>& questions) {
    std::vector<LengthAnswer> answers;
    for (auto& question : questions) asked.push_back(question.instance), answers.push_back(half_a_unit_more(question));
    return answers;
  };
  auto process = RunnerProcess::start(**server, 0, {original}, false, fatal, report, std::move(with));
  ASSERT_TRUE(process.ok()) << process.error().message;
  Inquiry inquiry;
  auto refused = (*process)->evaluate(nearer, inquiry);
  EXPECT_EQ(std::get<Verdict>(*refused).outcome, Outcome::Wrong);
  EXPECT_GT((*process)->promise(), 1) << "half as long as the original";
  inquiry.rival = 10;
  (void)(*process)->evaluate(nearer, inquiry);
  EXPECT_EQ((*process)->promise(), 0) << "five times as long as the best so far";
  EXPECT_TRUE(asked.empty());
  inquiry.held_to_length = true;
  auto held = (*process)->evaluate(nearer, inquiry);
  EXPECT_TRUE(std::get<Verdict>(*held).ok()) << std::get<Verdict>(*held).text();
  EXPECT_EQ(asked.front(), "a");
}

}  // namespace
}  // namespace kernelift::sandbox::fake
