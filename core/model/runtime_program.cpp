// See runtime_program.h.
#include "core/model/runtime_program.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/base/json.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr const char* kProgramFormat = "kernelift-program";
constexpr int kProgramVersion = 1;
constexpr const char* kProgramFile = "program.json";
constexpr const char* kImage = "image";

}  // namespace

Hash RuntimeProgram::key() const {
  return hash_text(compact({{"source", source}, {"headers", headers}, {"options", options}, {"names", names}}));
}

std::string RuntimeProgram::file_name() const {
  std::string stem = fs::path(name).stem().string();
  std::erase_if(stem, [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-' && c != '.'; });
  if (stem.empty() || stem.starts_with('.')) stem = "program";
  return stem + ".cu";
}

Status RuntimeProgram::write(const fs::path& parent) const {
  const fs::path folder = parent / key().hex();
  std::error_code code;
  if (fs::exists(folder / kProgramFile, code)) return done();
  fs::create_directories(folder, code);
  if (code) return environment_error("cannot create " + folder.string() + ": " + code.message());
  KERNELIFT_TRY(write_atomically(folder / kImage, std::string_view(image)));
  Json document = artefact(kProgramFormat, kProgramVersion, kProgramVersion);
  document.update({{"name", name},
                   {"source", source},
                   {"headers", headers},
                   {"options", options},
                   {"names", names},
                   {"caller", caller},
                   {"command", command}});
  return write_json(folder / kProgramFile, document);
}

Result<RuntimeProgram> RuntimeProgram::read(const fs::path& folder) {
  KERNELIFT_ASSIGN(Json document, read_json(folder / kProgramFile));
  KERNELIFT_TRY(check_artefact(document, kProgramFormat, kProgramVersion, (folder / kProgramFile).string()));
  KERNELIFT_ASSIGN(std::string image, read_text(folder / kImage));
  return reading((folder / kProgramFile).string(), [&] {
    RuntimeProgram program;
    program.name = document.at("name"), program.source = document.at("source");
    program.headers = document.at("headers").get<std::map<std::string, std::string>>();
    program.options = document.at("options").get<std::vector<std::string>>();
    program.names = document.at("names").get<std::map<std::string, std::string>>();
    program.caller = document.at("caller");
    program.command = document.at("command").get<std::vector<std::string>>();
    program.image = std::move(image);
    return program;
  });
}

std::vector<RuntimeProgram> runtime_programs(const fs::path& capture) {
  std::vector<RuntimeProgram> programs;
  for (auto& folder : paths_in(capture / kProgramsFolder))
    if (auto program = RuntimeProgram::read(folder); program.ok()) programs.push_back(std::move(*program));
  return programs;
}

}  // namespace kernelift
