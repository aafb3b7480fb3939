// Which candidates that the derived tolerance refuses are judged once more, and what becomes of them.
#include "sandbox/evaluate/length_judgement.h"

#include <gmock/gmock.h>

#include <thread>

#include "sandbox/evaluate/runner/field/field_conclusion.h"

namespace kernelift::sandbox {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;
using Found = FieldEquality::Found;

Verdict off_by_rounding() {
  Verdict verdict;
  verdict.outcome = Outcome::Wrong, verdict.buffer = "out", verdict.distance = 20, verdict.detail = "far";
  return verdict;
}

/// How a device is asked: it answers as set, and counts.
struct Device {
  LengthJudgement::Ask ask() {
    LengthJudgement::Ask made;
    made.known = known;
    made.formula = [this](Deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Else it may take no time by the clock.
      FieldEquality field;
      return ++asked, field.found = found, field.why = why, field;
    };
    made.again = [this] { return ++judged, again; };
    return made;
  }
  Verdict of(LengthJudgement& judgement, const Verdict& first = off_by_rounding(), bool confirm = false) {
    Inquiry inquiry;
    inquiry.confirm = confirm;
    return std::get<Verdict>(*judgement.judged(first, inquiry, ask()));
  }
  Found found = Found::Equal;
  std::string why;
  std::optional<Evaluation> again = Verdict{};
  bool known = false;
  int asked = 0, judged = 0;
};

TEST(LengthJudgement, IsOfWhatMayBeRoundingAndHasTheSameFormula) {
  LengthJudgement judgement({}, 1e9);
  Device device;
  const Verdict right = device.of(judgement);
  EXPECT_TRUE(right.ok());
  EXPECT_THAT(right.detail, StartsWith("beyond the tolerance that is derived from the original (far)"));

  device.found = Found::Differs, device.why = "out[1] is another number";
  const Verdict other = device.of(judgement);
  EXPECT_EQ(other.outcome, Outcome::Wrong);
  EXPECT_EQ(other.detail,
            "far; not held to the error bounds of the original's sums: another formula than the original's: out[1] is "
            "another number");
  EXPECT_EQ(device.judged, 1);

  Verdict crashed = off_by_rounding(), nan = off_by_rounding(), zero = off_by_rounding();
  crashed.outcome = Outcome::Crashed, nan.distance = std::numeric_limits<double>::infinity(), zero.distance = 0;
  for (auto& verdict : {Verdict{}, crashed, nan, zero}) EXPECT_EQ(device.of(judgement, verdict).detail, verdict.detail);
  EXPECT_EQ(device.asked, 2) << "what is no rounding is not asked about";
}

TEST(LengthJudgement, ThatIsNotRightTheSecondTimeSaysWhyOrHowFar) {
  LengthJudgement judgement({}, 1e9);
  Device device;
  Verdict far = off_by_rounding();
  far.detail = "far, again";
  device.again = far;
  EXPECT_EQ(device.of(judgement).detail, "far, again");
  device.again = NotJudged{"it does not compile"};
  EXPECT_THAT(device.of(judgement).detail, EndsWith("sums: it does not compile"));
  device.again = std::nullopt;
  EXPECT_EQ(device.of(judgement).detail, "far");
}

TEST(LengthJudgement, KeepsToItsShareOfTheTimeButForFinalistsAndWhatIsKnown) {
  LengthJudgement judgement({}, 0);
  Device device;
  EXPECT_TRUE(device.of(judgement).ok()) << "the first is always asked";
  EXPECT_THAT(device.of(judgement).detail, EndsWith("sums: the search has no more time for it"));
  EXPECT_TRUE(device.of(judgement, off_by_rounding(), true).ok());
  device.known = true;
  EXPECT_TRUE(device.of(judgement).ok());
  EXPECT_EQ(device.asked, 3);
}

TEST(LengthJudgement, IsNotTriedAgainWhereTheOriginalKeepsItFromBeingSaid) {
  LengthJudgement without_floats({}, 1e9), heavy({}, 1e9), users({1e-6, 0}, 1e9);
  Device device;
  device.found = Found::NotRun, device.why = kNoFloats;
  for (int again = 0; again < 2; ++again) EXPECT_EQ(device.of(without_floats).detail, "far");
  EXPECT_EQ(device.asked, 1);
  device.why = std::string(kOfOriginal) + "it takes a week";
  for (int again = 0; again < 2; ++again)
    EXPECT_THAT(device.of(heavy).detail, EndsWith("sums: not asked: the original: it takes a week"));
  EXPECT_EQ(device.asked, 2);
  EXPECT_EQ(device.of(users).detail, "far") << "a user's tolerance is the only one";
  EXPECT_EQ(device.asked, 2);
}

}  // namespace
}  // namespace kernelift::sandbox
