// See capture_join.h. One header's kernel in several units is one kernel: any of them will do. The index lists it for
// the first of them; its launches come from whichever the linker took.
#include "extractor/extract/capture_join.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/base/file.h"
#include "core/compiler/nvcc_image.h"
#include "core/model/element.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/cubin.h"

namespace kernelift::extractor {

std::string file_mark(std::string_view mangled) {
  for (std::string_view before : {"_GLOBAL__N__", "_INTERNAL_", "__nv_static_"}) {
    size_t at = mangled.find(before);
    if (at == std::string_view::npos) continue;
    at += before.size();
    // __nv_static_ is followed by the length of all that follows, and by two underscores.
    if (before == "__nv_static_")
      at = mangled.find_first_not_of("0123456789", at), at = at == mangled.npos ? at : at + 2;
    constexpr size_t kHash = 8;
    if (at == mangled.npos || at + kHash >= mangled.size() || mangled[at + kHash] != '_') continue;
    size_t length = 0, digit = at + kHash + 1;
    for (; digit < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[digit])) && length < 1000; ++digit)
      length = length * 10 + static_cast<size_t>(mangled[digit] - '0');
    if (length > 0 && digit + 1 + length <= mangled.size() && mangled[digit] == '_')
      return std::string(mangled.substr(digit + 1, length));
  }
  return {};
}

bool is_mark_of(std::string_view mark, const std::string& file) {
  std::string name = std::filesystem::path(file).filename();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name == mark;
}

bool same_layout(const std::vector<Parameter>& captured, const std::vector<ScannedParameter>& scanned) {
  if (captured.empty()) return true;  // Not every recorder knows.
  if (captured.size() != scanned.size()) return false;
  for (size_t i = 0; i < captured.size(); ++i) {
    uint32_t size = !scanned[i].pointee.empty()  ? sizeof(uint64_t)
                    : !scanned[i].scalar.empty() ? ElementType::parse(scanned[i].scalar).width
                                                 : 0;
    bool known = size > 1 || (size == 1 && scanned[i].scalar.find("char") != std::string::npos);
    if (known && captured[i].size != size) return false;
  }
  return true;
}

std::string take_unit_of_launches(const ScanIndex& index, ScannedKernel& kernel,
                                  std::vector<const CapturedInstance*>& launches) {
  if (kernel.definition.file == kernel.tu) return "";
  auto is_local = [](const std::string& name) {
    return name.starts_with("_ZL") || name.find("_GLOBAL__N") != name.npos || !file_mark(name).empty();
  };
  auto unit_of = [&](const CapturedInstance& launch) -> std::string {
    const std::string mark = file_mark(launch.mangled);
    for (auto& unit : index.units)
      if (launch.unit == unit.file || (!mark.empty() && is_mark_of(mark, unit.file))) return unit.file;
    return "";
  };
  std::map<std::string, size_t> by_unit;
  for (auto* launch : launches)
    if (const std::string unit = unit_of(*launch); is_local(launch->mangled) && !unit.empty()) ++by_unit[unit];
  if (by_unit.empty()) return "";
  kernel.tu = std::ranges::max_element(by_unit, {}, [](auto& one) { return one.second; })->first;
  std::string others;
  for (auto& [unit, count] : by_unit)
    if (unit != kernel.tu) others += (others.empty() ? "" : ", ") + unit;
  std::erase_if(launches, [&](auto* launch) {
    const std::string unit = unit_of(*launch);
    return !unit.empty() && unit != kernel.tu;
  });
  if (others.empty()) return "";
  return "The kernel is another one in each file that includes " + kernel.definition.file + ": it is taken as " +
         kernel.tu + " has it, and the launches from " + others + " are left out";
}

int CaptureJoin::signs(const CapturedInstance& instance, const ScannedKernel& kernel) const {
  constexpr int kNever = -1, kHeader = 1, kFile = 1000;
  if (instance.kernel != kernel.key || !same_layout(instance.parameters, kernel.parameters)) return kNever;
  auto by_file = [&](auto&& is_it) {
    if (is_it(kernel.tu)) return kFile;
    bool in_header = kernel.definition.file != kernel.tu;
    return in_header &&
                   std::any_of(index_.units.begin(), index_.units.end(), [&](auto& unit) { return is_it(unit.file); })
               ? kHeader
               : kNever;
  };
  if (instance.unit == kernel.tu) return kFile;
  // What the application's own symbols said of it, without folder and ending.
  if (!instance.source_stem.empty())
    return by_file([&](const std::string& file) { return std::filesystem::path(file).stem() == instance.source_stem; });
  // A name without a slash is a module's that was linked from several files.
  if (instance.unit.find('/') != std::string::npos)
    return by_file([&](const std::string& file) { return file == instance.unit; });
  if (std::string mark = file_mark(instance.mangled); !mark.empty())
    return by_file([&](const std::string& file) { return is_mark_of(mark, file); });
  const std::string& code = code_of(instance);
  if (code.empty()) return 0;
  if (std::string mark = file_mark(code); !mark.empty() && is_mark_of(mark, kernel.tu)) return kFile;
  auto [company, fresh] = company_.try_emplace(instance.code.chunks.front().hex());
  if (fresh)
    for (auto& name : cubin_kernels(code)) company->second.push_back(canonical_key(name));
  int known = 0;
  for (auto& other : index_.kernels)
    known += other.tu == kernel.tu && std::count(company->second.begin(), company->second.end(), other.key) > 0;
  return known;
}

const std::string& CaptureJoin::code_of(const CapturedInstance& instance) const {
  static const std::string kNone;
  if (instance.code.chunks.empty()) return kNone;
  auto [code, fresh] = codes_.try_emplace(instance.code.chunks.front().hex());
  if (fresh)
    if (auto bytes = capture_.load(instance.code); bytes.ok())
      code->second.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return code->second;
}

std::optional<bool> CaptureJoin::is_code_of(const CapturedInstance& instance, const ScannedKernel& kernel) const {
  std::string_view ran = cubin_code(code_of(instance), kernel.key);
  if (ran.empty() || instance.settings.binary_version == 0) return std::nullopt;
  std::string arch = "sm_" + std::to_string(instance.settings.binary_version);
  auto [built, fresh] =
      built_.try_emplace(kernel.tu + " " + std::to_string(instance.settings.ptx_version) + " " + arch);
  if (fresh) {
    auto unit =
        std::find_if(index_.units.begin(), index_.units.end(), [&](auto& one) { return one.file == kernel.tu; });
    if (unit == index_.units.end()) return std::nullopt;
    NvccOptions options;
    options.command = unit->command, options.folder = unit->folder, options.target = {arch, arch};
    if (auto command = parse_compiler_command(unit->command, unit->folder);
        command.ok() && instance.settings.ptx_version)
      options.target = TargetArchitecture::of(architecture_that_ran(*command, instance.settings.ptx_version), arch);
    // The file is compiled from a place of its own: what stands beside it must be found from there.
    options.command.push_back("-I" + std::filesystem::path(kernel.tu).parent_path().string());
    auto nvcc = NvccCompiler::find(options);
    auto text = read_text(kernel.tu);
    if (nvcc.ok() && text.ok()) built->second = nvcc->compile(*text, {}).image;
  }
  std::string_view own = cubin_code(built->second, kernel.key);
  return own.empty() ? std::nullopt : std::optional(own == ran);
}

CaptureJoin::Answer CaptureJoin::joins(const CapturedInstance& instance, const ScannedKernel& kernel) const {
  int own = signs(instance, kernel);
  if (own < 0) return Answer::No;
  std::vector<const ScannedKernel*> rivals;
  for (auto& other : index_.kernels) {
    bool same_text =
        other.definition.file == kernel.definition.file && other.definition.begin == kernel.definition.begin;
    if (other.key != kernel.key || same_text || signs(instance, other) < own) continue;
    if (signs(instance, other) > own) return Answer::No;
    rivals.push_back(&other);
  }
  if (rivals.empty()) return Answer::Yes;
  auto mine = is_code_of(instance, kernel);
  if (mine && !*mine) return Answer::No;
  bool others_out = std::all_of(rivals.begin(), rivals.end(), [&](auto* rival) {
    auto theirs = is_code_of(instance, *rival);
    return theirs && !*theirs;
  });
  return mine && others_out ? Answer::Yes : Answer::Doubt;
}

}  // namespace kernelift::extractor
