// From sources, a compile database and a capture to a MEP that nvcc builds: all but the recording itself is real.
#include "extractor/extract/extract.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/model/capture.h"
#include "core/model/kernel_key.h"
#include "core/model/mep.h"
#include "core/tests/slot_folder.h"
#include "extractor/scan/scan.h"

namespace kernelift::extractor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kSource = R"(#include <cuda_runtime.h>
#define BLOCK 64
namespace {
template <bool Negated> __global__ void buried(float* p) { p[0] = Negated ? -p[1] : p[1]; }
}
namespace app {
struct Cell { float value, weight; };
namespace {
__constant__ float table[4];
template <int N> __global__ void hidden(float* p) { p[0] = N; }
}
__device__ int unused_elsewhere;
__device__ float weigh(const Cell& cell, int i) { return table[i % 4] * cell.value * cell.weight; }
__global__ void smooth(const Cell* cells, float* out, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) out[i] = weigh(cells[i], i);
}
__global__ void other(int* p) { *p = unused_elsewhere; }
template <class T> __global__ void twice(T* p) { p[threadIdx.x] *= T(2); }
void run(const Cell* cells, float* out, int n) {
  smooth<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(cells, out, n);
  other<<<1, 1>>>(nullptr);
  hidden<3><<<1, 1>>>(out);
  buried<true><<<1, 1>>>(out);
  twice<<<1, 32>>>(out);
  twice<<<1, 32>>>((double*)nullptr);
}
}
int main() { app::run(nullptr, nullptr, 0); }
)";

class ExtractTest : public ::testing::Test {
 protected:
  SlotFolder scratch_;
  fs::path app_ = scratch_.path() / "app", state_ = app_ / ".kernelift";
  std::string source_ = (app_ / "app.cu").string();

  void scan(std::string_view text = kSource, const std::vector<std::string>& flags = {},
            const std::vector<std::string>& others = {}) {
    ASSERT_TRUE(write_atomically(source_, text).ok());
    Json entries = Json::array();
    auto command_for = [&](const std::string& source) {
      std::vector<std::string> command = {"nvcc", "-std=c++17", "-c",
                                          source, "-o",         fs::path(source).stem().string() + ".o"};
      command.insert(command.end(), flags.begin(), flags.end());
      return command;
    };
    std::vector<std::string> command = command_for(source_);
    entries.push_back({{"directory", app_.string()}, {"file", source_}, {"arguments", command}});
    for (auto& other : others)
      entries.push_back({{"directory", app_.string()}, {"file", other}, {"arguments", command_for(other)}});
    ASSERT_TRUE(write_json(app_ / "compile_commands.json", entries).ok());
    ScanOptions options;
    options.root = app_, options.compile_database = app_ / "compile_commands.json";
    // Of equal files in one place: what the first test of this program found is what each would find.
    static std::map<std::string, ScanIndex> known;
    std::string same = entries.dump() + std::string(text);
    if (!known.contains(same)) {
      auto index = scan_application(options);
      ASSERT_TRUE(index.ok()) << index.error().message;
      known[same] = std::move(*index);
    }
    ASSERT_TRUE(create_state_folder(state_).ok());
    ASSERT_TRUE(known[same].write(state_ / "scan.json").ok());
  }

  /// A launch of twice<double> beside those of smooth.
  void capture_twice() {
    also_.push_back({"_ZN3app5twiceIdEEvPT_", 0x200000002000});
    capture();
  }
  std::vector<std::pair<std::string, uint64_t>> also_;  ///< Kernels of one pointer that the next capture() holds too.

  /// Two launches of smooth as the recorder would have left them.
  void capture() {
    fs::remove_all(state_ / "capture");
    auto writer = std::move(*CaptureWriter::create(state_ / "capture"));
    constexpr int kCount = 256;
    std::vector<float> cells(2 * kCount), out(kCount), answer(kCount), table = {1, 2, 3, 4};
    for (int i = 0; i < kCount; ++i)
      cells[2 * i] = float(i), cells[2 * i + 1] = 0.5f, answer[i] = table[i % 4] * float(i) * 0.5f;
    auto store = [&](const std::vector<float>& values) { return *writer->store(std::as_bytes(std::span(values))); };
    for (int k = 0; k < 2; ++k) {
      CapturedInstance instance;
      instance.id = "abcd-000" + std::to_string(k), instance.mangled = "_ZN3app6smoothEPKNS_4CellEPfi";
      instance.kernel = canonical_key(instance.mangled), instance.unit = source_;
      instance.geometry = {{4, 1, 1}, {64, 1, 1}, 0, false};
      instance.arguments.resize(20);
      uint64_t at[] = {0x200000000000, 0x200000001000};
      std::memcpy(instance.arguments.data(), at, 16), std::memcpy(instance.arguments.data() + 16, &kCount, 4);
      instance.parameters = {{0, 8}, {8, 8}, {16, 4}};
      instance.held_out = k == 1, instance.weight = 1 - k, instance.microseconds = 5;
      instance.regions = {{at[0], MemoryKind::Device, store(cells), store(cells), Origin::of_argument(0)},
                          {at[1], MemoryKind::Device, store(out), store(answer), Origin::of_argument(1)}};
      instance.variables = {
          {"_ZN3app12_GLOBAL__N_15tableE", canonical_key("_ZN3app12_GLOBAL__N_15tableE"), true, 0x7000, store(table),
           store(table)},
          {"_ZN3app16unused_elsewhereE", "app::unused_elsewhere", false, 0x8000, store({0}), store({0})}};
      ASSERT_TRUE(writer->finish_instance(instance).ok());
    }
    float first = 0;
    for (auto& [mangled, address] : also_) {
      CapturedInstance instance;
      ++first;
      instance.id = "beef-000" + std::to_string(int(first)), instance.mangled = mangled,
      instance.kernel = canonical_key(mangled), instance.unit = source_;
      instance.geometry = {{1, 1, 1}, {32, 1, 1}, 0, false};
      instance.arguments.resize(8), std::memcpy(instance.arguments.data(), &address, 8);
      instance.parameters = {{0, 8}}, instance.weight = 1, instance.microseconds = 5;
      instance.regions = {{address, MemoryKind::Device, store(std::vector<float>(64, first)),
                           store(std::vector<float>(64, -first)), Origin::of_argument(0)}};
      ASSERT_TRUE(writer->finish_instance(instance).ok());
    }
    CaptureInfo info;
    info.device = "cpu";
    ASSERT_TRUE(writer->finish(info).ok());
  }
  ExtractOptions options(std::string kernel) {
    ExtractOptions options;
    options.kernel = std::move(kernel), options.state = state_, options.templates = MEP_TEMPLATES;
    return options;
  }
};

void build_with_nvcc(const fs::path& mep) {
  auto nvcc = find_program("nvcc");
  if (!nvcc && fs::exists("/usr/local/cuda/bin/nvcc")) nvcc = "/usr/local/cuda/bin/nvcc";
  if (!nvcc) GTEST_SKIP() << "nvcc is not installed: the MEP was written but not built";
  ProcessOptions process;
  process.folder = mep;
  auto built = run_process({nvcc->string(), "main.cu"}, process);
  ASSERT_TRUE(built.ok() && built->ok()) << built->out << built->err;
}

class ExtractForNvccTest : public ExtractTest {};

TEST_F(ExtractForNvccTest, JoinsSliceAndCaptureIntoAProgramThatNvccBuilds) {
  scan();
  capture();
  auto folder = extract_mep(options("smooth"));
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  auto mep = Mep::read(*folder);
  ASSERT_TRUE(mep.ok()) << mep.error().message;
  EXPECT_EQ(mep->kernel_name, "app::smooth");
  EXPECT_TRUE(mep->proven) << mep->proof_note;
  ASSERT_EQ(mep->instances.size(), 2u);
  EXPECT_EQ(mep->instances[0].regions[0].element, "float") << "a struct of floats is compared as floats";
  EXPECT_EQ(mep->instances[0].regions[1].element, "float");
  ASSERT_EQ(mep->instances[0].variables.size(), 1u) << "only what the kernel's text has";
  EXPECT_EQ(mep->instances[0].variables[0].spelling, "app::table");
  EXPECT_FALSE(mep->launches.empty());
  auto text = *read_text(*folder / "kernel.cu");
  EXPECT_THAT(text, HasSubstr("weigh"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("unused_elsewhere")));

  build_with_nvcc(*folder);
}

TEST_F(ExtractForNvccTest, BuildsTemplatesOfUnnamedNamespacesWithNvcc) {
  scan();
  for (const char* kernel : {"hidden", "buried"}) {
    auto request = options(kernel);
    request.synthesise = true;
    auto folder = extract_mep(request);
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    auto mep = Mep::read(*folder);
    ASSERT_TRUE(mep.ok());
    EXPECT_TRUE(mep->proven) << mep->proof_note;
    auto text = *read_text(*folder / "kernel.cu");
    EXPECT_EQ(mep->origins.size(), size_t(std::count(text.begin(), text.end(), '\n')));
    build_with_nvcc(*folder);
  }
}

TEST_F(ExtractTest, ReplacesAnEarlierMepAndLeavesOtherFoldersAlone) {
  scan();
  capture();
  auto request = options("smooth");
  request.out = scratch_.path() / "out";
  ASSERT_TRUE(extract_mep(request).ok());
  for (auto* name : {"out.new", "out.replaced"}) fs::create_directories(scratch_.path() / name);
  auto again = extract_mep(request);
  EXPECT_TRUE(again.ok()) << again.error().message;
  for (auto* name : {"out.new", "out.replaced"}) EXPECT_TRUE(fs::exists(scratch_.path() / name)) << "the user's own";
  for (auto& entry : fs::directory_iterator(scratch_.path()))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
  fs::create_directories(scratch_.path() / "mine");
  ASSERT_TRUE(write_atomically(scratch_.path() / "mine" / "notes.txt", std::string_view("mine")).ok());
  request.out = scratch_.path() / "mine";
  auto refused_place = extract_mep(request);
  ASSERT_FALSE(refused_place.ok());
  EXPECT_THAT(refused_place.error().message, HasSubstr("--out"));
  EXPECT_TRUE(fs::exists(scratch_.path() / "mine" / "notes.txt"));
}

TEST_F(ExtractTest, SaysAtOnceThatADamagedInstanceIsLeftOut) {
  scan();
  also_.assign(2, {"_ZN3app5twiceIdEEvPT_", 0x200000002000});
  capture();
  auto request = options("twice<double>");
  std::vector<std::string> told;
  request.on_damage = [&](const std::string& damage) { told.push_back(damage); };
  ASSERT_TRUE(extract_mep(request).ok());
  EXPECT_TRUE(told.empty());
  // The image stored last is the answer of the second launch.
  auto bytes = *read_bytes(state_ / "capture" / "blobs.klb");
  for (size_t i = bytes.size() - 12; i < bytes.size(); ++i) bytes[i] ^= std::byte{0xff};
  ASSERT_TRUE(write_atomically(state_ / "capture" / "blobs.klb", bytes).ok());
  auto folder = extract_mep(request);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(Mep::read(*folder)->instances.size(), 1u);
  EXPECT_THAT(told, ElementsAre(AllOf(HasSubstr("instance beef-0002 is left out: "), HasSubstr("is damaged"))));
}

TEST_F(ExtractTest, SaysWhichKernelsAnAmbiguousWordNames) {
  scan();
  capture();
  auto ambiguous = extract_mep(options("twice"));
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_EQ(ambiguous.error().exit, Exit::Usage);
  EXPECT_THAT(ambiguous.error().message, HasSubstr("app::twice<float>"));
  EXPECT_THAT(ambiguous.error().message, HasSubstr("app::twice<double>"));
  auto nothing = extract_mep(options("no_such"));
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message, HasSubstr("kernelift scan"));
  auto unrecorded = extract_mep(options("other"));
  ASSERT_FALSE(unrecorded.ok());
  EXPECT_THAT(unrecorded.error().message, HasSubstr("app::smooth"));
}

TEST_F(ExtractTest, TellsOverloadsApartByTheirParameters) {
  scan("namespace b {\n__global__ void k(float* p) { *p = 1; }\n__global__ void k(double* p) { *p = 1; }\n}\n");
  auto request = options("b::k");
  request.synthesise = true;
  auto both = extract_mep(request);
  ASSERT_FALSE(both.ok());
  EXPECT_THAT(both.error().message, HasSubstr("b::k(float*)"));
  EXPECT_THAT(both.error().message, HasSubstr("b::k(double*)"));
}

TEST_F(ExtractTest, OffersTheNamesThatAreNearAnUnknownOne) {
  scan();
  auto said = [&](const std::string& word) {
    ExtractOptions request = options(word);
    request.synthesise = true;
    return extract_mep(request).error().message;
  };
  EXPECT_THAT(said("smoth"), HasSubstr("did you mean app::smooth?"));
  EXPECT_THAT(said("moo"), HasSubstr("did you mean app::smooth?")) << "a part of a name";
  EXPECT_THAT(said("app::twise"), HasSubstr("did you mean app::twice?"));
  EXPECT_THAT(said("something_else"), ::testing::Not(HasSubstr("did you mean")));
}

TEST_F(ExtractTest, SaysThatARecordedKernelOfALibraryIsNotLifted) {
  scan();
  also_ = {{"_ZN3cub7segmentEPf", 0x200000002000}};
  capture();
  auto outcome = extract_mep(options("cub::segment(float*)"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().exit, Exit::Refused);
  EXPECT_THAT(outcome.error().message, HasSubstr("it is a kernel of cub"));
}

TEST_F(ExtractTest, AsksForANewScanWhereAUnitWasCompiledAfterIt) {
  scan();
  capture();
  fs::path other = app_ / "other.cu";
  ASSERT_TRUE(write_atomically(other.string(), "__global__ void later(float* x) { x[0] = 1; }\n").ok());
  auto entries = read_json(app_ / "compile_commands.json");
  entries->push_back(
      {{"directory", app_.string()}, {"file", other.string()}, {"arguments", {"nvcc", "-c", "other.cu"}}});
  ASSERT_TRUE(write_json(app_ / "compile_commands.json", *entries).ok());
  for (auto* kernel : {"later", "smooth"}) {  // The new unit may launch what was scanned.
    auto outcome = extract_mep(options(kernel));
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.error().message,
                HasSubstr("other.cu was compiled after the application was scanned; run kernelift scan again"));
  }
}

TEST_F(ExtractTest, TakesTheOneInstanceOfATemplateThatWasCaptured) {
  scan();
  capture_twice();
  auto folder = extract_mep(options("twice"));
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_THAT(Mep::read(*folder)->kernel_key, HasSubstr("twice<double>"));
}

TEST_F(ExtractTest, KeepsTheLaunchesOfAllThatTheTextDefines) {
  std::string text = kSource;
  auto launches = [&] {
    scan(text);
    capture_twice();
    auto folder = extract_mep(options("twice<double>"));
    EXPECT_TRUE(folder.ok()) << (folder.ok() ? "" : folder.error().message);
    return folder.ok() ? *Mep::read(*folder) : Mep();
  };
  Mep mep = launches();
  ASSERT_EQ(mep.launches.size(), 1u);
  ASSERT_EQ(mep.sibling_launches.size(), 1u) << "of twice<float>, which a change of the text changes too";
  EXPECT_EQ(mep.sibling_launches[0].argument_text, std::vector<std::string>{"out"});
  EXPECT_EQ(mep.unseen_launches, "");
  text += "void submit(void (*)(float*));\nvoid later() { submit(app::twice<float>); }\n";
  EXPECT_THAT(launches().unseen_launches,
              AllOf(HasSubstr("its address is taken at app.cu:"), Not(HasSubstr(app_.string()))));
  text = kSource + std::string("template __global__ void app::twice<int>(int*);\n");
  EXPECT_EQ(launches().unseen_launches, "where 'app::twice<int>', which has its text, is launched is not known");
}

TEST_F(ExtractTest, RefusesSourcesThatChangedSinceTheScan) {
  scan();
  capture();
  auto rewrite = [&](const std::string& text) { ASSERT_TRUE(write_atomically(source_, text).ok()); };
  auto complaint = [&] {
    auto folder = extract_mep(options("smooth"));
    return folder.ok() ? "" : folder.error().message;
  };
  std::string body = kSource, launch = kSource;
  body.replace(body.find("out[i] ="), 8, "out[i]  =");
  launch.replace(launch.find("smooth<<<"), 0, "\n");
  for (auto& changed : {"// a line on top\n" + std::string(kSource), body, launch}) {
    rewrite(changed);
    EXPECT_THAT(complaint(), HasSubstr("was changed after it was scanned"));
  }
  rewrite(kSource + std::string("// a line at the end\n"));
  EXPECT_EQ(complaint(), "");
  fs::remove(source_);
  EXPECT_THAT(complaint(), HasSubstr("scan the application again"));
}

TEST_F(ExtractTest, MakesInputsUpWhenAskedAndSaysSo) {
  scan();
  auto request = options("smooth");
  auto without = extract_mep(request);
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("kernelift record"));
  request.synthesise = true;
  auto folder = extract_mep(request);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(Mep::read(*folder)->origin_hashes[source_], hash_text(kSource).hex()) << "for those who will patch it";
  EXPECT_EQ(Mep::read(*folder)->inputs, "synth");
  EXPECT_THAT(*read_text(*folder / "README.md"), HasSubstr("SYNTHESISED"));
  request.answer = [](const fs::path&, Mep&) -> Result<std::string> {
    return refused("the inputs made up for smooth do not suit it");
  };
  auto unsuited = extract_mep(request);
  ASSERT_FALSE(unsuited.ok());
  EXPECT_THAT(unsuited.error().message,
              HasSubstr("do not suit it; its code can be lifted, and is proven equal to the original's"));
}

TEST_F(ExtractTest, SaysThatNothingWasScanned) {
  auto folder = extract_mep(options("smooth"));
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("kernelift scan"));
}

TEST_F(ExtractTest, NamesWhatNoFileOfRelocatableCodeDefines) {
  std::string text = std::string(kSource) +
                     "__device__ float helper(float);\n"
                     "static __global__ void calls(float* p) { *p = helper(*p); }\n"
                     "static __global__ void alone(float* p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n"
                     "void more(float* p) { calls<<<1, 1>>>(p); alone<<<1, 1>>>(p); }\n";
  scan(text, {"-rdc=true"});
  ExtractOptions extract = options("calls");
  extract.synthesise = true;
  auto refusal = extract_mep(extract);
  ASSERT_FALSE(refusal.ok());
  EXPECT_EQ(refusal.error().exit, Exit::Refused);
  EXPECT_THAT(refusal.error().message,
              HasSubstr("uses helper(float), which no other file of relocatable code defines"));
  extract.kernel = "alone";
  auto folder = extract_mep(extract);
  EXPECT_TRUE(folder.ok()) << folder.error().message;
}

TEST_F(ExtractTest, SaysWhichFilesAreOneProgramOnlyInTheMep) {
  std::string helper = (app_ / "helper.cu").string();
  ASSERT_TRUE(write_atomically(helper, "__device__ float helper(float x) { return x + 1; }\n").ok());
  std::string text = std::string(kSource) +
                     "extern __device__ float helper(float);\n"
                     "static __global__ void calls(float* p) { *p = helper(*p); }\n"
                     "static __global__ void alone(float* p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n"
                     "void more(float* p) { calls<<<1, 1>>>(p); alone<<<1, 1>>>(p); }\n";
  scan(text, {"-rdc=true"}, {helper});
  ExtractOptions extract = options("calls");
  extract.synthesise = true;
  auto folder = extract_mep(extract);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  auto mep = Mep::read(*folder);
  EXPECT_EQ(mep->linked, std::vector<std::string>{"helper.cu"});
  EXPECT_THAT(mep->linked_text(), HasSubstr("helper.cu and the kernel's own file are compiled as one here"));
  EXPECT_THAT(*read_text(*folder / "README.md"), HasSubstr(mep->linked_text()));
  extract.kernel = "alone";
  folder = extract_mep(extract);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(Mep::read(*folder)->linked_text(), "");
  EXPECT_THAT(*read_text(*folder / "README.md"), Not(HasSubstr("only linked in the application")));
}

}  // namespace
}  // namespace kernelift::extractor
