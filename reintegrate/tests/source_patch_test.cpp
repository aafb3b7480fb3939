// From candidate to patch: what is edited, which bytes stay, and what is refused.
#include "reintegrate/patch/source_patch.h"

#include <gmock/gmock.h>

#include "core/base/hash.h"
#include "core/tests/expression_literal.h"
#include "reintegrate/patch/patch_draft.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class Patch : public Application {
 protected:
  Result<SourcePatch> plan() {
    return plan_patch(
        {request.mep, request.original, request.candidate, request.scan ? &*request.scan : nullptr, root});
  }
  std::string refusal() {
    auto patch = plan();
    EXPECT_FALSE(patch.ok());
    return patch.ok() ? "" : patch.error().message;
  }
  void knob(const std::string& file, const std::string& spelled) {
    size_t at = read(file).find(spelled);
    request.mep.knobs = {{"BLOCK", 64, {file, at, at + spelled.size(), 2, 2}, true, true, true, {"1234abcd"}}};
  }
};

TEST_F(Patch, ChangesOnlyTheEditedLine) {
  candidate("1.0;", "1.0f;");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  std::string expected = kKernelText;
  expected.replace(expected.find("1.0;"), 4, "1.0f;");
  ASSERT_EQ(patch->changes.size(), 1u);
  EXPECT_EQ(patch->changes[0].after, expected);
  EXPECT_EQ(patch->changes[0].name, "src/k.cu");
}

TEST_F(Patch, KeepsCarriageReturnsAndAMissingLastNewline) {
  write("src/k.cu", "a\r\n\tb\r\nlast");
  slice();
  candidate("\tb\n", "\tb1\n\tb2\n");
  candidate("last\n", "last\nmore\n");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after, "a\r\n\tb1\r\n\tb2\r\nlast\r\nmore");
}

TEST_F(Patch, KeepsCarriageReturnsWhateverAnEditHas) {
  auto edited = [&](const std::string& text) {
    write("src/k.cu", text);
    PatchQuestion question{request.mep, request.original, request.candidate, nullptr, root};
    PatchDraft draft(question);
    OpenFile* file = draft.open("src/k.cu").value();
    draft.add(*file, 0, 1, "1,\n2,\r\n3");
    return draft.finish()->changes.at(0).after;
  };
  EXPECT_EQ(edited("a\r\nb\r\n"), "1,\r\n2,\r\n3\r\nb\r\n");
  EXPECT_EQ(edited("a\r\nb\n"), "1,\n2,\r\n3\r\nb\n") << "a file of both kinds has no rule";
}

TEST_F(Patch, DeletesLinesWithTheirEnds) {
  candidate("  a[0] = 1.0;\n", "");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after.find("1.0"), std::string::npos);
  EXPECT_EQ(patch->changes[0].after.size(), std::string(kKernelText).size() - 14);
}

TEST_F(Patch, PutsANewHelperAboveTheKernel) {
  candidate("// The kernel.\n", "__device__ int helper();\n// The kernel.\n");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_NE(patch->changes[0].after.find("\"config.h\"\nstatic __device__ int helper();\n// The kernel.\n"),
            std::string::npos);
}

TEST_F(Patch, NamesHostFunctionsThatItChanges) {
  const std::string said = "The patch changes 'sleepy', which is compiled for the host too";
  auto notes = [&] {
    auto patch = plan();
    std::string all = patch.ok() ? "" : patch.error().message;
    for (size_t i = 0; patch.ok() && i < patch->notes.size(); ++i) all += patch->notes[i] + "\n";
    return all;
  };
  candidate("1.0;", "1.0f;");
  request.mep.functions = {{"sleepy", "src/k.cu", 3, 6, false}};
  EXPECT_EQ(notes().find(said), std::string::npos);
  request.mep.functions[0].on_host = true;
  EXPECT_NE(notes().find(said), std::string::npos) << notes();
  request.mep.functions[0].end_line = 4;
  EXPECT_EQ(notes().find(said), std::string::npos) << "the changed line is the fifth: " << notes();
  request.candidate.source = request.original;
  candidate("// The kernel.\n", "// The kernel.\n// Another line.\n");
  EXPECT_EQ(notes().find(said), std::string::npos) << "a line before the function is not part of it: " << notes();
}

TEST_F(Patch, RefusesToAffectBranchesForOtherGpusAndNotesBranchesForOtherBuilds) {
  auto planned = [&](const std::string& condition) {
    write("src/k.cu", "__global__ void k(float* a) {\n  float x = a[0];\n" + condition +
                          "\n  x = x * 3;\n#else\n  x = x * 2;\n#endif\n  a[0] = x;\n}\n");
    slice();
    request.mep.functions = {{"k", "src/k.cu", 1, 9, false}};
    candidate("  float x = a[0];", "  float x = a[0] + 0.0f;");
    return plan();
  };
  auto patch = planned("#if __CUDA_ARCH__ >= 800");
  ASSERT_FALSE(patch.ok());
  EXPECT_NE(patch.error().message.find("src/k.cu:3-7 (#if __CUDA_ARCH__ >= 800) selects other code on other GPUs"),
            std::string::npos)
      << patch.error().message;
  patch = planned("#ifdef DEBUG");
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  ASSERT_FALSE(patch->notes.empty());
  EXPECT_NE(patch->notes.back().find("src/k.cu:3-7 (#ifdef DEBUG) was judged only as this build compiles it"),
            std::string::npos)
      << patch->notes.back();
}

TEST_F(Patch, EditsADeclarationThatIsPartOfALine) {
  write("src/k.cu", "int host; __device__ int d = 4; int other;\n");
  request.mep.origins = {{"src/k.cu", 1}};
  request.original = "__device__ int d = 4;\n";
  request.candidate.source = "__device__ int d = 8;\n";
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after, "int host; __device__ int d = 8; int other;\n");
}

TEST_F(Patch, RefusesAFileThatChangedSinceTheScan) {
  candidate("1.0;", "1.0f;");
  write("src/k.cu", std::string("// edited\n") + kKernelText);
  EXPECT_NE(refusal().find("src/k.cu:1 is not the line that was extracted"), std::string::npos);
}

TEST_F(Patch, RefusesIfAnUneditedLineOfTheSliceHasChanged) {
  candidate("1.0;", "1.0f;");
  shell("sed -i 's/0.05/0.09/' src/k.cu");
  EXPECT_NE(refusal().find("src/k.cu:4"), std::string::npos);
}

TEST_F(Patch, RefusesALineToWhichTextWasAddedSinceTheScan) {
  candidate("1.0;", "1.0f;");
  request.mep.origin_hashes = {{"src/k.cu", hash_text(read("src/k.cu")).hex()}};
  EXPECT_TRUE(plan().ok());
  shell("echo '// below' >> src/k.cu");
  EXPECT_TRUE(plan().ok()) << "the added line is not part of the kernel";
  shell("sed -i 's/delay(0.05);/delay(0.05); delay(0.05);/' src/k.cu");
  EXPECT_NE(refusal().find("src/k.cu:4 is not the line that was extracted"), std::string::npos) << refusal();
}

TEST_F(Patch, AcceptsLinesWhoseBodyTheExtractorCutAway) {
  write("src/k.cu", "void host(int n) { run(n); }\n#include   <math.h>  // for sqrt\nfloat x = 1.0;\n");
  request.mep.origins = {{"src/k.cu", 2}, {"src/k.cu", 1}, {"src/k.cu", 3}};
  request.original = "#include <math.h>\nvoid host(int n);\nfloat x = 1.0;\n";
  request.candidate.source = "#include <math.h>\nvoid host(int n);\nfloat x = 1.0f;\n";
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after,
            "void host(int n) { run(n); }\n#include   <math.h>  // for sqrt\nfloat x = 1.0f;\n");
}

TEST_F(Patch, EditsALineThatIsIncludedTwiceOnce) {
  write("src/k.cu", "float x = 1.0;\n");
  request.mep.origins = {{"src/k.cu", 1}, {}, {"src/k.cu", 1}};
  request.original = "float x = 1.0;\n}\nfloat x = 1.0;\n";
  request.candidate.source = "float x = 1.0f;\n}\nfloat x = 1.0f;\n";
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after, "float x = 1.0f;\n");
}

TEST_F(Patch, RefusesToChangeOneOfTwoCopiesOfALine) {
  write("src/k.cu", "float x = 1.0;\n");
  request.mep.origins = {{"src/k.cu", 1}, {}, {"src/k.cu", 1}};
  request.original = "float x = 1.0;\n}\nfloat x = 1.0;\n";
  request.candidate.source = "float x = 1.0f;\n}\nfloat x = 1.0;\n";
  EXPECT_NE(refusal().find("changes only one of its copies"), std::string::npos);
}

TEST_F(Patch, RefusesAnEditOfALineWrittenByTheExtractor) {
  candidate("// extracted", "// mine");
  EXPECT_NE(refusal().find("written by the extractor"), std::string::npos);
}

TEST_F(Patch, RefusesAnEditAcrossTwoFiles) {
  request.mep.origins[4] = {"src/config.h", 2};
  request.original =
      "// extracted\n#include \"config.h\"\n// The kernel.\n__global__ void sleepy(float* a) {\n#define BLOCK 64   // "
      "threads\n  a[0] = 1.0;\n}\n";
  request.candidate.source = request.original;
  candidate("__global__ void sleepy(float* a) {\n#define BLOCK 64   // threads\n", "one line\n");
  EXPECT_NE(refusal().find("not adjacent"), std::string::npos);
}

TEST_F(Patch, RefusesFilesOutsideTheApplication) {
  request.mep.origins[2] = {"/usr/include/stdio.h", 1};
  candidate("// The kernel.", "// Mine.");
  EXPECT_NE(refusal().find("outside the application"), std::string::npos);
}

TEST_F(Patch, SetsAKnobInItsDefinition) {
  knob("src/config.h", "64");
  request.candidate.values["BLOCK"] = 128;
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after, "#pragma once\n#define BLOCK 128   // threads\n");
}

TEST_F(Patch, DoesNotSetAKnobTwice) {
  request.mep.origins.push_back({"src/config.h", 2});
  request.original += "#define BLOCK 64   // threads\n";
  request.candidate.source = request.original;
  candidate("BLOCK 64", "BLOCK 128");
  knob("src/config.h", "64");
  request.candidate.values["BLOCK"] = 128;
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_EQ(patch->changes[0].after, "#pragma once\n#define BLOCK 128   // threads\n");
}

TEST_F(Patch, RefusesToRewriteADefinitionThatTheLaunchIsComputedFrom) {
  write("src/k.cu", "#define TILE 16\n__global__ void k(float* a) { a[threadIdx.x] = TILE; }\n");
  slice();
  LaunchSite site;
  site.block[0] = "TILE"_e;
  request.mep.launches = {site};
  candidate("TILE 16", "TILE 32");
  EXPECT_NE(refusal().find("rewrites '#define TILE 16', from which the launch is computed"), std::string::npos);
  request.mep.launches[0].block[0] = "64"_e;
  EXPECT_TRUE(plan().ok());
}

TEST_F(Patch, SetsOneKnobOfALineThatDefinesTwo) {
  write("src/k.cu",
        "constexpr int X = 32, Y = 8;\n__global__ void k(float* a) { a[threadIdx.y * X + threadIdx.x] = Y; }\n");
  slice();
  auto knob = [](const char* name, int64_t value, uint64_t begin, uint64_t end) {
    return Knob{name, value, {"src/k.cu", begin, end, 1, 1}, false, true, true, {}};
  };
  request.mep.knobs = {knob("X", 32, 18, 20), knob("Y", 8, 26, 27)};
  LaunchSite site;
  site.block[0] = "X"_e, site.block[1] = "Y"_e;
  request.mep.launches = {site};
  candidate("Y = 8", "Y = 16");
  request.candidate.values["Y"] = 16;
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_TRUE(patch->changes[0].after.starts_with("constexpr int X = 32, Y = 16;\n"));
  candidate("X = 32", "X = 64");
  EXPECT_NE(refusal().find("from which the launch is computed"), std::string::npos) << "X is not set as a knob";
}

TEST_F(Patch, RefusesAKnobOfTheCommandLine) {
  request.mep.knobs = {{"BLOCK", 64, {}, true, true, true, {}}};
  request.candidate.values["BLOCK"] = 128;
  EXPECT_NE(refusal().find("compiler's command line"), std::string::npos);
}

TEST_F(Patch, ChangesAKnobOfTheCommandLineInTheBuild) {
  Mep& mep = request.mep;
  write("Makefile", "FLAGS = -O2 -DBLOCK=64\nk.o: src/k.cu\n\tnvcc $(FLAGS) -c $< -o $@\n");
  mep.compile_command = {"nvcc", "-O2", "-DBLOCK=64", "-c", "src/k.cu", "-o", "k.o"};
  mep.compile_folder = root.string();
  mep.knobs = {{"BLOCK", 64, {}, true, true, true, {}}};
  mep.origins.insert(mep.origins.begin(), 2, {});
  request.original = "#undef BLOCK\n#define BLOCK 64\n" + request.original;
  request.candidate.source = request.original;
  candidate("BLOCK 64", "BLOCK 32"), candidate("1.0;", "1.0f;");
  request.candidate.values["BLOCK"] = 32;
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  ASSERT_EQ(patch->changes.size(), 2u);
  EXPECT_TRUE(patch->changes[0].after.starts_with("FLAGS = -O2 -DBLOCK=32\n")) << patch->diff();
  EXPECT_TRUE(patch->changes[0].of_build);
  for (auto& note : patch->notes) EXPECT_EQ(note.find("Makefile"), std::string::npos) << note;
  EXPECT_EQ(patch->changes[1].name, "src/k.cu");
  ASSERT_EQ(patch->definitions.size(), 1u);
  EXPECT_EQ(patch->definitions[0].after, "32");
  candidate("1.0f;", "1.0;");
  patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  ASSERT_EQ(patch->changes.size(), 2u) << "the unit is compiled again, which make would not see";
  EXPECT_EQ(patch->changes[1].after, patch->changes[1].before);
}

TEST_F(Patch, RefusesAKnobWhoseValueHasChangedSinceTheScan) {
  knob("src/config.h", "64");
  write("src/config.h", "#pragma once\n#define BLOCK 32   // threads\n");
  request.candidate.values["BLOCK"] = 128;
  EXPECT_NE(refusal().find("is not the 64 that was scanned"), std::string::npos);
}

TEST_F(Patch, RefusesAGainOfTheCompilerAlone) {
  request.candidate.recipe.unroll_threshold = 300;
  EXPECT_NE(refusal().find("the whole gain is in how the kernel is compiled"), std::string::npos);
}

TEST_F(Patch, NotesTheCompilerRecipeThatItLeavesOut) {
  request.candidate.recipe.fast_math = {"contract"};
  candidate("1.0;", "1.0f;");
  auto patch = plan();
  ASSERT_TRUE(patch.ok());
  EXPECT_NE(patch->notes.back().find("Left out: the compiler recipe"), std::string::npos);
}

TEST_F(Patch, RefusesACandidateThatNeedsScratchMemory) {
  request.candidate.scratch.push_back({*Expression::parse("gx * 4"), true});
  EXPECT_NE(refusal().find("device memory of its own"), std::string::npos);
}

TEST_F(Patch, RefusesACandidateWithTwoLaunches) {
  request.candidate.launches = {CandidateLaunch::as_recorded("sleepy"), CandidateLaunch::as_recorded("second")};
  EXPECT_NE(refusal().find("launches 2 kernels"), std::string::npos);
}

TEST_F(Patch, NotesThatEveryInstanceOfATemplateChanges) {
  request.mep.kernel_name = "sleepy<3>";
  candidate("1.0;", "1.0f;");
  auto patch = plan();
  ASSERT_TRUE(patch.ok());
  ASSERT_FALSE(patch->notes.empty());
  EXPECT_NE(patch->notes[0].find("every instance"), std::string::npos);
}

TEST_F(Patch, NotesThatAHeaderIsShared) {
  knob("src/config.h", "64");
  request.candidate.values["BLOCK"] = 128;
  auto patch = plan();
  ASSERT_TRUE(patch.ok());
  ASSERT_FALSE(patch->notes.empty());
  EXPECT_NE(patch->notes[0].find("src/config.h is a header"), std::string::npos);
}

TEST_F(Patch, SaysWhatALaunchNeedsThatIsInNoFile) {
  request.mep.launches.clear();
  candidate("1.0;", "1.0f;");
  request.candidate.launches = {CandidateLaunch::as_recorded("sleepy")};
  auto needs = [&](const LaunchGuard& guard) {
    auto patch = plan_patch(
        {request.mep, request.original, request.candidate, nullptr, root, nullptr, guard, {}, nullptr, true});
    if (!patch.ok()) return patch.error().message;
    EXPECT_NE(patch->changes.at(0).after.find("a[0] = 1.0f;"), std::string::npos);
    EXPECT_EQ(patch->notes.empty(), patch->launch_needs.empty());
    return patch->launch_needs;
  };
  EXPECT_EQ(needs({}), "");
  const LaunchGuard whole_warps({Premise::holds("blockDim.x % 32 == 0"_e)});
  EXPECT_EQ(needs(whole_warps), "only where blockDim.x % 32 == 0");
  request.candidate.launches[0].block[0] = "width"_e, request.candidate.launches[0].shared = "shared + 256"_e;
  request.candidate.launches[0].grid[0] = "ceil_div(gx * bx, width)"_e, request.candidate.values = {{"width", 64}};
  EXPECT_EQ(needs({}), "with block.x = 64, grid.x = ceil_div(grid.x * block.x, 64), shared = shared + 256");
  EXPECT_EQ(needs(whole_warps).substr(0, 59), "only where blockDim.x % 32 == 0, and with block.x = 64, gri");
}

TEST_F(Patch, RewritesTheLaunchWithTheKernel) {
  size_t at = read("src/k.cu").find("<<<1");
  request.mep.launches = {LaunchSite{{"1234abcd"},
                                     {"src/k.cu", at - 6, at + 15, 8, 8},
                                     {"src/k.cu", at + 3, at + 4, 8, 8},
                                     {"src/k.cu", at + 6, at + 11, 8, 8},
                                     {},
                                     "host",
                                     {},
                                     {},
                                     {},
                                     {},
                                     false}};
  request.mep.instances.push_back({});
  request.candidate.launches = {CandidateLaunch::as_recorded("sleepy")};
  request.candidate.launches[0].grid[0] = *Expression::parse("gx * 2");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_NE(patch->changes[0].after.find("sleepy<<<2, BLOCK>>>(a)"), std::string::npos) << patch->diff();
}

TEST_F(Patch, ReachesOthersByAnOverloadAndNotByADeclarationOfANewName) {
  request.scan.emplace().kernels.resize(1);
  ScannedKernel& kernel = request.scan->kernels[0];
  kernel.id = request.mep.kernel_id, kernel.key = request.mep.kernel_key;
  const std::string text = read("src/k.cu");
  kernel.definition = {"src/k.cu", text.find("__global__"), text.find("}\n") + 1, 3, 6};
  auto reaches = [&](const std::string& added) {
    request.candidate.source = request.original;
    candidate("// The kernel.\n", added + "\n// The kernel.\n");
    auto patch = plan();
    EXPECT_TRUE(patch.ok()) << patch.error().message;
    return patch.ok() && patch->reaches_others;
  };
  EXPECT_FALSE(reaches("__device__ float fresh(float x) { return x; }"));
  EXPECT_FALSE(reaches("#define FRESH 2\nconstexpr int also_fresh = FRESH;"));
  EXPECT_TRUE(reaches("__device__ float delay(float x) { return x; }")) << "another kernel may call it";
}

/// Two instances of one template, each with a launch of its own: sleepy<3> is the kernel of the MEP.
class TemplatePatch : public Patch {
 protected:
  void SetUp() override {
    Patch::SetUp();
    std::string text = kKernelText;
    text.replace(text.find("sleepy<<<1, BLOCK>>>(a);"), 24, "sleepy<3><<<1, BLOCK>>>(a); sleepy<5><<<2, BLOCK>>>(a);");
    write("src/k.cu", text);
    slice();
    request.mep.kernel_name = "sleepy<3>";
    request.mep.instances.push_back({});
    request.mep.launches = {site("1234abcd", "<<<1")};
    request.candidate.launches = {CandidateLaunch::as_recorded("sleepy<3>")};
    request.candidate.launches[0].grid[0] = *Expression::parse("gx * 2");
    request.scan.emplace();
    for (auto* id : {"1234abcd", "00000005"}) {
      ScannedKernel kernel;
      kernel.id = kernel.key = id, kernel.name = id[0] == '1' ? "sleepy<3>" : "sleepy<5>";
      kernel.definition = {"src/k.cu", 20, 100, 3, 6};
      request.scan->kernels.push_back(kernel);
    }
    request.scan->launches = {site("1234abcd", "<<<1"), site("00000005", "<<<2")};
  }
  LaunchSite site(const std::string& kernel, const std::string& from) {
    size_t at = read("src/k.cu").find(from);
    return {{kernel},
            {"src/k.cu", at - 9, at + 15, 8, 8},
            {"src/k.cu", at + 3, at + 4, 8, 8},
            {"src/k.cu", at + 6, at + 11, 8, 8},
            {},
            "host",
            {},
            {},
            {},
            {},
            false};
  }
};

TEST_F(TemplatePatch, OfALambdaReachesTheKernelsThatWereMadeForItOnly) {
  request.mep.kernel_name = "run<(lambda at src/k.cu:3:1)>";
  request.mep.functions = {{"host::(lambda)", (root / "src/k.cu").string(), 3, 6}};
  request.candidate.launches.clear();
  request.scan->kernels[0].name = request.mep.kernel_name;
  request.scan->kernels[1].name = "run<(lambda at src/k.cu:8:1)>";
  for (auto& kernel : request.scan->kernels) kernel.definition = {"src/config.h", 0, 12, 1, 1};
  candidate("1.0;", "1.0f;");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_FALSE(patch->reaches_others);
  EXPECT_TRUE(patch->notes.empty()) << patch->notes[0];
  request.scan->kernels[1].name = "sum<(lambda at src/k.cu:3:1)>";
  patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_TRUE(patch->reaches_others) << "another generic kernel runs the same lambda";
}

TEST_F(TemplatePatch, ChangesTheLaunchesOfAllInstances) {
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_NE(patch->changes[0].after.find("sleepy<3><<<2, BLOCK>>>(a); sleepy<5><<<4, BLOCK>>>(a);"), std::string::npos)
      << patch->diff();
  EXPECT_TRUE(patch->reaches_others);
  EXPECT_NE(patch->notes[0].find("The launches of 'sleepy<5>' change in the same way"), std::string::npos)
      << patch->notes[0];
}

TEST_F(TemplatePatch, ChangesOneLaunchThatServesSeveralInstances) {
  request.mep.launches[0].kernels = {"1234abcd", "00000005"};
  request.scan->launches = request.mep.launches;
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_NE(patch->changes[0].after.find("sleepy<3><<<2, BLOCK>>>(a)"), std::string::npos) << patch->diff();
}

TEST_F(TemplatePatch, RefusesALaunchThatServesAKernelOfAnotherName) {
  request.mep.launches[0].kernels = {"1234abcd", "0badcafe"};
  EXPECT_NE(refusal().find("serves 2 kernels"), std::string::npos);
}

TEST_F(TemplatePatch, RefusesIfTheLaunchOfAnotherInstanceIsNotKnown) {
  request.scan->launches.pop_back();
  EXPECT_NE(refusal().find("where 'sleepy<5>' is launched is not known"), std::string::npos);
}

TEST_F(TemplatePatch, RefusesIfTheLaunchOfAnotherInstanceIsWrittenByAMacro) {
  request.scan->launches[1].through_macro = true, request.scan->launches[1].block_range = {};
  EXPECT_NE(refusal().find("written by a macro"), std::string::npos);
}

TEST_F(TemplatePatch, ChangesNoGeometryIfCodeThatThisBuildLeavesOutLaunchesTheKernelToo) {
  write("src/small.cu", "#ifdef SMALL\nvoid small(float* a) { sleepy<3><<<1, 32>>>(a); }\n#endif\n");
  request.scan->units = {{"small.cu", (root / "src").string(), {}, {}}};
  EXPECT_NE(refusal().find("src/small.cu:2 launches it too, in code that this build leaves out"), std::string::npos)
      << refusal();
  request.candidate.launches.clear();
  candidate("1.0;", "1.0f;");
  auto patch = plan();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_THAT(patch->notes, testing::Contains(testing::HasSubstr("at src/small.cu:2 is in code that this build")));
}

TEST_F(TemplatePatch, RefusesToChangeALaunchIfTheKernelsAddressIsTaken) {
  request.scan->pointers = {{{"00000005"}, {"src/host.cu", 40, 46, 3, 3}}};
  EXPECT_NE(refusal().find("its address is taken at src/host.cu:3"), std::string::npos) << refusal();
  request.candidate.launches = {CandidateLaunch::as_recorded("sleepy<3>")};
  EXPECT_EQ(refusal().find("its address"), std::string::npos) << "no launch changes: " << refusal();
}

TEST_F(TemplatePatch, RefusesALaunchChangeWithoutAScan) {
  request.scan.reset();
  EXPECT_NE(refusal().find("not known without a scan"), std::string::npos);
}

TEST_F(Patch, WithDamagedOriginsOrRangesIsRefusedOrUnaffected) {
  candidate("1.0;", "1.0f;");
  knob("src/config.h", "64");
  request.candidate.values["BLOCK"] = 128;
  ApplyRequest sound = request;
  auto intact = plan();
  ASSERT_TRUE(intact.ok()) << intact.error().message;
  int refused = 0, planned = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    request = sound;
    uint32_t r = seed * 2654435761u;
    LineOrigin& origin = request.mep.origins[r % request.mep.origins.size()];
    if (seed % 4 == 0) origin.line = r >> 8;
    if (seed % 4 == 1) origin.file = seed % 8 ? "src/gone.cu" : "../../../etc/passwd";
    if (seed % 4 == 2) request.mep.knobs[0].value_range = {"src/config.h", r >> 16, r >> 20, 1, 1};
    if (seed % 4 == 3) request.mep.origins.resize(r % 7);
    auto patch = plan();
    if (!patch.ok()) {
      ++refused;
      EXPECT_TRUE(patch.error().exit == Exit::Refused || patch.error().exit == Exit::Environment)
          << patch.error().message;
    } else {
      ++planned;
      EXPECT_EQ(patch->diff(), intact->diff()) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 200) << "every damaged range and every missing origin must be noticed";
  EXPECT_GT(planned, 0) << "the origin of the extractor's own line does not matter";
}

}  // namespace
}  // namespace kernelift::reintegrate
