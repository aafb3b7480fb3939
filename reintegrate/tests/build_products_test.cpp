// Lists a tree whose folders come and go while it is read.
#include "reintegrate/tree/build_products.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

TEST(BuildProducts, AreListedCompletelyWhileTemporaryFoldersComeAndGo) {
  auto folder = TemporaryFolder::create("kernelift-listing");
  ASSERT_TRUE(folder.ok());
  const fs::path root = folder->path();
  constexpr size_t kFiles = 200;
  for (size_t i = 0; i < kFiles; ++i) {
    fs::create_directory(root / std::to_string(i));
    std::ofstream(root / std::to_string(i) / "file") << i;
  }
  std::atomic<bool> over{false};
  std::thread compiler([&] {
    std::error_code ignored;
    auto temporary = [&](size_t i) { return root / "tmp" / std::to_string(i); };
    while (!over) {
      for (size_t i = 0; i < kFiles && !over; ++i) fs::create_directories(temporary(i), ignored);
      for (size_t i = 0; i < kFiles && !over; ++i) fs::remove_all(temporary(i), ignored);
    }
    fs::remove_all(root / "tmp", ignored);
  });
  for (int repetition = 0; repetition < 10; ++repetition) {
    auto listed = list_files({root, root / "not-there"}, {});
    ASSERT_TRUE(listed.ok()) << listed.error().message;
    ASSERT_EQ(listed->size(), kFiles);
  }
  over = true;
  compiler.join();
}

}  // namespace
}  // namespace kernelift::reintegrate
