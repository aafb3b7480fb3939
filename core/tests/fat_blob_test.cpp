// The blob that holds device code inside a program, sound and damaged.
#include "core/toolchain/fat_blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace kernelift {
namespace {

using testing::HasSubstr;

std::vector<char> sample() {
  static const char bitcode[] = "BC\xc0\xde-not-really", image[] =
                                                             "\x7f"
                                                             "ELF";
  return write_fat_blob({{FatEntry::Kind::Bitcode, "/app/k.cu", "-std=c++17\n-DX\n", {bitcode, sizeof bitcode}},
                         {FatEntry::Kind::CpuImage, "/app/k.cu", "", {image, sizeof image}}});
}

TEST(FatBlob, IsReadBackAsItWasWritten) {
  std::vector<char> blob = sample();
  auto entries = read_fat_blob(blob);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].kind, FatEntry::Kind::Bitcode);
  EXPECT_EQ((*entries)[0].name, "/app/k.cu");
  EXPECT_EQ((*entries)[0].flags, "-std=c++17\n-DX\n");
  EXPECT_EQ(std::string_view((*entries)[1].bytes.data(), 4),
            "\x7f"
            "ELF");
}

TEST(FatBlob, KnowsItsLengthFromItsHead) {
  std::vector<char> blob = sample();
  EXPECT_EQ(fat_blob_size(blob.data()), blob.size());
  std::vector<char> padded = blob;
  padded.resize(padded.size() + 100);  // A linker may put anything after it.
  EXPECT_TRUE(read_fat_blob(padded).ok());
  char other[64] = "something else";
  EXPECT_EQ(fat_blob_size(other), 0u);
}

TEST(FatBlob, HoldsNothingForASourceWithoutDeviceCode) {
  auto entries = read_fat_blob(write_fat_blob({}));
  ASSERT_TRUE(entries.ok());
  EXPECT_TRUE(entries->empty());
}

TEST(FatBlob, NamesTheNumberOfANewerVersion) {
  std::vector<char> blob = sample();
  uint32_t future = 77;
  std::memcpy(blob.data() + 16, &future, sizeof future);
  auto entries = read_fat_blob(blob);
  ASSERT_FALSE(entries.ok());
  EXPECT_THAT(entries.error().message, HasSubstr("77"));
}

TEST(FatBlob, IsReadNoFurtherThanItsHeadIfTheHeadIsDamaged) {
  const std::vector<char> blob = sample();
  for (size_t bit = 64; bit < kFatBlobHeadBytes * 8; ++bit) {  // After the magic, without which it is no blob at all.
    std::vector<char> damaged = blob;
    damaged[bit / 8] ^= char(1u << bit % 8);
    uint64_t size = fat_blob_size(damaged.data());
    ASSERT_EQ(size, kFatBlobHeadBytes) << "bit " << bit;
    auto entries = read_fat_blob({damaged.data(), size});
    ASSERT_FALSE(entries.ok());
    EXPECT_THAT(entries.error().message, HasSubstr("rebuild the program with")) << "bit " << bit;
  }
}

TEST(FatBlob, RefusesEveryTruncationAndEveryFlippedBit) {
  const std::vector<char> blob = sample();
  for (size_t length = 0; length < blob.size(); ++length) {
    auto entries = read_fat_blob({blob.data(), length});
    ASSERT_FALSE(entries.ok()) << length;
    ASSERT_FALSE(entries.error().message.empty());
  }
  for (size_t bit = 0; bit < blob.size() * 8; ++bit) {
    std::vector<char> damaged = blob;
    damaged[bit / 8] ^= char(1u << bit % 8);
    ASSERT_FALSE(read_fat_blob(damaged).ok()) << "bit " << bit;
  }
}

}  // namespace
}  // namespace kernelift
