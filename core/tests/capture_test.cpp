// The capture archive: finished instances survive a kill, damage is detected, named and contained, equal bytes are
// stored once.
#include "core/model/capture.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "core/base/chunk_store.h"
#include "core/base/file.h"
#include "core/tests/json_leaves.h"

namespace kernelift {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::vector<std::byte> random_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::byte> bytes((size + 7) / 8 * 8);
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = generator();
    std::memcpy(bytes.data() + at, &word, 8);
  }
  bytes.resize(size);
  return bytes;
}

/// Writes damaged content in place, without fsync, which would slow a fuzz loop down.
void overwrite(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

class CaptureTest : public ::testing::Test {
 protected:
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-capture-test"));
  std::filesystem::path folder_ = scratch_.path() / "capture";

  static CapturedInstance sample(CaptureWriter& writer, const std::string& id, std::span<const std::byte> before,
                                 std::span<const std::byte> after) {
    CapturedInstance instance;
    instance.id = id;
    instance.kernel = "ns::k(float*, int)";
    instance.mangled = "_ZN2ns1kEPfi";
    instance.launch_index = 7;
    instance.geometry = {{4, 5, 6}, {32, 2, 1}, 128, true};
    instance.arguments = random_bytes(12, 3);
    instance.parameters = {{0, 8}, {8, 4}};
    instance.microseconds = 12.5;
    CapturedRegion region;
    region.address = 0x7f1234567000;
    region.kind = MemoryKind::Managed;
    region.before = *writer.store(before);
    region.after = *writer.store(after);
    region.reached_from = Origin::of_argument(0);
    instance.regions.push_back(region);
    CapturedVariable variable;
    variable.name = "_ZL2cc", variable.key = "cc", variable.constant = true, variable.address = 0x55550000;
    variable.before = variable.after = *writer.store(before.first(std::min<size_t>(before.size(), 100)));
    instance.variables.push_back(variable);
    instance.unreached = {{0x7f0000000000, 4096}, {0x7f2000000000, 64 << 20}};
    instance.source_stem = "k", instance.unit = "/app/k.cu";
    instance.settings.known = true, instance.settings.entry = "cuGraphLaunch", instance.settings.cluster = {2, 1, 1};
    instance.settings.other = {"memory synchronisation domain"};
    instance.code = instance.variables[0].before;
    return instance;
  }

  /// Two instances; `second` shares nothing with the first.
  void write_two() {
    auto writer = std::move(*CaptureWriter::create(folder_));
    first_ = random_bytes(3 * kChunkBytes + 17, 1), second_ = random_bytes(kChunkBytes + 5, 2);
    ASSERT_TRUE(writer->finish_instance(sample(*writer, "a-0", first_, first_)).ok());
    ASSERT_TRUE(writer->finish_instance(sample(*writer, "a-1", second_, second_)).ok());
    CaptureInfo info;
    info.device = "cpu";
    info.complete = true;
    info.shares["a-1"] = {0.25, 99.5, true, {40, 90, 110, 120}};
    info.profile.push_back({"k", "_Z1k", 10, 100, 5, 9, 40, {{{{1, 1, 1}, {64, 1, 1}, 0, false}, 10, 100}}});
    info.omissions.push_back({"a graph's node", "it cannot be switched off"});
    info.superseded = {"a-9"};
    ASSERT_TRUE(writer->finish(info).ok());
  }
  std::vector<std::byte> first_, second_;
};

TEST_F(CaptureTest, ReadsBackEveryFieldItWrote) {
  auto writer = std::move(*CaptureWriter::create(folder_));
  auto before = random_bytes(2 * kChunkBytes + 100, 1);
  auto after = before;
  after[kChunkBytes + 3] ^= std::byte{1};
  auto written = sample(*writer, "a-0", before, after);
  ASSERT_TRUE(writer->finish_instance(written).ok());
  CaptureInfo info;
  info.device = "cpu";
  info.command = {"./app", "\xff not UTF-8"};
  info.folder = "/somewhere";
  info.run_seconds = 1.25, info.span_seconds = 0.75;
  info.complete = true;
  info.profile.push_back({"k", "_Z1k", 10, 100, 5, 9, 40, {{{{1, 1, 1}, {64, 1, 1}, 0, false}, 10, 100}}});
  info.omissions.push_back({"a texture", "not supported"});
  info.shares["a-0"] = {0.75, 33, true, {40, 31, 36, 50}};
  ASSERT_TRUE(writer->finish(info).ok());

  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  ASSERT_EQ(capture->instances().size(), 1u);
  auto& read = capture->instances()[0];
  EXPECT_EQ(read.id, "a-0");
  EXPECT_EQ(read.kernel, written.kernel);
  EXPECT_EQ(read.mangled, written.mangled);
  EXPECT_EQ(read.launch_index, 7u);
  EXPECT_EQ(read.geometry, written.geometry);
  EXPECT_EQ(read.arguments, written.arguments);
  ASSERT_EQ(read.parameters.size(), 2u);
  EXPECT_EQ(read.parameters[1].offset, 8u);
  EXPECT_EQ(read.weight, 0.75);
  EXPECT_EQ(read.microseconds, 33);
  EXPECT_EQ(read.like.count, 40u);
  EXPECT_EQ(read.like.low, 31);
  EXPECT_EQ(read.like.high, 36);
  EXPECT_EQ(read.like.own, 50);
  EXPECT_TRUE(read.held_out);
  EXPECT_EQ(read.regions[0].address, 0x7f1234567000u);
  EXPECT_EQ(read.regions[0].kind, MemoryKind::Managed);
  EXPECT_EQ(read.variables[0].name, "_ZL2cc");
  EXPECT_TRUE(read.variables[0].constant);
  EXPECT_EQ(read.unreached, written.unreached);
  EXPECT_EQ(*capture->load(read.regions[0].before), before);
  EXPECT_EQ(*capture->load(read.regions[0].after), after);
  EXPECT_EQ(capture->info().profile[0].shapes[0].count, 10u);
  EXPECT_EQ(capture->info().omissions[0].what, "a texture");
  EXPECT_TRUE(capture->info().complete);
  EXPECT_TRUE(capture->damage().empty());
}

TEST(UnreachedText, NamesSizesAddressesAndTheOptionThatRecordsThem) {
  EXPECT_EQ(unreached_text({}), "");
  auto text = unreached_text({{0x7f0000000000, 4096}, {0x7f2000000000, 64 << 20}});
  EXPECT_THAT(text, HasSubstr("2 allocations (64 MiB) alive at the launch are not in the capture"));
  EXPECT_THAT(
      text,
      HasSubstr(": 0x7f2000000000+64 MiB, 0x7f0000000000+4 KiB; to take them too: kernelift record --all-memory"));
  EXPECT_THAT(unreached_text(std::vector<MemoryRange>(9, {0x1000, 10})), HasSubstr(", ...;"));
}

TEST_F(CaptureTest, StoresAnUnchangedInputOnceForTwoInstances) {
  auto bytes = random_bytes(24 << 20, 1);
  auto writer = std::move(*CaptureWriter::create(folder_));
  ASSERT_TRUE(writer->finish_instance(sample(*writer, "a-0", bytes, bytes)).ok());
  uint64_t one = writer->stored_bytes();
  ASSERT_TRUE(writer->finish_instance(sample(*writer, "a-1", bytes, bytes)).ok());
  EXPECT_GE(one, bytes.size());
  EXPECT_LE(writer->stored_bytes(), one * 1.1);
}

TEST_F(CaptureTest, KeepsZerosAndSmallChangesSmall) {
  auto writer = std::move(*CaptureWriter::create(folder_));
  std::vector<std::byte> zeros(64 << 20);
  ASSERT_TRUE(writer->store(zeros).ok());
  EXPECT_LT(writer->stored_bytes(), 4096u);
  auto before = random_bytes(16 << 20, 1);
  ASSERT_TRUE(writer->store(before).ok());
  uint64_t stored = writer->stored_bytes();
  before[5 << 20] ^= std::byte{1};
  ASSERT_TRUE(writer->store(before).ok());
  EXPECT_LE(writer->stored_bytes() - stored, kChunkBytes + 64) << "one changed byte costs one chunk";
}

TEST_F(CaptureTest, KeepsFinishedInstancesOfAKilledProcess) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  pid_t child = fork();
  if (child == 0) {
    auto writer = std::move(*CaptureWriter::create(folder_));
    for (int i = 0;; ++i) {
      auto bytes = random_bytes(kChunkBytes * 2, 100 + i);
      if (!writer->finish_instance(sample(*writer, "k-" + std::to_string(i), bytes, bytes)).ok()) _exit(1);
      if (write(channel[1], "x", 1) != 1) _exit(1);
    }
  }
  close(channel[1]);
  char mark[3];
  for (char& c : mark) ASSERT_EQ(read(channel[0], &c, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(channel[0]);

  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_FALSE(capture->info().complete);
  ASSERT_GE(capture->instances().size(), 3u);
  for (size_t i = 0; i < capture->instances().size(); ++i) {
    auto bytes = capture->load(capture->instances()[i].regions[0].before);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_EQ(*bytes, random_bytes(kChunkBytes * 2, 100 + i));
  }
}

TEST_F(CaptureTest, RefusesToMixTwoCapturesInOneFolder) {
  write_two();
  auto second = CaptureWriter::create(folder_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("exists"));
}

TEST_F(CaptureTest, NamesFileAndOffsetOfADamagedChunkAndReadsTheOthers) {
  write_two();
  auto file = folder_ / "blobs.klb";
  auto bytes = std::move(*read_bytes(file));
  bytes[2 * kChunkBytes] ^= std::byte{4};  // Inside the first instance's second or third chunk.
  ASSERT_TRUE(write_atomically(file, bytes).ok());
  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  auto first = capture->load(capture->instances()[0].regions[0].before);
  ASSERT_FALSE(first.ok());
  EXPECT_THAT(first.error().message, HasSubstr("blobs.klb: chunk at offset "));
  EXPECT_EQ(*capture->load(capture->instances()[1].regions[0].before), second_);
}

TEST_F(CaptureTest, FindsTheChunksAfterADamagedRecordHead) {
  write_two();
  auto file = folder_ / "blobs.klb";
  auto bytes = std::move(*read_bytes(file));
  bytes[16 + 12] ^= std::byte{4};  // The first record's head.
  ASSERT_TRUE(write_atomically(file, bytes).ok());
  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  ASSERT_FALSE(capture->damage().empty());
  EXPECT_THAT(capture->damage()[0], HasSubstr("damaged record at offset 16"));
  EXPECT_FALSE(capture->load(capture->instances()[0].regions[0].before).ok());
  EXPECT_EQ(*capture->load(capture->instances()[1].regions[0].before), second_);
}

TEST_F(CaptureTest, LeavesOutAnInstanceWhoseLineIsDamaged) {
  write_two();
  auto file = folder_ / "instances.jsonl";
  auto text = std::move(*read_text(file));
  text[text.find("a-0")] ^= 1;
  ASSERT_TRUE(write_atomically(file, text).ok());
  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  ASSERT_EQ(capture->instances().size(), 1u);
  EXPECT_EQ(capture->instances()[0].id, "a-1");
  ASSERT_EQ(capture->damage().size(), 1u);
  EXPECT_THAT(capture->damage()[0], HasSubstr("instances.jsonl at offset "));
}

TEST_F(CaptureTest, StoresOnlyTheDifferenceOfImagesThatChangedALittleInEveryPage) {
  auto writer = std::move(*CaptureWriter::create(folder_));
  auto bytes = random_bytes(kChunkBytes + 100, 5);
  Image last = *writer->store(bytes);
  uint64_t first_size = writer->stored_bytes();
  std::vector<std::vector<std::byte>> contents = {bytes};
  std::vector<Image> images = {last};
  for (int round = 1; round <= 20; ++round) {  // Longer than the longest chain of differences.
    for (size_t at = size_t(round); at < bytes.size(); at += 4096) bytes[at] ^= std::byte(round);
    images.push_back(*writer->store(bytes, &images.back()));
    contents.push_back(bytes);
  }
  auto other = random_bytes(kChunkBytes + 100, 6);  // Differs in every byte: stored whole.
  images.push_back(*writer->store(other, &images.back()));
  contents.push_back(other);
  EXPECT_LT(writer->stored_bytes(), 4 * first_size) << "21 similar images and a different one";
  CapturedInstance instance;
  instance.id = "x";
  for (auto& image : images)
    instance.regions.push_back({4096, MemoryKind::Device, image, image, Origin::of_argument(0)});
  ASSERT_TRUE(writer->finish_instance(instance).ok());
  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  for (size_t i = 0; i < images.size(); ++i) {
    auto read = capture->load(images[i]);
    ASSERT_TRUE(read.ok()) << i << ": " << read.error().message;
    EXPECT_EQ(*read, contents[i]) << i;
  }
}

TEST_F(CaptureTest, SurvivesDamageToDifferencesAndToTheirBases) {
  auto writer = std::move(*CaptureWriter::create(folder_));
  std::vector<std::byte> bytes(5000, std::byte{7});
  for (size_t i = 0; i < bytes.size(); i += 3) bytes[i] = std::byte(i);
  Image before = *writer->store(bytes);
  for (int round = 0; round < 3; ++round) {
    bytes[size_t(round) * 100] ^= std::byte{1};
    Image after = *writer->store(bytes, &before);
    CapturedInstance instance;
    instance.id = "x" + std::to_string(round),
    instance.regions = {{4096, MemoryKind::Device, before, after, Origin::of_argument(0)}};
    ASSERT_TRUE(writer->finish_instance(instance).ok());
    before = after;
  }
  writer.reset();
  auto sound = std::move(*read_bytes(folder_ / "blobs.klb"));
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    auto damaged = sound;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    else damaged[random() % damaged.size()] ^= std::byte(1 << random() % 8);
    overwrite(folder_ / "blobs.klb", damaged);
    auto capture = Capture::open(folder_);
    if (!capture.ok()) continue;
    for (auto& instance : capture->instances())
      for (auto* image : {&instance.regions[0].before, &instance.regions[0].after}) {
        auto read = capture->load(*image);
        if (!read.ok()) EXPECT_FALSE(read.error().message.empty());
      }
  }
}

TEST_F(CaptureTest, RefusesANewerVersionOfEachFile) {
  write_two();
  auto blobs = std::move(*read_bytes(folder_ / "blobs.klb"));
  auto future = blobs;
  future[12] = std::byte{99};  // oldest_reader
  ASSERT_TRUE(write_atomically(folder_ / "blobs.klb", future).ok());
  auto capture = Capture::open(folder_);
  ASSERT_FALSE(capture.ok());
  EXPECT_THAT(capture.error().message, HasSubstr("newer Kernelift"));
  ASSERT_TRUE(write_atomically(folder_ / "blobs.klb", blobs).ok());
  for (auto name : {"instances.jsonl", "manifest.json"}) {
    auto text = std::move(*read_text(folder_ / name)), newer = text;
    for (size_t at; (at = newer.find("\"oldest_reader\": 1")) != std::string::npos;) newer.replace(at + 17, 1, "9");
    for (size_t at; (at = newer.find("\"oldest_reader\":1")) != std::string::npos;) newer.replace(at + 16, 1, "9");
    ASSERT_TRUE(write_atomically(folder_ / name, newer).ok());
    capture = Capture::open(folder_);
    ASSERT_FALSE(capture.ok()) << name;
    EXPECT_THAT(capture.error().message, HasSubstr("newer Kernelift"));
    ASSERT_TRUE(write_atomically(folder_ / name, text).ok());
  }
}

TEST_F(CaptureTest, ChecksEveryFieldOfALineThoughItsChecksumIsRight) {
  write_two();
  auto file = folder_ / "instances.jsonl";
  std::string text = std::move(*read_text(file)), head = text.substr(0, text.find('\n') + 1);
  size_t at = text.find("\"instance\":") + 11, end = text.find('\n', at);
  const Json sound = Json::parse(text.substr(at, end - 1 - at));
  auto write = [&](const Json& instance) {
    std::string body = compact(instance);
    std::string line = head + "{\"hash\":\"" + hash_text(body).hex() + "\",\"instance\":" + body + "}\n";
    overwrite(file, std::as_bytes(std::span(line.data(), line.size())));
    return Capture::open(folder_);
  };
  ASSERT_EQ(write(sound)->instances().size(), 1u);
  int refused = 0;
  for_each_leaf(sound, [&](const Json& changed, const std::string& where) {
    auto capture = write(changed);
    ASSERT_TRUE(capture.ok()) << where;
    if (capture->instances().empty()) {
      ASSERT_EQ(capture->damage().size(), 1u) << where;
      EXPECT_THAT(capture->damage()[0], HasSubstr("instances.jsonl at offset ")) << where;
      ++refused;
      return;
    }
    auto& instance = capture->instances()[0];
    for (auto& parameter : instance.parameters)
      EXPECT_LE(uint64_t(parameter.offset) + parameter.size, instance.arguments.size()) << where;
    for (auto& region : instance.regions) {
      EXPECT_EQ(region.before.size, region.after.size) << where;
      EXPECT_LE(region.address, region.address + region.before.size) << where;
      auto loaded = capture->load(region.before);
      if (loaded.ok()) EXPECT_EQ(loaded->size(), region.before.size) << where;
    }
  });
  EXPECT_GT(refused, 100);
}

TEST_F(CaptureTest, KeepsAllInstancesWhateverAFieldOfTheManifestHolds) {
  write_two();
  const Json sound = *read_json(folder_ / "manifest.json");
  int damaged = 0;
  for_each_leaf(sound.at("capture"), [&](const Json& changed, const std::string& where) {
    Json manifest = sound;
    manifest["capture"] = changed;
    manifest["hash"] = hash_text(compact(changed)).hex();
    std::string whole = compact(manifest);
    overwrite(folder_ / "manifest.json", std::as_bytes(std::span(whole.data(), whole.size())));
    auto capture = Capture::open(folder_);
    ASSERT_TRUE(capture.ok()) << where << ": " << capture.error().message;
    EXPECT_EQ(capture->instances().size(), 2u) << where;
    if (capture->damage().empty()) return;
    EXPECT_THAT(capture->damage()[0], HasSubstr("manifest.json")) << where;
    ++damaged;
  });
  EXPECT_GT(damaged, 50);
}

TEST_F(CaptureTest, ReportsAFolderThatHoldsNoCapture) {
  auto capture = Capture::open(scratch_.path() / "nothing");
  ASSERT_FALSE(capture.ok());
  EXPECT_THAT(capture.error().message, HasSubstr("kernelift record"));
}

TEST_F(CaptureTest, ReportsAFullDiskAndKeepsFinishedInstances) {
  pid_t child = fork();
  if (child == 0) {
    // A file-size limit instead of a full disk: both fail in the middle of a write.
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{5 << 20, 5 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = std::move(*CaptureWriter::create(folder_));
    auto small = random_bytes(kChunkBytes, 1), large = random_bytes(16 << 20, 2);
    if (!writer->finish_instance(sample(*writer, "a-0", small, small)).ok()) _exit(1);
    auto stored = writer->store(large);
    if (stored.ok() || stored.error().message.find("free some space") == std::string::npos) _exit(2);
    _exit(writer->finish({}).ok() ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto capture = Capture::open(folder_);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_TRUE(capture->damage().empty());
  EXPECT_EQ(*capture->load(capture->instances().at(0).regions[0].before), random_bytes(kChunkBytes, 1));
}

TEST_F(CaptureTest, NeverReturnsWrongBytesForADamagedCapture) {
  auto writer = std::move(*CaptureWriter::create(folder_));
  auto bytes = random_bytes(5000, 1);
  std::vector<std::byte> zeros(9000);
  ASSERT_TRUE(writer->finish_instance(sample(*writer, "a-0", bytes, zeros)).ok());
  auto instance = sample(*writer, "a-1", bytes, bytes);
  ASSERT_TRUE(writer->finish_instance(instance).ok());
  ASSERT_TRUE(writer->finish({}).ok());
  std::mt19937_64 generator(11);
  for (auto name : {"blobs.klb", "instances.jsonl", "manifest.json"}) {
    auto original = std::move(*read_bytes(folder_ / name));
    for (int round = 0; round < 300; ++round) {
      auto mutated = original;
      if (round % 3 == 0) mutated.resize(generator() % mutated.size());
      else
        for (int flips = 1 + round % 4; flips > 0; --flips)
          mutated[generator() % mutated.size()] ^= std::byte(1u << generator() % 8);
      overwrite(folder_ / name, mutated);
      auto capture = Capture::open(folder_);
      if (!capture.ok()) {
        EXPECT_THAT(capture.error().message, AnyOf(HasSubstr(name), HasSubstr("capture")));
        continue;
      }
      for (auto& read : capture->instances()) {
        if (read.id != "a-1") continue;
        EXPECT_EQ(read.regions[0].address, instance.regions[0].address);
        auto loaded = capture->load(read.regions[0].before);
        if (loaded.ok()) EXPECT_EQ(*loaded, bytes);
        else EXPECT_THAT(loaded.error().message, HasSubstr("blobs.klb"));
        // The same on all cores, into memory of the size that it should have.
        std::vector<std::byte> into(bytes.size());
        Status filled = capture->load(read.regions[0].before, into);
        EXPECT_EQ(filled.ok(), loaded.ok() && loaded->size() == bytes.size());
        if (filled.ok()) EXPECT_EQ(into, bytes);
      }
    }
    overwrite(folder_ / name, original);
  }
}

TEST(Capture, IsSoundThoughMemoryIsWrittenWhileItIsStored) {
  auto scratch = std::move(*TemporaryFolder::create("kernelift-capture-test"));
  auto writer = std::move(*CaptureWriter::create(scratch.path() / "capture"));
  std::vector<std::atomic<uint64_t>> memory(kChunkBytes / 2);  // Four chunks.
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (uint64_t i = 0; !over; ++i) memory[i * 4099 % memory.size()].store(i, std::memory_order_relaxed);
  });
  std::vector<Image> images;
  for (int i = 0; i < 8; ++i) images.push_back(*writer->store(std::as_bytes(std::span(memory))));
  over = true;
  other.join();
  auto capture = Capture::open(scratch.path() / "capture");
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  for (auto& image : images) {
    auto bytes = capture->load(image);
    EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  }
}

}  // namespace
}  // namespace kernelift
