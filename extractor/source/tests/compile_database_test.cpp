// Compile databases as builds write them, and damaged ones.
#include "extractor/source/compile_database.h"

#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::TestApp;

TEST(CompileDatabase, FindsGpuUnitsByCommandNotBySuffix) {
  TestApp app;
  app.unit("a.cpp", "__global__ void k() {}\n", {"-x", "cu"}).unit("b.cu", "").unit("c.cpp", "int main() {}\n", {});
  auto database = read_compile_database(app.database());
  ASSERT_TRUE(database.ok()) << database.error().message;
  ASSERT_EQ(database->units.size(), 2u);
  EXPECT_EQ(database->units[0].file, (app.root() / "a.cpp").string());
  EXPECT_EQ(database->host_commands, 1u);
}

TEST(CompileDatabase, ReadsResponseFilesAndShellQuoting) {
  TestApp app;
  app.header("flags.rsp", "-DNAME=\"\\\"two words\\\"\" -Iinclude\n").header("a.cu", "");
  Json entry = {{"directory", app.root().string()},
                {"file", "a.cu"},
                {"command", "nvcc --options-file flags.rsp '-DX=a b' -c a.cu"}};
  ASSERT_TRUE(write_json(app.root() / "db.json", Json::array({entry})).ok());
  auto database = read_compile_database(app.root() / "db.json");
  ASSERT_TRUE(database.ok()) << database.error().message;
  auto& flags = database->units[0].parsed.preprocessor;
  auto has = [&](const std::string& wanted) {
    for (auto& flag : flags)
      if (flag.find(wanted) != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(has("X=a b"));
  EXPECT_TRUE(has("two words"));
  EXPECT_TRUE(has("include"));
}

TEST(CompileDatabase, LastCommandForAFileAndOutputWins) {
  TestApp app;
  app.unit("a.cu", "", {"-DOLD"}).unit("a.cu", "", {"-DNEW"});
  auto database = read_compile_database(app.database());
  ASSERT_TRUE(database.ok());
  ASSERT_EQ(database->units.size(), 1u);
  EXPECT_EQ(database->units[0].argv[1], "-DNEW");
}

TEST(CompileDatabase, AStaleOneGivesAnErrorThatSaysSo) {
  TestApp app;
  app.unit("gone.cu", "");
  auto file = app.database();
  std::filesystem::remove(app.root() / "gone.cu");
  auto database = read_compile_database(file);
  ASSERT_FALSE(database.ok());
  EXPECT_NE(database.error().message.find("stale"), std::string::npos) << database.error().message;
  EXPECT_EQ(database.error().exit, Exit::Environment);
}

TEST(CompileDatabase, AnEmptyOneGivesAnErrorThatSaysItListsNoCommands) {
  TestApp app;
  auto database = read_compile_database(app.database());
  ASSERT_FALSE(database.ok());
  EXPECT_NE(database.error().message.find("lists no commands"), std::string::npos) << database.error().message;
}

TEST(CompileDatabase, NoneFoundGivesAnErrorThatNamesKerneliftBuild) {
  TestApp app;
  auto found = find_compile_database("", app.root());
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("kernelift build"), std::string::npos);
  EXPECT_EQ(find_compile_database((app.root() / "nowhere").string(), app.root()).error().exit, Exit::Usage);
}

TEST(CompileDatabase, PrefersTheOneThatOurBuildWrote) {
  TestApp app;
  app.header("build/compile_commands.json", "[]").header(".kernelift/compile_commands.json", "[]");
  auto found = find_compile_database("", app.root());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, app.root() / ".kernelift/compile_commands.json");
}

TEST(CompileDatabase, DamageGivesAClearErrorOrFewerUnitsNeverACrash) {
  TestApp app;
  app.unit("a.cu", "").unit("b.cu", "", {"-DX=1", "-Iinc"});
  std::string good = std::move(read_text(app.database())).value();
  auto file = app.root() / "damaged.json";
  for (size_t i = 0; i < good.size(); i += 3)
    for (int kind = 0; kind < 3; ++kind) {
      std::string bad = good;
      if (kind == 0) bad.resize(i);
      if (kind == 1) bad[i] = static_cast<char>(bad[i] ^ 0x15);
      if (kind == 2) bad.erase(i, 7);
      ASSERT_TRUE(write_atomically(file, bad).ok());
      auto database = read_compile_database(file);
      if (!database.ok()) {
        EXPECT_NE(database.error().message.find("kernelift build"), std::string::npos) << database.error().message;
      }
    }
}

}  // namespace
}  // namespace kernelift::extractor
