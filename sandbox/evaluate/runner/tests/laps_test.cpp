// What an inquiry's time went to.
#include "sandbox/evaluate/runner/laps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Laps, AreAddedByNameAndTellOnlyWhatTookLong) {
  Laps parts;
  parts.within("sums", 2.5), parts.within("sums", 0.75), parts.within("loading", 0.01);
  EXPECT_EQ(parts.text(), "sums 3.2 s");
}

TEST(Laps, OfAProcessArePartsOfTheWaitForIt) {
  Laps process;
  process.within("timing", 0.2);
  WireWriter writer;
  process.put(writer);
  const std::string sent = writer.take();
  Laps whole;
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  WireReader reader(sent);
  whole.end_with(Laps::taken(reader), "waiting");
  EXPECT_TRUE(reader.ok());
  EXPECT_THAT(whole.text(), MatchesRegex("timing 0.2 s, waiting 0.[1-9] s"));
}

}  // namespace
}  // namespace kernelift::sandbox
