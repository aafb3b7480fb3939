// See runtime_source.h.
#include "extractor/extract/runtime_source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/within.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/cubin.h"
#include "extractor/scan/scan.h"

namespace fs = std::filesystem;

namespace kernelift::extractor {
namespace {

constexpr const char* kHeaders = "include";
constexpr const char* kInstances = "kernelift_instances.cu";
constexpr const char* kOrigin = "origin.json";
constexpr const char* kOriginFormat = "kernelift-program-origin";
constexpr int kOriginVersion = 1;

/// Options that NVRTC has and nvcc does not, without what follows an `=`.
constexpr auto kOwnOptions = std::to_array<std::string_view>({"--device-as-default-execution-space",
                                                              "-default-device",
                                                              "--builtin-move-forward",
                                                              "-builtin-move-forward",
                                                              "--builtin-initializer-list",
                                                              "-builtin-initializer-list",
                                                              "--minimal",
                                                              "-minimal",
                                                              "--no-source-include",
                                                              "-no-source-include",
                                                              "--no-cache",
                                                              "-no-cache",
                                                              "--pch",
                                                              "-pch",
                                                              "--create-pch",
                                                              "-create-pch",
                                                              "--use-pch",
                                                              "-use-pch",
                                                              "--pch-dir",
                                                              "-pch-dir",
                                                              "--pch-verbose",
                                                              "-pch-verbose",
                                                              "--pch-messages",
                                                              "-pch-messages",
                                                              "--instantiate-templates-in-pch",
                                                              "-instantiate-templates-in-pch",
                                                              "--disable-warnings",
                                                              "--version-ident",
                                                              "-version-ident",
                                                              "--time",
                                                              "-time",
                                                              "--fdevice-time-trace",
                                                              "-fdevice-time-trace",
                                                              "--dlink-time-opt",
                                                              "-dlto",
                                                              "--device-int128",
                                                              "-device-int128",
                                                              "--device-float128",
                                                              "-device-float128"});

/// Those whose value may be the next word.
constexpr auto kWithValue = std::to_array<std::string_view>(
    {"--create-pch", "-create-pch", "--use-pch", "-use-pch", "--pch-dir", "-pch-dir", "--version-ident",
     "-version-ident", "--time", "-time", "--fdevice-time-trace", "-fdevice-time-trace"});

/// PTX's entries: ".visible .entry NAME(".
std::vector<std::string> ptx_entries(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry ";
  std::vector<std::string> names;
  for (size_t at = 0; (at = ptx.find(kEntry, at)) != ptx.npos;) {
    at += kEntry.size();
    names.emplace_back(ptx.substr(at, ptx.find_first_of("( \t\n", at) - at));
  }
  return names;
}

bool defines(const RuntimeProgram& program, const CapturedInstance& instance) {
  auto kernels = kernels_of(program);
  return std::ranges::find(kernels, instance.mangled) != kernels.end();
}

}  // namespace

std::vector<std::string> kernels_of(const RuntimeProgram& program) {
  return is_cubin(program.image) ? cubin_kernels(program.image) : ptx_entries(program.image);
}

Result<std::optional<RuntimeProgram>> program_of(const Capture& capture, const std::vector<RuntimeProgram>& programs,
                                                 const CapturedInstance& instance) {
  std::vector<const RuntimeProgram*> named;
  for (auto& program : programs)
    if (defines(program, instance)) named.push_back(&program);
  if (named.empty()) return std::optional<RuntimeProgram>();
  if (instance.code.size > 0) {
    KERNELIFT_ASSIGN(auto code, capture.load(instance.code));
    const std::string_view ran(reinterpret_cast<const char*>(code.data()), code.size());
    for (auto* program : named)
      if (program->image == ran) return std::optional(*program);
  }
  if (named.size() == 1) return std::optional(*named[0]);
  std::string names;
  for (auto* program : named) names += "\n  " + program->name + " (" + join_command(program->options) + ")";
  return refused("the application compiled " + std::to_string(named.size()) + " programs by NVRTC that define " +
                 instance.kernel + ", and the recording does not say which of them ran:" + names);
}

std::vector<std::string> nvcc_options_of(const RuntimeProgram& program) {
  std::vector<std::string> options;
  for (size_t i = 0; i < program.options.size(); ++i) {
    const std::string& option = program.options[i];
    const std::string name = option.substr(0, option.find('='));
    if (std::ranges::find(kOwnOptions, name) == kOwnOptions.end()) {
      options.push_back(option);
      continue;
    }
    if (name == option && std::ranges::find(kWithValue, name) != kWithValue.end()) ++i;
  }
  return options;
}

Result<ScanIndex> scan_program(const RuntimeProgram& program, const fs::path& state) {
  constexpr size_t kDigits = 8;
  const std::string file = program.file_name();
  const fs::path folder = fs::absolute(state) / kProgramsFolder /
                          (fs::path(file).stem().string() + "-" + program.key().hex().substr(0, kDigits));
  KERNELIFT_TRY(write_atomically(folder / file, std::string_view(program.source)));
  for (auto& [name, text] : program.headers) {
    // A name is the application's: it must not lead out of the folder.
    const fs::path place = (folder / kHeaders / name).lexically_normal();
    if (!within(place, folder / kHeaders))
      return refused("its program includes '" + name + "', which is no name for a file in one folder");
    KERNELIFT_TRY(write_atomically(place, std::string_view(text)));
  }
  std::string unit = file;
  if (!program.names.empty()) {
    // A template's instances are those that the application named.
    unit = kInstances;
    std::string text = "#include \"" + file + "\"\n";
    size_t number = 0;
    for (auto& [expression, _] : program.names)
      text += "[[maybe_unused]] static const auto kernelift_instance_" + std::to_string(number++) + " = " +
              (expression.starts_with('&') ? "" : "&") + expression + ";\n";
    KERNELIFT_TRY(write_atomically(folder / unit, std::string_view(text)));
  }
  std::vector<std::string> command{"nvcc", "-x", "cu", "-I" + (folder / kHeaders).string()};
  for (auto& option : nvcc_options_of(program)) command.push_back(option);
  command.insert(command.end(), {"-c", (folder / unit).string(), "-o", (folder / "unit.o").string()});
  Json database = Json::array();
  database.push_back({{"directory", folder.string()}, {"file", (folder / unit).string()}, {"arguments", command}});
  KERNELIFT_TRY(write_json(folder / "compile_commands.json", database));
  Json origin = artefact(kOriginFormat, kOriginVersion, kOriginVersion);
  origin.update({{"name", program.name}, {"caller", program.caller}, {"command", program.command}});
  KERNELIFT_TRY(write_json(folder / kOrigin, origin));
  ScanOptions options;
  options.root = folder, options.compile_database = folder / "compile_commands.json";
  return scan_application(options);
}

std::optional<std::string> origin_of_program(const fs::path& root) {
  auto origin = read_json(root / kOrigin);
  if (!origin.ok() || !check_artefact(*origin, kOriginFormat, kOriginVersion, root.string()).ok()) return std::nullopt;
  auto text = reading(root.string(), [&] {
    return "the program '" + origin->at("name").get<std::string>() + "' that " +
           join_command(origin->at("command").get<std::vector<std::string>>()) +
           " had compiled by NVRTC while it ran (called from " + origin->at("caller").get<std::string>() + ")";
  });
  return text.ok() ? std::optional(*text) : std::nullopt;
}

}  // namespace kernelift::extractor
