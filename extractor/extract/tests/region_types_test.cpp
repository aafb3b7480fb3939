// Claims about extractor/extract/region_types.h: launches made up here, memory as words.
#include "extractor/extract/region_types.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace kernelift::extractor {
namespace {

/// One launch; images are told apart by their chunk.
struct Launch {
  ScannedKernel kernel;
  CapturedInstance instance;
  std::map<Hash, std::vector<uint64_t>> images;

  Launch& parameter(ScannedParameter parameter, const std::vector<uint64_t>& words) {
    uint32_t offset = uint32_t(instance.arguments.size());
    instance.parameters.push_back({offset, uint32_t(8 * words.size())});
    instance.arguments.resize(offset + 8 * words.size());
    std::memcpy(&instance.arguments[offset], words.data(), 8 * words.size());
    kernel.parameters.push_back(std::move(parameter));
    return *this;
  }
  Launch& pointer(const std::string& pointee, uint64_t to) {
    return parameter({"p", pointee + " *", pointee, false, ""}, {to});
  }
  Launch& record(const std::string& name, const std::vector<uint64_t>& words) {
    return parameter({"v", name, "", false, "", name}, words);
  }
  Image image(const std::string& of, const std::vector<uint64_t>& words) {
    images[hash_text(of)] = words;
    return {8 * words.size(), {hash_text(of)}};
  }
  Launch& region(uint64_t address, const std::vector<uint64_t>& words,
                 const std::string& from = "alive at the launch") {
    Image all = image(std::to_string(address), words);
    instance.regions.push_back({address, MemoryKind::Device, all, all, Origin::parse(from)});
    return *this;
  }
  Launch& variable(const std::string& key, const std::vector<uint64_t>& words) {
    Image all = image(key, words);
    instance.variables.push_back({key, key, true, 0x9000000, all, all});
    return *this;
  }
  /// "float@0+16 " for each array; all of one region in a line.
  std::string types() {
    auto arrays = region_arrays(instance, kernel, [&](const Image& image) -> Result<std::span<const std::byte>> {
      return std::as_bytes(std::span<const uint64_t>(images.at(image.chunks.at(0))));
    });
    if (!arrays.ok()) return arrays.error().message;
    std::string text;
    for (auto& region : *arrays) {
      for (auto& array : region)
        text +=
            element_of(array.type, kernel) + "@" + std::to_string(array.begin) + "+" +
            std::to_string(array.end - array.begin) +
            (array.parameter >= 0 ? " of arg " + std::to_string(array.parameter) + " +" + std::to_string(array.member)
                                  : "") +
            (array.doubt.empty() ? "" : " doubtful") + (&array == &region.back() ? "\n" : ", ");
    }
    return text;
  }
};

const ScannedRecord kParams = {
    "Params", 32, "byte", {{0, "float"}, {8, "struct float4"}, {16, "int"}, {24, "struct Cell"}}};
const ScannedRecord kCell = {"Cell", 16, "{float@0,int@8}16", {}};

TEST(RegionTypes, AreThoseOfTheMembersOfWhatIsPassedByValue) {
  Launch launch;
  launch.kernel.records = {kParams, kCell};
  launch.record("Params", {0x1000, 0x2000, 0x3000, 0x4008});
  launch.region(0x4000, {1, 2, 3})
      .region(0x1000, {1, 2})
      .region(0x2000, {1, 2})
      .region(0x3000, {1, 2})
      .region(0x5000, {1, 2});
  EXPECT_EQ(launch.types(), "{float@0,int@8}16@0+24\nfloat@0+16\nfloat4@0+16\nint@0+16\nbyte@0+16\n");
}

TEST(RegionTypes, OfAPoolAreToldByMembersAndParametersAlike) {
  Launch launch;
  launch.kernel.records = {kParams, kCell};
  launch.record("Params", {0x1000, 0, 0x1010, 0}).pointer("double", 0x1020).region(0x1000, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(launch.types(), "float@0+16 of arg 0 +0, int@16+16 of arg 0 +16, double@32+16 of arg 1 +0\n");
}

TEST(RegionTypes, AreBytesWhereMembersDisagree) {
  Launch launch;
  launch.kernel.records = {kParams, kCell};
  launch.record("Params", {0x1000, 0, 0x1000, 0}).region(0x1000, {1, 2});
  EXPECT_EQ(launch.types(), "byte@0+16 doubtful\n");
  // What is also had as bytes is what the other pointer says.
  Launch raw;
  raw.kernel.records = {{"Raw", 16, "byte", {{0, "void"}, {8, "float"}}}};
  raw.record("Raw", {0x1000, 0x1000}).region(0x1000, {1, 2});
  EXPECT_EQ(raw.types(), "float@0+16\n");
}

TEST(RegionTypes, SayNothingForAStructureOfAnotherSizeThanWasRecorded) {
  Launch launch;
  launch.kernel.records = {kParams, kCell};
  launch.record("Params", {0x1000, 0, 0x1000}).region(0x1000, {1, 2});
  EXPECT_EQ(launch.types(), "byte@0+16\n");
  EXPECT_FALSE(knows_all_addresses(launch.instance, launch.kernel));
}

TEST(RegionTypes, AreFollowedThroughMemory) {
  // A table of views behind a pointer, a list of nodes behind one of them, a table of rows behind a member.
  Launch launch;
  launch.kernel.records = {{"View", 16, "byte", {{0, "double"}}},
                           {"Node", 16, "{float@0,unsigned long@8}16", {{8, "struct Node"}}},
                           {"Holder", 16, "byte", {{0, "struct Node"}, {8, "const int *"}}}};
  launch.pointer("struct View", 0x1000).record("Holder", {0x2000, 0x3000});
  launch.region(0x1000, {0x6000, 1, 0x7000, 2}, "arg 0")
      .region(0x2000, {7, 0x4000}, "arg 1")
      .region(0x3000, {0x8000, 0x9000}, "arg 1 +8");
  for (uint64_t at : {0x4000, 0x6000, 0x7000, 0x8000, 0x9000})
    launch.region(at, {at == 0x4000 ? 7u : 1u, at == 0x4000 ? 0x2000u : 2u});
  EXPECT_EQ(launch.types(),
            "byte@0+32\n{float@0,unsigned long@8}16@0+16\npointer@0+16\n{float@0,unsigned "
            "long@8}16@0+16\ndouble@0+16\ndouble@0+16\nint@0+16\nint@0+16\n");
  EXPECT_EQ(pointers_of("struct View", launch.kernel).offsets, std::vector<uint32_t>{0});
  EXPECT_EQ(pointers_of("struct View", launch.kernel).size, 16u);
}

TEST(RegionTypes, AreThoseOfModuleVariablesMembersToo) {
  Launch launch;
  launch.kernel.records = {kParams, kCell};
  launch.kernel.variables = {{"table", "float *"}, {"params", "struct Params"}};
  launch.variable("params", {0x1000, 0, 0x2000, 0}).variable("table", {0x3000, 0x4000}).variable("other", {0x5000});
  for (uint64_t at : {0x1000, 0x2000, 0x3000, 0x4000, 0x5000}) launch.region(at, {1, 2});
  EXPECT_EQ(launch.types(), "float@0+16\nint@0+16\nfloat@0+16\nfloat@0+16\nbyte@0+16\n");
}

TEST(RegionTypes, OfElementsLieAsThePointerSaysThatLeadsThere) {
  // The table begins eight bytes into its allocation: read from the begin, a row of numbers would be taken for one of
  // floats.
  Launch launch;
  launch.kernel.records = {{"Row", 16, "byte", {{0, "float"}, {8, "int"}}}};
  launch.pointer("struct Row", 0x1008)
      .region(0x1000, {0, 0x2000, 0x3000, 0x2000, 0x3000})
      .region(0x2000, {1})
      .region(0x3000, {1});
  EXPECT_EQ(launch.types(), "byte@0+40\nfloat@0+8\nint@0+8\n");
}

TEST(RegionTypes, DoNotBelievePointersInMemoryThatDisagree) {
  // Left over from an earlier use of the table: a float* into the integers that an argument leads to.
  Launch launch;
  launch.kernel.records = {{"Row", 16, "byte", {{0, "float"}, {8, "int"}}}};
  launch.pointer("struct Row", 0x1000).pointer("int", 0x2000);
  launch.region(0x1000, {0x2010, 0x2008}).region(0x2000, {1, 2, 3, 4});
  EXPECT_EQ(launch.types(), "byte@0+16\nint@0+16 of arg 1 +0, byte@16+16 doubtful\n");
  // Two arrays of a pool that only the table knows.
  Launch pool;
  pool.kernel.records = launch.kernel.records;
  pool.pointer("struct Row", 0x1000).region(0x1000, {0x2010, 0x2000}).region(0x2000, {1, 2, 3, 4});
  EXPECT_EQ(pool.types(), "byte@0+16\nbyte@0+32 doubtful\n");
}

TEST(RegionTypes, KnowWhetherAllAddressesAmongTheArgumentsAreKnown) {
  Launch launch;
  launch.kernel.records = {kParams, kCell, {"Either", 8, "byte", {{0, "void"}}}, {"Strange", 8, "byte", {}, true}};
  launch.record("Params", {1, 2, 3, 4}).pointer("float", 5).record("Either", {6});
  EXPECT_TRUE(knows_all_addresses(launch.instance, launch.kernel));
  auto addresses = argument_addresses(launch.instance, launch.kernel);
  ASSERT_EQ(addresses.size(), 6u);
  EXPECT_EQ(addresses[2].member, 16u);
  EXPECT_EQ(addresses[2].value, 3u);
  EXPECT_EQ(addresses[4].parameter, 1);
  launch.record("Strange", {7});
  EXPECT_FALSE(knows_all_addresses(launch.instance, launch.kernel));
}

TEST(ElementOf, KnowsVectorsStructuresArraysAndPointers) {
  ScannedKernel kernel;
  kernel.records = {
      {"app::Cell", 4, "float", {}}, {"Complex<double>", 16, "double", {}}, {"Open", 16, "byte", {{0, "float"}}, true}};
  EXPECT_EQ(element_of("struct float4", kernel), "float4");
  EXPECT_EQ(element_of("const float", kernel), "float");
  EXPECT_EQ(element_of("struct app::Cell", kernel), "float");
  EXPECT_EQ(element_of("struct Complex<double>", kernel), "double");
  EXPECT_EQ(element_of("struct app::Mixed", kernel), "byte");
  EXPECT_EQ(element_of("const float *const", kernel), "pointer");
  EXPECT_EQ(element_of("double[4][16]", kernel), "double");
  EXPECT_EQ(element_of("Complex<double>[16]", kernel), "double");
  EXPECT_EQ(element_of("float *[4]", kernel), "pointer");
  EXPECT_EQ(element_of("void", kernel), "byte");
  EXPECT_TRUE(pointers_of("struct Open", kernel).offsets.empty()) << "not all of them are known";
}

}  // namespace
}  // namespace kernelift::extractor
