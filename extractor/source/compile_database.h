// compile_commands.json, read: which files the application compiles as CUDA or HIP, in which folder, by which command.
// Files are CUDA by command (-x cu), not by suffix; response files are expanded here so that later stages need not.
// The search for a database when the user names none is here too.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/toolchain/nvcc_command.h"

namespace kernelift::extractor {

/// One compile of one GPU source file.
struct UnitCommand {
  std::string file;               ///< Absolute, normalised.
  std::string folder;             ///< The command's working folder; relative paths count from here.
  std::vector<std::string> argv;  ///< Response files expanded.
  CompilerCommand parsed;
  bool hip = false;
  std::string arch = {};  ///< Architecture to parse for: "sm_90"; empty: newest_architecture().
};

struct CompileDatabase {
  std::string path;
  std::vector<UnitCommand> units;     ///< GPU units only, in the database's order, each file and output once.
  size_t host_commands = 0;           ///< Number of compiles of plain C and C++, which are ignored.
  std::vector<std::string> problems;  ///< Entries that could not be understood, one sentence each.
  std::vector<std::string> missing;   ///< Files that the database names and that do not exist.
};

/// Reads and understands `file`; an Error when it is not a compile database, names no GPU source, or is stale
/// (every GPU source it names is gone).
Result<CompileDatabase> read_compile_database(const std::filesystem::path& file);

/// The database to use: `given` (a file, or a folder that holds compile_commands.json), else the one that `kernelift
/// build` wrote under `root`/.kernelift, else build/, the root itself, or any build*/ folder. The Error lists the
/// folders that were searched.
Result<std::filesystem::path> find_compile_database(const std::string& given, const std::filesystem::path& root);

}  // namespace kernelift::extractor
