// Tests of how many candidates are in flight at a time.
#include "tuner/places.h"

#include <gtest/gtest.h>

#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {
namespace {

TEST(PlacesFor, AreFewWhereLaunchesTakeSoLongThatFewCandidatesCanBeTried) {
  Verdict original = fake_ok(1);
  original.timings = {{.instance = "a", .baseline_seconds = 0.9}, {.instance = "b", .baseline_seconds = 0.2}};
  EXPECT_EQ(places_for(original, 45, 16), 2u) << "some twenty candidates";
  EXPECT_EQ(places_for(original, 3600, 16), 16u);
  EXPECT_EQ(places_for(original, 90, 16), 5u);
  EXPECT_EQ(places_for(original, 45, 1), 1u);
  EXPECT_EQ(places_for(fake_ok(1), 1, 16), 16u) << "launches of a millisecond";
  EXPECT_EQ(places_for(Verdict(), 1, 16), 16u) << "nothing is known of launches";
}

}  // namespace
}  // namespace kernelift::tuner
