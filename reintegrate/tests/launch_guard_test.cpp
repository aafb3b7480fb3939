// What a patched launch asks before it launches the candidate: in which words, in which types, and what it need not
// ask.
#include "reintegrate/patch/launch/launch_guard.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/tests/expression_literal.h"
#include "reintegrate/tests/edited_launch.h"

namespace kernelift::reintegrate {
namespace {

struct GuardedLaunch : Launch {
  GuardedLaunch(const std::string& grid, const std::string& block, const char* asks) : Launch(grid, block) {
    guard = LaunchGuard({Premise::holds(*expression_of(asks))});
    site.grid_form = site.block_form = "number";
    mep.instances[0].geometry = {{8, 1, 1}, {64, 1, 1}, 0, false};
    mep.parameters.resize(2);
    mep.parameters[0].name = "count", mep.parameters[1].name = "m";
    for (auto& parameter : mep.parameters) parameter.scalar = "long";
    launch.grid[0] = *expression_of("ceil_div(gx * 64, 256)"), launch.block[0] = *expression_of("256");
    source[source.find('{')] = '(';  // It is an argument of something.
  }
};

/// What becomes of `before`, in which `k<<<g, 64>>>(n)` is launched in larger blocks where n % 4 == 0.
std::string launched_in(const std::string& before) {
  GuardedLaunch l("(n + 63) / 64", "64", "count % 4 == 0");
  l.source = before;
  const std::string grid = "(n + 63) / 64";
  const size_t at = before.find("k<<<"), end = before.find(">>>(n)", at) + 6, begin = at + 4;
  auto line = [](size_t from, size_t to) { return SourceRange{"f.cu", from, to, 1, 1}; };
  l.site.range = line(at, end), l.site.kernel_range = line(at, at + 1);
  l.site.grid_range = line(begin, begin + grid.size());
  l.site.block_range = line(begin + grid.size() + 2, begin + grid.size() + 4);
  l.site.argument_types = {{0, "long"}};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, l.guard, "k_tuned");
  if (!edits.ok()) return edits.error().message;
  std::string text = l.source;
  for (auto edit = edits->edits.rbegin(); edit != edits->edits.rend(); ++edit)
    text.replace(edit->begin, edit->end - edit->begin, edit->text);
  return text;
}

TEST(LaunchGuard, OfAStatementWritesBothLaunches) {
  EXPECT_EQ(launched_in("void f() {\n  k<<<(n + 63) / 64, 64>>>(n);  // Go.\n}\n"),
            "void f() {\n"
            "  if (n % 4 == 0) k_tuned<<<(n + 255) / 256, 256>>>(n);\n"
            "  else k<<<(n + 63) / 64, 64>>>(n);  // Go.\n}\n");
  EXPECT_EQ(launched_in("void f() {\n    if (x > (1))\n        k<<<(n + 63) / 64, 64>>>(n);\n    else g();\n}\n"),
            "void f() {\n    if (x > (1)) {\n"
            "        if (n % 4 == 0) k_tuned<<<(n + 255) / 256, 256>>>(n);\n"
            "        else k<<<(n + 63) / 64, 64>>>(n);\n"
            "    }\n    else g();\n}\n");
  EXPECT_EQ(launched_in("void f() {\n\tfor (;;) k<<<(n + 63) / 64, 64>>>(n);\n}\n"),
            "void f() {\n\tfor (;;) {\n"
            "\t\tif (n % 4 == 0) k_tuned<<<(n + 255) / 256, 256>>>(n);\n"
            "\t\telse k<<<(n + 63) / 64, 64>>>(n);\n"
            "\t}\n}\n");
}

TEST(LaunchGuard, AsksAtEachPartOfALaunchThatCannotBeWrittenTwice) {
  for (auto* around :
       {"CHECK(k<<<(n + 63) / 64, 64>>>(n));\n", "x = (int)k<<<(n + 63) / 64, 64>>>(n);\n",
        "#if (X)\nk<<<(n + 63) / 64, 64>>>(n);\n#endif\n", "#if X\n#else\nk<<<(n + 63) / 64, 64>>>(n);\n#endif\n",
        "#define GO k<<<(n + 63) / 64, 64>>>(n);\n", "; if (x) /* why */ k<<<(n + 63) / 64, 64>>>(n);\n"})
    EXPECT_NE(launched_in(around).find("(n % 4 == 0 ? k_tuned : k)<<<(n % 4 == 0) ? (n + 255) / 256 : (n + 63) / 64"),
              std::string::npos)
        << launched_in(around);
}

TEST(LaunchGuard, AsksThePremiseInTheLaunchsOwnWordsAndElseLaunchesAsBefore) {
  EXPECT_EQ(GuardedLaunch("(n + 63) / 64", "64", "count > 0 && (count - 1) % 256 >= 192").result(),
            "<<<((long long)(n) > 0 && ((long long)(n) - 1) % 256 >= 192) ? (n + 255) / 256 : (n + 63) / 64, "
            "((long long)(n) > 0 && ((long long)(n) - 1) % 256 >= 192) ? 256 : 64>>>");
}

TEST(LaunchGuard, GivesBothSidesOfAPremiseOneType) {
  GuardedLaunch l("grid", "dim3(64)", "count % 256 == 0");
  l.site.grid_form = "dim3", l.site.block_form = "dim3";
  EXPECT_EQ(l.result(),
            "<<<((long long)(n) % 256 == 0) ? dim3((grid.x + 3) / 4, grid.y, grid.z) : dim3(grid), "
            "((long long)(n) % 256 == 0) ? dim3(256) : dim3(64)>>>");
}

TEST(LaunchGuard, BreaksTheLineOfAChoice) {
  GuardedLaunch l("(n + 63) / 64", "64", "count % 256 == 0");
  l.site.argument_types = {{0, "long"}}, l.source.resize(l.source.find("//"));
  EXPECT_EQ(l.result(),
            "<<<(n % 256 == 0) ? (n + 255) / 256 : (n + 63) / 64,\n"
            "                    (n % 256 == 0) ? 256 : 64>>>");
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, l.guard, std::string(40, 't'));
  ASSERT_TRUE(edits.ok() && edits->edits.size() == 2u) << edits.error().message;
  EXPECT_EQ(edits->edits[1].text, "\n    (n % 256 == 0) ? (n + 255) / 256 : (n + 63) / 64, (n % 256 == 0) ? 256 : 64");
}

TEST(LaunchGuard, AsksForTheGridThatWasWritten) {
  EXPECT_EQ(GuardedLaunch("(n + 63) / 64", "64", "gridDim.x % 4 == 0").result(),
            "<<<(dim3((n + 63) / 64).x % 4 == 0) ? (n + 255) / 256 : (n + 63) / 64, "
            "(dim3((n + 63) / 64).x % 4 == 0) ? 256 : 64>>>");
}

TEST(LaunchGuard, RefusesAPremiseThatTheLaunchCannotAsk) {
  GuardedLaunch unknown("(n + 63) / 64", "64", "width % 4 == 0");
  EXPECT_NE(unknown.result().find("has no plain text for width"), std::string::npos) << unknown.result();
  GuardedLaunch called("(n + 63) / 64", "64", "count % 4 == 0");
  called.site.argument_text[0] = "next(n++)", called.site.unrepeatable_arguments = {0};
  EXPECT_NE(called.result().find("has no plain text for count"), std::string::npos) << called.result();
  GuardedLaunch knob("(n + 63) / 64", "64", "count % 4 == 0");
  knob.changed = {{"B", 32}};
  EXPECT_NE(knob.result().find("one constant for all launches"), std::string::npos) << knob.result();
}

TEST(LaunchGuard, ChoosesBetweenTwoKernels) {
  auto choose = [](const std::string& callee, const std::string& kernel = "k") {
    Launch l("grid", "block");
    l.mep.kernel_name = kernel;
    const size_t at = l.source.find("k<<<");
    l.source.replace(at, 1, callee);
    for (auto* range : {&l.site.grid_range, &l.site.block_range})
      range->begin += callee.size() - 1, range->end += callee.size() - 1;
    l.site.range.end += callee.size() - 1;
    l.site.kernel_range = {"f.cu", at, at + callee.size(), 1, 1};
    l.mep.parameters = {{"n", "int", "", false, "int"}};
    l.site.argument_types = {{0, "int"}};
    const LaunchGuard guard({Premise::holds("n % 4 == 0"_e)});
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
    return !edits.ok() ? edits.error().message : edits->edits.empty() ? "no edit" : edits->edits[0].text;
  };
  EXPECT_EQ(choose("k"), "(n % 4 == 0 ? k_tuned : k)");
  EXPECT_EQ(choose("app::k"), "(n % 4 == 0 ? app::k_tuned : app::k)");
  for (auto* other : {"k<float>", "(*pointer)", "table[i]"})
    EXPECT_NE(choose(other).find("does not spell the kernel in front of <<<"), std::string::npos) << choose(other);
  // Of a template an instance is named, as the launch spells it or as it was recorded.
  EXPECT_EQ(choose("app::k <T, 8>", "app::k<float, 8>"), "(n % 4 == 0 ? app::k_tuned<T, 8> : app::k <T, 8>)");
  EXPECT_EQ(choose("k", "k<float, 8>"), "(n % 4 == 0 ? k_tuned<float, 8> : k<float, 8>)");
  EXPECT_NE(choose("table<4>[i]", "k<4>").find("does not spell the kernel"), std::string::npos);
}

TEST(LaunchGuard, AMacroThatSpellsTheKernelsNameCannotChoose) {
  Launch l("grid", "block");
  l.site.through_macro = true;
  l.mep.parameters = {{"n", "int", "", false, "int"}};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, LaunchGuard({Premise::holds("n > 4"_e)}),
                           "k_tuned");
  ASSERT_FALSE(edits.ok());
  EXPECT_NE(edits.error().message.find("written by a macro that spells the kernel's name"), std::string::npos);
}

TEST(LaunchGuard, AsksForAMemberOfAStructure) {
  auto asked = [](const std::string& argument, std::set<size_t> unrepeatable = {},
                  const char* premise = "view.size.x % 4 == 0") {
    Launch l("grid", "block");
    l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
    l.mep.parameters = {{"view", "View", "", false, ""}};
    l.site.argument_text = {argument}, l.site.unrepeatable_arguments = std::move(unrepeatable);
    const LaunchGuard guard({Premise::holds(*expression_of(premise))});
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
    return edits.ok() ? edits->edits.at(0).text : edits.error().message;
  };
  EXPECT_EQ(asked("grids[i]"), "((grids[i]).size.x % 4 == 0 ? k_tuned : k)");
  EXPECT_EQ(asked("grid"), "(grid.size.x % 4 == 0 ? k_tuned : k)");
  EXPECT_EQ(asked("grid", {}, "view.sizes[1] % 4 == 0"), "(grid.sizes[1] % 4 == 0 ? k_tuned : k)");
  EXPECT_EQ(asked("grid", {}, "view.size.x >= 1 - view.size.x"),
            "((__int128)(grid.size.x) >= 1 - (__int128)(grid.size.x) ? k_tuned : k)");
  EXPECT_NE(asked("make_view(x)", {0}).find("no plain text for view.size.x"), std::string::npos);
}

TEST(LaunchGuard, AsksItsOwnBlockAndNumbersAsTheKernelGetsThem) {
  Launch l("(n + t - 1) / t", "t");
  l.mep.parameters = {{"n", "unsigned int", "", false, "unsigned int"}};
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  l.site.argument_text = {"count"};
  const LaunchGuard guard({Premise::holds("blockDim.x == 128"_e), Premise::holds("n <= 1024"_e)});
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
  ASSERT_TRUE(edits.ok()) << edits.error().message;
  EXPECT_EQ(edits->edits.at(0).text,
            "((dim3(t).x == 128) && ((long long)(unsigned int)(count) <= 1024) ? k_tuned : k)");
}

/// The condition as a launch asks it that passes `a` for the kernel's `x` and `b` for its `y`, both of this type.
std::string asked_of(const char* condition, const std::string& type, const std::map<size_t, std::string>& types = {}) {
  Launch l("grid", "block");
  l.site.argument_types = types;
  l.mep.parameters = {{"x", type, "", false, type}, {"y", type, "", false, type}, {"v", "View", "", false, ""}};
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  l.site.argument_text = {"a", "b", "view"};
  auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false,
                           LaunchGuard({Premise::holds(*expression_of(condition))}), "k_tuned");
  if (!edits.ok()) return edits.error().message;
  const std::string text = edits->edits.at(0).text;
  return text.substr(1, text.find(" ? k_tuned") - 1);
}

TEST(LaunchGuard, NoProductOfWhatALaunchPassesOverflowsInItsGuard) {
  EXPECT_EQ(asked_of("x * y <= 2147483647", "int"), "(long long)(int)(a) * (long long)(int)(b) <= 2147483647");
  EXPECT_EQ(asked_of("x * y * x <= 2147483647", "int"),
            "(__int128)(int)(a) * (__int128)(int)(b) * (__int128)(int)(a) <= 2147483647");
  EXPECT_EQ(asked_of("x * y <= 2147483647", "long"), "(__int128)(long)(a) * (__int128)(long)(b) <= 2147483647");
  EXPECT_EQ(asked_of("(x - 1) % 256 >= 192", "long long"), "((__int128)(long long)(a) - 1) % 256 >= 192");
  EXPECT_EQ(asked_of("v.n * v.m <= 2147483647", "int"), "(__int128)(view.n) * (__int128)(view.m) <= 2147483647");
  EXPECT_EQ(asked_of("x <= 65536 && y <= 65536 && x >= 0 && y >= 0 && x * y <= 2147483647", "long"),
            "(long long)(a) <= 65536 && (long long)(b) <= 65536 && (long long)(a) >= 0 && (long long)(b) >= 0 && "
            "(long long)(a) * (long long)(b) <= 2147483647")
      << "what is asked before is known behind";
  for (auto* too_much : {"x * y * x * y <= 2147483647", "x % y == 0"})
    EXPECT_NE(asked_of(too_much, "unsigned long").find("cannot be computed at a launch without overflow"),
              std::string::npos)
        << too_much;
}

TEST(LaunchGuard, ComparesInTheTypeThatTheLaunchHasWhereNothingOverflowsInIt) {
  auto asked = [](const char* condition, const std::string& type, const std::string& other = "") {
    return asked_of(condition, type, {{0, type}, {1, other.empty() ? type : other}});
  };
  EXPECT_EQ(asked("x >= 1", "int"), "a >= 1");
  EXPECT_EQ(asked("x % 4 == 0 && y <= 1024", "unsigned int"), "a % 4 == 0 && b <= 1024");
  EXPECT_EQ(asked("x < y", "long"), "a < b");
  EXPECT_EQ(asked("x * y <= 65536", "unsigned char"), "a * b <= 65536") << "int is wide enough";
  EXPECT_EQ(asked("x - 1 <= 5", "int"), "(long long)(a) - 1 <= 5") << "the least int has no number before it";
  EXPECT_EQ(asked("x <= y", "int", "long"), "(long long)(a) <= (long long)(int)(b)") << "the kernel gets an int";
  EXPECT_EQ(asked("x >= -1", "unsigned int"), "(long long)(a) >= -1");
}

TEST(LaunchGuard, DoesNotAskWhatTheLaunchStates) {
  Launch l("dim3(n / 64, 8)", "64");
  l.mep.parameters = {{"n", "int", "", false, "int"}, {"m", "int", "", false, "int"}};
  l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
  l.site.argument_text = {"n", "1024"}, l.site.argument_types = {{0, "int"}, {1, "int"}};
  auto launched = [&](const char* condition) {
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false,
                             LaunchGuard({Premise::holds(*expression_of(condition))}), "k_tuned");
    return edits.ok() ? edits->edits.at(0).text : edits.error().message;
  };
  EXPECT_EQ(launched("m % 4 == 0 && gridDim.y <= 8191"), "k_tuned");
  EXPECT_EQ(launched("n >= 1 && blockDim.x == 64"), "(n >= 1 ? k_tuned : k)");
  EXPECT_EQ(launched("m % 5 == 0 || n >= 1"), "(n >= 1 ? k_tuned : k)");
}

TEST(LaunchGuard, AsksAnUnsignedNumberForItsSign) {
  EXPECT_EQ(asked_of("x < 2147483648", "unsigned int"), "(long long)(unsigned int)(a) < 2147483648");
  EXPECT_EQ(asked_of("x <= 9223372036854775807 && x % 4 == 0", "unsigned long"),
            "(unsigned long long)(unsigned long)(a) <= 9223372036854775807 && "
            "(long long)(unsigned long)(a) % 4 == 0");
  EXPECT_EQ(asked_of("v.n <= 9223372036854775807", "int"), "view.n <= 9223372036854775807");
}

TEST(LaunchGuard, AsksForTheAlignmentOfWhatTheLaunchIsGiven) {
  auto asked = [](const std::string& argument, std::set<size_t> unrepeatable = {},
                  const char* premise = "view.size.x % 4 == 0") {
    Launch l("grid", "block");
    l.mep.parameters = {{"x", "float *", "float", false, ""}};
    l.site.kernel_range = {"f.cu", 16, 17, 1, 1};
    l.site.argument_text = {argument}, l.site.unrepeatable_arguments = std::move(unrepeatable);
    const LaunchGuard guard({Premise::aligned("x", 16)});
    auto edits = edit_launch(l.mep, l.site, l.launch, {}, {}, l.source, false, guard, "k_tuned");
    return edits.ok() ? edits->edits.at(0).text : edits.error().message;
  };
  EXPECT_EQ(asked("pool + n"), "((unsigned long long)(pool + n) % 16 == 0 ? k_tuned : k)");
  for (auto* unclear : {"next(pool)", "pool++", ""})
    EXPECT_NE(asked(unclear, {0})
                  .find("would have to ask whether x is a multiple of 16 bytes, and the launch has no plain "
                        "text for x"),
              std::string::npos)
        << asked(unclear, {0});
}

TEST(LaunchGuard, HasThePremiseOfTheSizesAndTheWidestAlignments) {
  Candidate candidate;
  candidate.steps.resize(1);
  candidate.steps[0].premises = {Premise::aligned("x", 8), Premise::aligned("y", 16), Premise::no_overlap({"x", "y"}),
                                 Premise::holds("n > 3"_e, 7)};
  Verdict figures;
  Mep mep;
  EXPECT_EQ(guard_of(candidate, figures, mep).text(), "x is a multiple of 8 bytes and y is a multiple of 16 bytes")
      << "n is no parameter";
  mep.parameters = {{"n", "int", "", false, "int"}};
  EXPECT_EQ(guard_of(candidate, figures, mep).text(),
            "x is a multiple of 8 bytes and y is a multiple of 16 bytes and n > 3");
  candidate.steps[0].premises = {Premise::holds("blockDim.x % 32 == 0"_e)};
  EXPECT_EQ(guard_of(candidate, figures, mep).text(), "blockDim.x % 32 == 0");
  mep.launches.resize(1), mep.launches[0].block[0] = "B"_e;
  mep.constants["B"] = 64;
  EXPECT_TRUE(guard_of(candidate, figures, mep).empty()) << "so it is at every launch";
  mep.launches.push_back(mep.launches[0]), mep.launches[1].block[0] = "threads"_e;
  EXPECT_EQ(guard_of(candidate, figures, mep).text(), "blockDim.x % 32 == 0");
  candidate.steps[0].premises = {Premise::aligned("x", 8), Premise::aligned("y", 16), Premise::no_overlap({"x", "y"}),
                                 Premise::holds("n > 3"_e, 7)};
  figures.other_sizes.emplace();
  figures.other_sizes->premise = "n % 4 == 0"_e, figures.other_sizes->known = OtherSizes::Known::Not;
  EXPECT_NE(guard_of(candidate, figures, mep).text().find("n > 3"), std::string::npos)
      << "what a step takes for granted is asked beside the premise of what is not known";
  figures.other_sizes->known = OtherSizes::Known::UnderPremise;
  figures.other_sizes->assumptions = {Premise::aligned("x", 16), Premise::no_overlap({"x"})};
  const LaunchGuard guard = guard_of(candidate, figures, mep);
  EXPECT_EQ(guard.text(), "n % 4 == 0 and x is a multiple of 16 bytes and y is a multiple of 16 bytes");
  const AskedNumber number{"int", [](const std::string& type) { return "(" + type + ")(m)"; }};
  EXPECT_EQ(*guard.cpp({{"n", number}}, {{"x", "p"}, {"y", "q"}}),
            "((long long)(m) % 4 == 0) && (p % 16 == 0) && (q % 16 == 0)");
  EXPECT_TRUE(guard_of({}, {}, mep).empty());
}

TEST(LaunchGuard, AsksNothingThatHoldsForTheConstantsOfAllLaunches) {
  Verdict figures;
  figures.other_sizes.emplace();
  figures.other_sizes->premise = "n > 0 && n % 4 == 0"_e, figures.other_sizes->known = OtherSizes::Known::UnderPremise;
  Mep mep;
  mep.parameters = {{"n", "int", "", false, "int"}};
  mep.launches.resize(1), mep.launches[0].argument_text = {"ROWS"};
  mep.constants["ROWS"] = 512;
  EXPECT_TRUE(guard_of({}, figures, mep).empty());
  mep.constants["ROWS"] = 510;
  EXPECT_FALSE(guard_of({}, figures, mep).empty());
  mep.constants["ROWS"] = 512, mep.unseen_launches = "its address is taken";
  EXPECT_FALSE(guard_of({}, figures, mep).empty());
  mep.unseen_launches.clear(), mep.launches.push_back(mep.launches[0]), mep.launches[1].argument_text = {"rows"};
  EXPECT_FALSE(guard_of({}, figures, mep).empty());
}

}  // namespace
}  // namespace kernelift::reintegrate
