// See cmake_answer.h.
#include "reintegrate/flags/cmake_answer.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/base/process.h"
#include "reintegrate/app_commands.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr const char *kClient = "client-kernelift", *kModel = "codemodel-v2", *kFiles = "cmakeFiles-v1";
constexpr std::chrono::minutes kConfigureLimit{10};

/// The document that CMake answered last to the query.
Result<Json> answer(const fs::path& reply, const char* query) {
  fs::path index;
  for (auto& path : paths_in(reply))
    if (path.filename().string().starts_with("index-")) index = path;  // Their names sort by age.
  if (index.empty()) return refused("CMake does not answer queries here; it has to be 3.14 or newer");
  KERNELIFT_ASSIGN(Json json, read_json(index));
  KERNELIFT_ASSIGN(std::string file, reading(index.string(), [&] {
                     return json.at("reply").at(kClient).at(query).at("jsonFile").get<std::string>();
                   }));
  return read_json(reply / file);
}

}  // namespace

/// A query in the build folder as long as this object lives. What it brought is removed with it.
class CmakeAnswer::Query {
 public:
  explicit Query(fs::path build) : api_(std::move(build) / ".cmake" / "api") {
    std::error_code code;
    existed_ = fs::exists(api_, code), parent_existed_ = fs::exists(api_.parent_path(), code);
  }
  Query(const Query&) = delete;
  ~Query() {
    std::error_code code;
    if (!existed_) fs::remove_all(api_, code);
    else fs::remove_all(api_ / "v1" / "query" / kClient, code);
    if (!parent_existed_) fs::remove(api_.parent_path(), code);  // Unless something else is in it.
  }
  Status ask() const {
    for (const char* query : {kModel, kFiles})
      KERNELIFT_TRY(write_atomically(api_ / "v1" / "query" / kClient / query, std::string_view()));
    return done();
  }
  fs::path reply() const { return api_ / "v1" / "reply"; }

 private:
  fs::path api_;
  bool existed_ = false, parent_existed_ = false;
};

int CmakeAnswer::Target::group_of(const fs::path& file, const fs::path& top) const {
  for (auto& source : document.value("sources", Json::array())) {
    std::error_code code;
    if (source.contains("compileGroupIndex") &&
        fs::weakly_canonical(top / source.at("path").get<std::string>(), code) == file)
      return source.at("compileGroupIndex").get<int>();
  }
  return -1;
}

Result<CmakeAnswer> CmakeAnswer::ask(const fs::path& build_folder, const fs::path& unit) {
  auto cmake = find_program("cmake");
  if (!cmake) return refused(build_folder.string() + " was made by CMake, but cmake is not on PATH");
  const Query query(build_folder);
  KERNELIFT_TRY(query.ask());
  ProcessOptions options;
  options.timeout = kConfigureLimit;
  KERNELIFT_ASSIGN(ProcessOutcome configured, run_process({cmake->string(), build_folder.string()}, options));
  if (!configured.ok())
    return refused("CMake was asked which target compiles " + unit.string() + ", and it " + configured.describe() +
                   ":\n" + last_lines(configured.out + configured.err));
  KERNELIFT_ASSIGN(Json model, answer(query.reply(), kModel));
  KERNELIFT_ASSIGN(Json inputs, answer(query.reply(), kFiles));
  CmakeAnswer result;
  std::vector<std::pair<std::string, fs::path>> targets;  // Their documents and directories.
  auto read = reading("CMake's answer", [&] {
    result.top_ = model.at("paths").at("source").get<std::string>();
    const Json& configuration = model.at("configurations").at(0);
    for (auto& target : configuration.at("targets")) {
      auto& directory = configuration.at("directories").at(target.at("directoryIndex").get<size_t>());
      targets.emplace_back(target.at("jsonFile"), result.top_ / directory.at("source").get<std::string>());
    }
    for (auto& input : inputs.at("inputs"))
      if (!input.value("isGenerated", false) && !input.value("isExternal", false) && !input.value("isCMake", false))
        result.files_.push_back(result.top_ / input.at("path").get<std::string>());
    return true;
  });
  KERNELIFT_TRY(read);
  for (auto& [file, directory] : targets) {
    KERNELIFT_ASSIGN(Json document, read_json(query.reply() / file));
    std::error_code code;
    result.targets_.push_back({fs::weakly_canonical(directory, code), std::move(document)});
  }
  return result;
}

}  // namespace kernelift::reintegrate
