// mep.json and its data files: everything written is read back, and damaged or hostile files are refused.
#include "core/model/mep.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "core/base/file.h"
#include "core/tests/expression_literal.h"
#include "core/tests/json_leaves.h"

namespace kernelift {
namespace {

using ::testing::HasSubstr;

class MepTest : public ::testing::Test {
 protected:
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-mep-test"));

  Mep sample() {
    std::vector<std::byte> bytes(1000, std::byte{7}), other(1000, std::byte{8});
    std::string before = *Mep::store(scratch_.path(), bytes), after = *Mep::store(scratch_.path(), other);
    Mep mep;
    mep.kernel_key = "ns::smooth<float>(float*, int)", mep.kernel_name = "ns::smooth<float>";
    mep.kernel_mangled = "_ZN2ns6smoothIfEEvPT_i", mep.kernel_id = "0badcafe";
    mep.parameters = {{"data", "T *", "float", false, ""}, {"n", "int", "", false, "int"}};
    mep.slice_mode = "slice", mep.proven = true, mep.proof_note = "equal", mep.unit = "src/smooth.cu";
    mep.origin_hashes = {{"a.h", "0123"}};
    mep.origins = {{"", 0}, {"", 0}, {"a.h", 10}, {"a.h", 11}, {"a.h", 13}, {"b.cu", 14}, {"", 0}};
    mep.compile_flags = {"-std=c++17", "-DBLOCK=128"};
    LaunchSite site;
    site.kernels = {"0badcafe"}, site.range = {"b.cu", 5, 50, 3, 4};
    site.grid[0] = "(n + BLOCK - 1) / BLOCK"_e, site.block[0] = "BLOCK"_e, site.argument_text = {"d", "n"};
    mep.launches = {site};
    mep.knobs = {{"BLOCK", 128, {"b.cu", 9, 12, 1, 1}, true, true, true, {"0badcafe"}}};
    MepInstance instance;
    instance.id = "i-0", instance.geometry = {{8, 1, 1}, {128, 1, 1}, 0, false};
    instance.arguments.assign(12, std::byte{3}), instance.parameters = {{0, 8}, {8, 4}};
    instance.microseconds = 3.5, instance.weight = 0.5, instance.held_out = true;
    instance.regions = {{0x7f00, 1000, MemoryKind::Device, before, after, Origin::of_argument(0), 0, "float"}};
    instance.regions[0].pointer_stride = 16, instance.regions[0].pointer_offsets = {8};
    instance.regions[0].rewritten = true, instance.regions[0].part_of = 0x7000;
    instance.variables = {{"_ZL1c", "c", "c", "int", true, 1000, before, before, "c"}};
    instance.settings.known = true, instance.settings.cluster = {4, 1, 1};
    instance.settings.max_dynamic_shared = 100 << 10, instance.settings.other = {"memory synchronisation domain"};
    instance.arguments_typed = true, instance.argument_pointers = {0};
    instance.in_vivo = {"as recorded", "CUPTI activity", 0.02, 40, 11.5, 13, 14.5, "nothing came between"};
    instance.symbols = {{-1, -1, 0, "c", "c", "_ZL1c", 8}, {0, -1, 992, "c", "c", "_ZL1c", 0}};
    mep.functions = {{"app::clamp", "/app/smooth.cu", 4, 9, true}}, mep.linked = {"other.cu"};
    mep.compile_command = {"nvcc", "-O3", "-c", "smooth.cu"}, mep.compile_folder = "/app/build",
    mep.architecture = "sm_75";
    mep.instances = {instance};
    mep.captured_on = "cpu", mep.app_root = "/app", mep.tolerance = {1e-5, 1e-8};
    return mep;
  }
};

/// Version 1 has no checksum.
void as_version_1(Json& document) { document["version"] = 1, document.erase("checksum"); }

TEST_F(MepTest, IsDamagedIfAnyValueWasChanged) {
  ASSERT_TRUE(sample().write(scratch_.path()).ok());
  Json document = std::move(*read_json(scratch_.path() / "mep.json"));
  document["knobs"][0]["value"] = -1;
  ASSERT_TRUE(write_json(scratch_.path() / "mep.json", document).ok());
  auto read = Mep::read(scratch_.path());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, (scratch_.path() / "mep.json").string() +
                                      " is damaged: its checksum does not match; extract the MEP again");
}

TEST_F(MepTest, RefusesValuesThatNoRecordingCanHold) {
  ASSERT_TRUE(sample().write(scratch_.path()).ok());
  Json document = std::move(*read_json(scratch_.path() / "mep.json"));
  as_version_1(document);
  auto read_with = [&](const std::string& place, const Json& value) {
    Json changed = document;
    changed[Json::json_pointer(place)] = value;
    EXPECT_TRUE(write_json(scratch_.path() / "mep.json", changed).ok());
    auto read = Mep::read(scratch_.path());
    return read.ok() ? "read" : read.error().message;
  };
  EXPECT_EQ(read_with("/knobs/0/value", 128), "read");
  EXPECT_THAT(read_with("/knobs/0/value", -1),
              HasSubstr("the launch in line 3 of b.cu would have blocks of -1 threads (BLOCK)"));
  EXPECT_THAT(read_with("/instances/0/geometry/grid/0", 0), HasSubstr("no kernel can have been launched with <<<(0,"));
  EXPECT_THAT(read_with("/instances/0/geometry/block/2", 65), HasSubstr("no kernel can have been launched with"));
  EXPECT_THAT(read_with("/instances/0/geometry/block/0", 1025), HasSubstr("no kernel can have been launched with"));
  EXPECT_THAT(read_with("/instances/0/geometry/block/0", -1), HasSubstr("-1 is not a whole number from 0 to"));
  EXPECT_THAT(read_with("/instances/0/regions/0/size", -1000), HasSubstr("-1000 is not a whole number"));
  EXPECT_THAT(read_with("/instances/0/regions/0/size", 1000.5), HasSubstr("1000.5 is not a whole number"));
  EXPECT_THAT(read_with("/instances/0/regions/0/parameter", -2), HasSubstr("-2"));
  EXPECT_THAT(read_with("/instances/0/id", "a\nPASS"), HasSubstr("it holds control characters"));
  EXPECT_THAT(read_with("/kernel/name", "k\x1b[2J"), HasSubstr("it holds control characters"));
}

TEST_F(MepTest, ReadsFilesOfVersionsWithoutLaunchSettings) {
  ASSERT_TRUE(sample().write(scratch_.path()).ok());
  auto json = read_json(scratch_.path() / "mep.json");
  ASSERT_TRUE(json.ok());
  for (const char* key : {"settings", "in_vivo", "symbols", "argument_pointers"})
    json->at("instances").at(0).erase(key);
  json->at("instances").at(0).at("regions").at(0).erase("pointers");
  for (const char* key : {"compile_command", "compile_folder", "functions", "linked"}) json->at("slice").erase(key);
  as_version_1(*json);
  ASSERT_TRUE(write_json(scratch_.path() / "mep.json", *json).ok());
  auto read = Mep::read(scratch_.path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->instances[0].settings.known);
  EXPECT_TRUE(read->instances[0].symbols.empty());
  EXPECT_FALSE(read->instances[0].arguments_typed);
  EXPECT_TRUE(read->compile_command.empty());
}

TEST_F(MepTest, StoresLargeDataWithHolesForZeros) {
  constexpr size_t kBytes = (9 << 20) + 37;
  std::vector<std::byte> bytes(kBytes);
  for (size_t i = 5 << 20; i < (5 << 20) + 5000; ++i) bytes[i] = std::byte(i % 251 + 1);
  bytes.back() = std::byte{7};
  auto file = Mep::store(scratch_.path(), bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto back = Mep::load(scratch_.path(), *file);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, bytes);
  struct stat facts{};
  ASSERT_EQ(stat((scratch_.path() / "data" / *file).c_str(), &facts), 0);
  EXPECT_LT(facts.st_blocks * 512, 1 << 20) << "zeros take no disk space";
  auto empty = Mep::store(scratch_.path(), {});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(Mep::load(scratch_.path(), *empty)->empty());
}

TEST_F(MepTest, RefusesAnAddressSlotOutsideItsRegionVariableOrArguments) {
  for (auto slot : {MepSymbolSlot{-1, -1, 5, "c", "c", "_ZL1c", 0}, MepSymbolSlot{1, -1, 0, "c", "c", "_ZL1c", 0},
                    MepSymbolSlot{0, -1, ~0ull, "c", "c", "_ZL1c", 0}}) {
    Mep mep = sample();
    mep.instances[0].symbols = {slot};
    ASSERT_TRUE(mep.write(scratch_.path()).ok());
    auto read = Mep::read(scratch_.path());
    ASSERT_FALSE(read.ok()) << slot.offset;
    EXPECT_THAT(read.error().message, HasSubstr("address of c"));
  }
}

TEST_F(MepTest, ReadsBackEveryFieldItWrote) {
  Mep written = sample();
  ASSERT_TRUE(written.write(scratch_.path()).ok());
  auto read = Mep::read(scratch_.path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->kernel_name, written.kernel_name);
  EXPECT_EQ(read->parameters[0].pointee, "float");
  EXPECT_TRUE(read->proven);
  EXPECT_EQ(read->origin_hashes, written.origin_hashes);
  ASSERT_EQ(read->origins.size(), written.origins.size());
  for (size_t i = 0; i < written.origins.size(); ++i) {
    EXPECT_EQ(read->origins[i].file, written.origins[i].file) << i;
    EXPECT_EQ(read->origins[i].line, written.origins[i].line) << i;
  }
  EXPECT_EQ(read->compile_flags, written.compile_flags);
  EXPECT_EQ(read->launches[0].grid[0], "(n + BLOCK - 1) / BLOCK"_e);
  EXPECT_EQ(read->launches[0].range.end, 50u);
  EXPECT_EQ(read->knobs[0].value, 128);
  EXPECT_TRUE(read->knobs[0].in_geometry);
  auto& instance = read->instances.at(0);
  EXPECT_EQ(instance.geometry, written.instances[0].geometry);
  EXPECT_EQ(instance.arguments, written.instances[0].arguments);
  EXPECT_EQ(instance.regions[0].before, written.instances[0].regions[0].before);
  EXPECT_EQ(instance.regions[0].element, "float");
  EXPECT_EQ(instance.variables[0].spelling, "c");
  EXPECT_EQ(instance.regions[0].pointer_stride, 16u);
  EXPECT_EQ(instance.regions[0].allocation(), 0x7000u);
  EXPECT_TRUE(instance.regions[0].rewritten);
  EXPECT_EQ(instance.regions[0].pointer_offsets, written.instances[0].regions[0].pointer_offsets);
  EXPECT_TRUE(instance.settings.known);
  EXPECT_EQ(instance.settings.cluster, written.instances[0].settings.cluster);
  EXPECT_EQ(instance.settings.max_dynamic_shared, 100u << 10);
  EXPECT_EQ(instance.settings.other, written.instances[0].settings.other);
  EXPECT_TRUE(instance.arguments_typed);
  EXPECT_EQ(instance.argument_pointers, std::vector<uint32_t>{0});
  EXPECT_EQ(instance.in_vivo.cache, "as recorded");
  EXPECT_EQ(instance.variables[0].recorded_name, "c");
  EXPECT_EQ(instance.in_vivo.launches, 40u);
  EXPECT_EQ(instance.in_vivo.low, 11.5);
  EXPECT_EQ(instance.in_vivo.high, 13);
  EXPECT_EQ(instance.in_vivo.own, 14.5);
  EXPECT_EQ(instance.in_vivo.why, "nothing came between");
  ASSERT_EQ(instance.symbols.size(), 2u);
  EXPECT_EQ(instance.symbols[0].addend, 8u);
  EXPECT_EQ(instance.symbols[1].region, 0);
  EXPECT_EQ(read->compile_command, written.compile_command);
  ASSERT_EQ(read->functions.size(), 1u);
  EXPECT_EQ(read->functions[0].name, "app::clamp");
  EXPECT_EQ(read->functions[0].end_line, 9u);
  EXPECT_TRUE(read->functions[0].on_host);
  EXPECT_EQ(read->linked_text().find("other.cu and the kernel's own file are compiled as one here"), 0u);
  EXPECT_EQ(read->compile_folder, "/app/build");
  EXPECT_TRUE(instance.held_out);
  EXPECT_EQ(read->tolerance.relative, 1e-5);
}

TEST(Mep, KnowsTheKernelsPlaceInTheApplication) {
  Mep mep;
  mep.kernel_key = "ns::smooth<float>(float*, int)", mep.unit = "/app/src/main.cu", mep.app_root = "/app";
  mep.origins = {{"", 0}, {"/app/src/a.h", 10}, {"/app/src/a.h", 11}, {"/app/src/a.h", 12}};
  EXPECT_EQ(mep.place("#define N 1\nvoid smooth(int);\n__global__ void\nsmooth(float* data, int n) {}\n"),
            "src/a.h:12");
  EXPECT_EQ(mep.place("__device__ void other() {}\n"), "src/main.cu") << "the text does not tell";
}

TEST_F(MepTest, ChecksADataFileAgainstItsName) {
  Mep mep = sample();
  std::string file = mep.instances[0].regions[0].before;
  auto loaded = Mep::load(scratch_.path(), file);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->size(), 1000u);
  ASSERT_TRUE(write_atomically(scratch_.path() / "data" / file, std::string(999, 7)).ok());
  loaded = Mep::load(scratch_.path(), file);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, HasSubstr(file));
}

TEST_F(MepTest, RefusesASizeThatIsNotItsDataFiles) {
  for (bool of_variable : {false, true}) {
    Mep mep = sample();
    (of_variable ? mep.instances[0].variables[0].size : mep.instances[0].regions[0].size) = 999;
    mep.instances[0].symbols.clear();
    ASSERT_TRUE(mep.write(scratch_.path()).ok());
    auto read = Mep::read(scratch_.path());
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message,
                HasSubstr(of_variable ? "variable c of instance i-0 is 999 bytes long, its data file "
                                      : "memory reached from arg 0 of instance i-0 is 999 bytes long, its data file "));
    EXPECT_THAT(read.error().message, HasSubstr(" is 1000; extract the MEP again"));
  }
}

TEST_F(MepTest, SaysWhatToDoIfAFileOfItIsTornOrMissing) {
  Mep mep = sample();
  ASSERT_TRUE(mep.write(scratch_.path()).ok());
  std::string data = mep.instances[0].regions[0].before;
  std::filesystem::remove(scratch_.path() / "data" / data);
  auto gone = Mep::load(scratch_.path(), data);
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, HasSubstr("No such file or directory; extract the MEP again"));
  std::filesystem::resize_file(scratch_.path() / "mep.json", 500);
  auto torn = Mep::read(scratch_.path());
  ASSERT_FALSE(torn.ok());
  EXPECT_THAT(torn.error().message, HasSubstr("; extract the MEP again"));
}

TEST_F(MepTest, RefusesDataNamesThatLeaveItsFolder) {
  Mep mep = sample();
  mep.instances[0].regions[0].before = "../../etc/passwd";
  ASSERT_TRUE(mep.write(scratch_.path()).ok());
  auto read = Mep::read(scratch_.path());
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("not the name of a data file"));
  EXPECT_FALSE(Mep::load(scratch_.path(), "../mep.json").ok());
}

TEST_F(MepTest, RefusesAFolderThatIsNoMepOrANewerOne) {
  auto read = Mep::read(scratch_.path());
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("kernelift extract"));
  ASSERT_TRUE(
      write_json(scratch_.path() / "mep.json", artefact("kernelift-mep", kMepVersion + 1, kMepVersion + 1)).ok());
  read = Mep::read(scratch_.path());
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("newer Kernelift"));
}

TEST_F(MepTest, IsConsistentOrRefusedWhateverOneOfItsFieldsHolds) {
  ASSERT_TRUE(sample().write(scratch_.path()).ok());
  Json sound = std::move(*read_json(scratch_.path() / "mep.json"));
  as_version_1(sound);  // Otherwise its checksum would refuse every change.
  int refused = 0;
  for_each_leaf(sound, [&](const Json& changed, const std::string& where) {
    std::ofstream(scratch_.path() / "mep.json", std::ios::trunc) << compact(changed);
    auto mep = Mep::read(scratch_.path());
    if (!mep.ok()) {
      EXPECT_THAT(mep.error().message, HasSubstr("mep.json")) << where;
      ++refused;
      return;
    }
    for (auto& instance : mep->instances) {
      uint64_t arguments = instance.arguments.size();
      for (auto& parameter : instance.parameters)
        EXPECT_LE(uint64_t(parameter.offset) + parameter.size, arguments) << where;
      for (uint64_t offset : instance.argument_pointers) EXPECT_LE(offset + 8, arguments) << where;
      for (auto& region : instance.regions) {
        EXPECT_EQ(region.size, 1000u) << where;
        EXPECT_LE(region.address, region.address + region.size) << where;
        for (uint64_t offset : region.pointer_offsets) EXPECT_LE(offset + 8, region.pointer_stride) << where;
      }
      for (auto& slot : instance.symbols) {
        uint64_t size = slot.region >= 0     ? instance.regions.at(size_t(slot.region)).size
                        : slot.variable >= 0 ? instance.variables.at(size_t(slot.variable)).size
                                             : arguments;
        EXPECT_LE(slot.offset, size - 8) << where;
      }
    }
  });
  EXPECT_GT(refused, 100);
}

TEST_F(MepTest, SurvivesMutatedText) {
  ASSERT_TRUE(sample().write(scratch_.path()).ok());
  Json sound = std::move(*read_json(scratch_.path() / "mep.json"));
  as_version_1(sound);
  const std::string text = sound.dump(1);
  std::mt19937_64 generator(5);
  for (int round = 0; round < 1000; ++round) {
    auto mutated = text;
    if (round % 4 == 0) mutated.resize(generator() % text.size());
    else
      for (int flips = 1 + round % 3; flips > 0; --flips)
        mutated[generator() % mutated.size()] ^= char(1 << generator() % 7);
    std::ofstream(scratch_.path() / "mep.json", std::ios::binary | std::ios::trunc)
        << mutated;  // No fsync: there are a thousand of them.
    auto read = Mep::read(scratch_.path());
    if (!read.ok()) EXPECT_THAT(read.error().message, HasSubstr("mep.json"));
  }
}

/// Arguments of these words after `shift` bytes, and a region of 4096 bytes at 0x7f2a00000000.
MepInstance instance_of(std::vector<uint64_t> words, size_t shift = 0) {
  MepInstance instance;
  instance.regions.push_back({0x7f2a00000000, 4096, MemoryKind::Device, "", "", Origin::of_argument(0), 0, "float"});
  instance.arguments.resize(shift);
  auto bytes = std::as_bytes(std::span(words));
  instance.arguments.insert(instance.arguments.end(), bytes.begin(), bytes.end());
  return instance;
}

TEST(MepInstance, FindsTheArgumentBytesThatAreAddressesWhereverTheyLie) {
  for (size_t shift : {0, 1, 4, 8}) {
    auto slots = instance_of({0x7f2a00000010, 7}, shift).argument_slots();
    ASSERT_EQ(slots.size(), 1u) << shift;
    EXPECT_EQ(slots[0].offset, shift);
    EXPECT_EQ(slots[0].region, 0u);
  }
  EXPECT_EQ(instance_of({0x7f2a00001000}).argument_slots().size(), 1u) << "the end of a region belongs to it";
  EXPECT_TRUE(instance_of({0x7f2a00001001, 0x7f29ffffffff}).argument_slots().empty());
}

TEST(MepInstance, LeavesNumbersThatLookLikeAddressesAloneWhereTypesAreKnown) {
  MepInstance instance = instance_of({0x7f2a00000010, 0x7f2a00000020});
  EXPECT_EQ(instance.argument_slots().size(), 2u);
  instance.arguments_typed = true, instance.argument_pointers = {8};
  auto slots = instance.argument_slots();
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[0].offset, 8u);
}

TEST(MepInstance, AssignsAnAddressBetweenTwoAdjacentRegionsToTheSecond) {
  MepInstance instance = instance_of({0x7f2a00001000});
  instance.regions.push_back({0x7f2a00001000, 4096, MemoryKind::Device, "", "", Origin::of_argument(1), 1, "float"});
  auto slots = instance.argument_slots();
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[0].region, 1u);
}

}  // namespace
}  // namespace kernelift
