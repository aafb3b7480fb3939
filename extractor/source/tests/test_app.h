// A small application for tests: files from strings in a temporary folder, a compile database over some of them, and a
// call that scans it.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/tests/slot_folder.h"
#include "extractor/scan/scan.h"
#include "extractor/source/parsed_unit.h"

namespace kernelift::extractor::apps {

class TestApp {
 public:
  /// Adds a file that is not compiled by itself, such as a header.
  TestApp& header(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_atomically(root() / name, text).ok());
    return *this;
  }
  TestApp& unit(const std::string& name, const std::string& text, std::vector<std::string> flags = {"-std=c++14"}) {
    return header(name, text).again(name, name + ".o", flags);
  }

  /// Adds one more compile command for a unit's file.
  TestApp& again(const std::string& name, const std::string& output, const std::vector<std::string>& flags) {
    std::vector<std::string> command = {"nvcc"};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-c", name, "-o", output});
    database_.push_back({{"directory", root().string()}, {"file", name}, {"arguments", command}});
    return *this;
  }

  /// Replaces a unit's compile commands by one with these flags.
  TestApp& recompile(const std::string& name, const std::vector<std::string>& flags) {
    std::erase_if(database_.get_ref<Json::array_t&>(), [&](auto& entry) { return entry["file"] == name; });
    return again(name, name + ".o", flags);
  }

  /// Sets the compiler of all units so far, instead of nvcc.
  TestApp& compiler(const std::string& name) {
    for (auto& entry : database_) entry["arguments"][0] = name;
    return *this;
  }

  std::filesystem::path root() const { return std::filesystem::canonical(folder_.path()); }
  std::filesystem::path database() const {
    auto file = root() / "compile_commands.json";
    EXPECT_TRUE(write_json(file, database_).ok());
    return file;
  }
  ScanIndex scan(ScanOptions options = {}) const {
    options.root = root(), options.compile_database = database();
    read_headers_of_later_tests(options.compile_database);
    auto index = scan_application(options);
    EXPECT_TRUE(index.ok()) << index.error().message;
    return index.ok() ? std::move(index).value() : ScanIndex{};
  }
  std::string text(const SourceRange& range) const {
    auto whole = read_text(range.file);
    return whole.ok() && range.end <= whole->size() ? whole->substr(range.begin, range.end - range.begin) : "";
  }

 private:
  /// Each unit is parsed in a process of its own, which would parse the forced headers again each time. From the second
  /// test with the same flags on, they are therefore precompiled here before the processes are forked.
  static void read_headers_of_later_tests(const std::string& database) {
    static std::set<std::string> seen;
    auto found = read_compile_database(database);
    if (!found.ok()) return;
    for (auto& unit : found->units)
      if (!seen.insert(header_flags(unit)).second) read_headers_ahead(unit);
  }

  SlotFolder folder_;
  Json database_ = Json::array();
};

inline const ScannedKernel& only(const ScanIndex& index, const std::string& word) {
  auto found = index.find(word);
  EXPECT_EQ(found.size(), 1u) << "kernels called " << word;
  static const ScannedKernel none;
  return found.empty() ? none : *found.front();
}

inline const Knob* knob(const ScanIndex& index, const std::string& name) {
  for (auto& one : index.knobs)
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace kernelift::extractor::apps
