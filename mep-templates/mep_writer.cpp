// See mep_writer.h. The templates are plain text with @NAME@ marks; a mark that is not known comes from templates of
// another version than this program, and is an Error.
// Generated names in main start with kl_ and the tables stand before the kernel's text, so that the application's
// macros can neither break them nor be broken by them.
#include "mep-templates/mep_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"
#include "core/model/element_layout.h"
#include "core/model/fidelity.h"
#include "core/model/launch/limits.h"
#include "core/model/texture.h"
#include "core/toolchain/architecture.h"
#include "core/toolchain/device_arguments.h"

namespace fs = std::filesystem;

namespace kernelift::templates {
namespace {

using Marks = std::map<std::string, std::string>;

/// The template `file` with its marks filled in.
Result<std::string> filled(const fs::path& file, const Marks& marks) {
  KERNELIFT_ASSIGN(std::string text, read_text(file));
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t open = text.find('@', at), close = open == std::string::npos ? open : text.find('@', open + 1);
    if (close == std::string::npos) return out + text.substr(at);
    std::string name = text.substr(open + 1, close - open - 1);
    auto mark = marks.find(name);
    if (mark == marks.end())
      return environment_error(
          file.string() + " asks for @" + name.substr(0, name.find('\n')) +
          "@, which this kernelift does not know: templates and program are of different versions; "
          "install both from one archive (lib/kernelift/templates beside bin/kernelift)");
    out += text.substr(at, open - at) + mark->second;
    at = close + 1;
  }
  return out;
}

/// A string literal that the MEP's program prints: one line. Question marks are escaped for compilers with trigraphs.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : shown_line(text)) {
    if (c == '"' || c == '\\' || c == '?') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string element_constant(const ElementType& type) {
  using Kind = ElementType::Kind;
  switch (type.kind) {
    case Kind::Half: return "kl_replay::kHalf";
    case Kind::Bfloat16: return "kl_replay::kBfloat";
    case Kind::Float: return "kl_replay::kFloat";
    case Kind::Double: return "kl_replay::kDouble";
    case Kind::Signed:
    case Kind::Unsigned:
      return type.width == 8   ? "kl_replay::kInt64"
             : type.width == 4 ? "kl_replay::kInt32"
             : type.width == 2 ? "kl_replay::kInt16"
                               : "kl_replay::kInt8";
    case Kind::Bool:
    case Kind::Bytes: return "kl_replay::kBytes";
  }
  return "kl_replay::kBytes";
}

std::string element_constant(const std::string& element) {
  return element == "pointer" ? "kl_replay::kPointer" : element_constant(ElementType::parse(element));
}

/// The tables of main.cu. Checksums are taken file by file, so that no more than one image is in memory.
class Tables {
 public:
  Tables(const Mep& mep, fs::path folder, std::map<std::string, uint64_t> sums)
      : mep_(mep), folder_(std::move(folder)), sums_(std::move(sums)) {}

  Result<std::string> write() {
    std::string list;
    for (size_t i = 0; i < mep_.instances.size(); ++i)
      KERNELIFT_TRY(instance(mep_.instances[i], std::to_string(i), list));
    return text_ + "static const kl_replay::Instance kl_instances[] = {\n" + list + "};\n";
  }

 private:
  Result<std::string> data(const std::string& file) {
    if (file.empty()) return std::string("{nullptr, 0}");
    auto [known, fresh] = sums_.try_emplace(file, 0);
    if (fresh) {
      KERNELIFT_ASSIGN(auto bytes, Mep::load(folder_, file));
      known->second = replay_checksum(bytes);
    }
    char sum[32];
    std::snprintf(sum, sizeof sum, "0x%016llxull", static_cast<unsigned long long>(known->second));
    return "{" + quoted(file) + ", " + sum + "}";
  }

  /// Adds `static const TYPE NAME[] = {CONTENT};` and returns NAME; without content "nullptr", since no array is empty.
  std::string array(const char* type, const std::string& name, const std::string& content) {
    if (content.empty()) return "nullptr";
    text_ += std::string("static const ") + type + " " + name + "[] = {" + content + "};\n";
    return name;
  }

  std::string region_label(const MepRegion& region) const {
    if (region.parameter < 0 || size_t(region.parameter) >= mep_.parameters.size()) return region.reached_from.text();
    return region.reached_from.text() + " (" + mep_.parameters[region.parameter].name + ")";
  }

  /// "8, kl_offsets_0, 1"; each pattern is one array, however many regions share it.
  std::string pointers_of(const MepRegion& region) {
    auto stride = region.pointer_stride;
    auto offsets = region.pointer_offsets;
    if (stride == 0 && region.element == "pointer") stride = sizeof(uint64_t), offsets = {0};
    if (stride == 0 || offsets.empty()) return "0, nullptr, 0";
    auto [known, fresh] = patterns_.try_emplace(offsets, "kl_offsets_" + std::to_string(patterns_.size()));
    if (fresh) {
      std::string list;
      for (uint32_t offset : offsets) list += std::to_string(offset) + ", ";
      array("unsigned", known->second, list);
    }
    return std::to_string(stride) + "ull, " + known->second + ", " + std::to_string(offsets.size());
  }

  /// "{kl_replay::kFloat, "float", 0, nullptr, 0}", or a struct's lanes; each layout is one array.
  std::string shape_of(const std::string& element) {
    if (!element.starts_with("{")) return "{" + element_constant(element) + ", " + quoted(element) + ", 0, nullptr, 0}";
    ElementLayout layout = ElementLayout::parse(element);
    auto [known, fresh] = layouts_.try_emplace(element, "kl_lanes_" + std::to_string(layouts_.size()));
    if (fresh) {
      std::string list;
      for (auto& lane : layout.lanes)
        list += "{" + element_constant(lane.type) + ", " + std::to_string(lane.offset) + "}, ";
      array("kl_replay::Lane", known->second, list);
    }
    return "{kl_replay::kBytes, \"struct\", " + std::to_string(layout.stride) + ", " + known->second + ", " +
           std::to_string(layout.lanes.size()) + "}";
  }

  /// "&kl_texture_0", or "nullptr" for memory.
  Result<std::string> texture(const MepRegion& region) {
    if (region.kind != MemoryKind::Texture) return std::string("nullptr");
    KERNELIFT_ASSIGN(auto bytes, Mep::load(folder_, region.before));
    auto object = read_texture(bytes);
    if (!object) return environment_error("the texture object in " + region.before + " is damaged; extract again");
    const kl_texture& t = *object;
    const std::string name = "kl_texture_" + std::to_string(textures_++);
    auto truth = [](bool value) { return value ? "true" : "false"; };
    unsigned border[4];
    std::memcpy(border, t.border, sizeof border);
    char text[512];
    std::snprintf(text, sizeof text,
                  "{0x%llxull, %lluull, %u, %u, %u, %u, %u, %d, %d, {%d, %d, %d}, %s, %s, %s, %s, %u, {0x%xu, 0x%xu, "
                  "0x%xu, 0x%xu}}",
                  t.memory, t.row_bytes, t.width, t.height, t.depth, t.channels, t.bits, t.format, t.resource,
                  t.address[0], t.address[1], t.address[2], truth(t.use == KL_SURFACE), truth(t.linear),
                  truth(t.as_float), truth(t.normalized), t.array_flags, border[0], border[1], border[2], border[3]);
    text_ += "/// " + texture_text(t) + ".\nstatic const kl_replay::Texture " + name + " = " + text + ";\n";
    return "&" + name;
  }

  static Result<size_t> target_of(const MepSymbolSlot& slot, const MepInstance& instance) {
    for (size_t i = 0; i < instance.variables.size(); ++i)
      if (instance.variables[i].key == slot.key) return i;
    return refused("instance " + instance.id + " holds the address of " + slot.key +
                   ", which is no variable that this MEP sets");
  }

  Status instance(const MepInstance& instance, const std::string& number, std::string& list) {
    std::string bytes, parameters, slots, regions, variables, symbols;
    for (size_t i = 0; i < instance.arguments.size(); ++i) {
      char text[8];
      std::snprintf(text, sizeof text, "0x%02x, ", unsigned(instance.arguments[i]));
      bytes += (i % 20 == 0 ? "\n    " : "") + std::string(text);
    }
    for (auto& parameter : instance.parameters)
      parameters += "{" + std::to_string(parameter.offset) + ", " + std::to_string(parameter.size) + "}, ";
    const auto addresses = instance.argument_slots();
    for (auto& slot : addresses)
      slots += "{" + std::to_string(slot.offset) + ", " + std::to_string(slot.region) + "}, ";
    for (auto& region : instance.regions) {
      KERNELIFT_ASSIGN(std::string before, data(region.before));
      KERNELIFT_ASSIGN(std::string after, data(region.after));
      char place[64];
      std::snprintf(place, sizeof place, "0x%llxull, %lluull", static_cast<unsigned long long>(region.address),
                    static_cast<unsigned long long>(region.size));
      regions += std::string("\n    {") + place + ", " + before + ",\n     " + after + ", " +
                 quoted(region_label(region)) + ", " + shape_of(region.element) + ", " + pointers_of(region) +
                 (region.rewritten ? ", true, " : ", false, ");
      KERNELIFT_ASSIGN(std::string object, texture(region));
      regions += object + "},";
    }
    for (size_t i = 0; i < instance.variables.size(); ++i) {
      auto& variable = instance.variables[i];
      KERNELIFT_ASSIGN(std::string before, data(variable.before));
      KERNELIFT_ASSIGN(std::string after, data(variable.after));
      variables += "\n    {" + std::to_string(i) + ", " + std::to_string(variable.size) + "ull, " + before +
                   ",\n     " + after + ", " + quoted(variable.spelling) + ", " + shape_of(variable.element) + ", " +
                   (variable.constant ? "true" : "false") + "},";
    }
    for (auto& slot : instance.symbols) {
      KERNELIFT_ASSIGN(size_t target, target_of(slot, instance));
      symbols += "{" + std::to_string(slot.region) + ", " + std::to_string(slot.variable) + ", " +
                 std::to_string(slot.offset) + "ull, " + std::to_string(target) + ", " + std::to_string(slot.addend) +
                 "ull}, ";
    }
    auto& g = instance.geometry;
    auto& s = instance.settings;
    auto number_of = [](uint64_t value) { return std::to_string(value) + "ull"; };
    char head[512];
    std::snprintf(head, sizeof head,
                  "{%u, %u, %u}, {%u, %u, %u}, %u, %s, %s,\n     {{%u, %u, %u}, %d, %d, %s, %d, %d, %u, %s, %s, %s}, "
                  "%.9g, %.9g, ",
                  g.grid.x, g.grid.y, g.grid.z, g.block.x, g.block.y, g.block.z, g.shared_bytes,
                  g.cooperative ? "true" : "false", instance.held_out ? "true" : "false", s.cluster.x, s.cluster.y,
                  s.cluster.z, s.cluster_policy, s.priority, s.programmatic ? "true" : "false", s.carveout,
                  s.cache_config, s.max_dynamic_shared, number_of(s.stack_limit).c_str(),
                  number_of(s.heap_limit).c_str(), number_of(s.printf_limit).c_str(), instance.microseconds,
                  instance.weight);
    auto& vivo = instance.in_vivo;
    std::string times = quoted(vivo.cache.empty() ? "warm" : vivo.cache) + ", " +
                        quoted((vivo.how.empty() ? "as the recorder measured it" : vivo.how) +
                               (vivo.why.empty() ? "" : "; " + vivo.why));
    auto counted = [](const std::string& name, size_t count) { return name + ", " + std::to_string(count); };
    std::string row = "    {" + quoted(instance.id) + ", " + head + times + ",\n     ";
    row += counted(array("unsigned char", "kl_arguments_" + number, bytes), instance.arguments.size()) + ", ";
    row += counted(array("kl_replay::Parameter", "kl_parameters_" + number, parameters), instance.parameters.size()) +
           ", ";
    row += counted(array("kl_replay::Slot", "kl_slots_" + number, slots), addresses.size()) + ",\n     ";
    row += counted(array("kl_replay::Region", "kl_regions_" + number, regions), instance.regions.size()) + ", ";
    row += counted(array("kl_replay::Variable", "kl_variables_" + number, variables), instance.variables.size()) + ", ";
    row += counted(array("kl_replay::Symbol", "kl_symbols_" + number, symbols), instance.symbols.size()) + ", " +
           quoted(unreached_text(instance.unreached)) + "},\n";
    list += row;
    return done();
  }

  const Mep& mep_;
  fs::path folder_;
  std::string text_;
  std::map<std::string, uint64_t> sums_;
  std::map<std::vector<uint32_t>, std::string> patterns_;
  std::map<std::string, std::string> layouts_;
  int textures_ = 0;
};

/// "#define A 1" for every -DA=1, in order; a value given on the command line still wins.
std::string defines(const std::vector<std::string>& flags) {
  std::string text;
  for (size_t i = 0; i < flags.size(); ++i) {
    bool undefine = flags[i].starts_with("-U");
    if (!flags[i].starts_with("-D") && !undefine) continue;
    std::string word = flags[i].size() > 2 ? flags[i].substr(2) : i + 1 < flags.size() ? flags[++i] : "";
    std::replace(word.begin(), word.end(), '\n', ' ');
    if (word.empty()) continue;
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals), plain = name.substr(0, name.find('('));
    if (undefine) text += "#undef " + name + "\n";
    else
      text += "#ifndef " + plain + "\n#define " + name + " " +
              (equals == std::string::npos ? "1" : word.substr(equals + 1)) + "\n#endif\n";
  }
  return text.empty() ? "" : text + "\n";
}

struct LanguageWords {
  std::string extension, compiler, toolkit, cmake, prefix;
};
LanguageWords words_of(const std::string& language) {
  if (language == "hip") return {"hip", "hipcc", "ROCm toolkit (hipcc)", "HIP", "hip"};
  return {"cu", "nvcc", "CUDA toolkit (nvcc)", "CUDA", "cuda"};
}

std::string standard_of(const std::vector<std::string>& flags) {
  for (auto& flag : flags)
    if (flag.starts_with("-std=c++") || flag.starts_with("-std=gnu++")) return flag.substr(flag.find("++") + 2);
  return "17";
}

bool has(const std::vector<std::string>& flags, const char* wanted) {
  for (auto& flag : flags)
    if (flag == wanted) return true;
  return false;
}

/// What of the application's own nvcc command a plain build must repeat: language features and what shapes the code.
std::string own_flags(const std::vector<std::string>& command) {
  constexpr std::string_view kRepeated[] = {"use_fast_math",
                                            "ftz",
                                            "prec-div",
                                            "prec-sqrt",
                                            "fmad",
                                            "maxrregcount",
                                            "Xptxas",
                                            "ptxas-options",
                                            "extended-lambda",
                                            "expt-extended-lambda",
                                            "expt-relaxed-constexpr",
                                            "rdc",
                                            "relocatable-device-code",
                                            "default-stream",
                                            "G",
                                            "device-debug",
                                            "extra-device-vectorization",
                                            "restrict",
                                            "dopt"};
  std::vector<std::string> left_out, repeated, words = device_arguments(command, left_out);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view name =
        std::string_view(words[i]).substr(std::min<size_t>(words[i].find_first_not_of('-'), words[i].size()));
    if (std::find(std::begin(kRepeated), std::end(kRepeated), name.substr(0, name.find('='))) == std::end(kRepeated))
      continue;
    repeated.push_back(words[i]);
    bool value_follows = name.find('=') == name.npos && i + 1 < words.size() &&
                         (name == "Xptxas" || name == "ptxas-options" || !words[i + 1].starts_with("-"));
    if (value_follows) repeated.push_back(words[++i]);
  }
  return repeated.empty() ? "" : " " + join_command(repeated);
}

/// Inside double quotes in a CMakeLists.txt.
std::string cmake_escaped(std::string_view text) {
  std::string out;
  for (char c : text) out += (c == '"' || c == '\\' || c == '$' ? "\\" : "") + std::string(1, c);
  return out;
}

/// Flags a plain build must be given; empty for most applications.
std::string build_flags(const Mep& mep, const LanguageWords& words) {
  std::string flags;
  std::string standard = standard_of(mep.compile_flags);
  if (standard != "17" && standard != "14" && standard != "11") flags += " -std=c++" + standard;
  bool hip = words.cmake == "HIP";
  bool nvcc = !hip && std::any_of(mep.compile_command.begin(), mep.compile_command.end(),
                                  [](auto& word) { return fs::path(word).filename() == "nvcc"; });
  if (nvcc) return flags + own_flags(mep.compile_command);
  bool fast = has(mep.compile_flags, "-ffast-math") || has(mep.compile_flags, "-fcuda-flush-denormals-to-zero");
  if (fast) flags += hip ? " -ffast-math" : " -use_fast_math";
  if (has(mep.compile_flags, "-ffp-contract=off")) flags += hip ? " -ffp-contract=off" : " -fmad=false";
  return flags;
}

std::string readme_instances(const Mep& mep) {
  std::string text;
  for (auto& instance : mep.instances) {
    char line[256];
    std::snprintf(
        line, sizeof line, ": `%s`, %llu bytes of memory in %zu buffers, %.1f us in the application, %s\n",
        instance.geometry.text().c_str(), static_cast<unsigned long long>(instance.region_bytes()),
        instance.regions.size(), instance.microseconds,
        instance.held_out
            ? "held out: for verification only"
            : ("stands for " + std::to_string(int(100 * instance.weight + 0.5)) + " % of the kernel's time").c_str());
    text += "- " + markdown_code(instance.id) + line;
  }
  return text.empty() ? "None.\n" : text;
}

std::string readme_trust(const MepProgram& program) {
  const Mep& mep = program.mep;
  std::string text = "- Source: ";
  text += mep.slice_mode == "slice" ? "a slice of the application's translation unit"
                                    : "the application's whole translation unit as one text";
  text += mep.proven ? ", proven to compile to the same code as the original"
                     : ", NOT proven to be the same as the original";
  text += mep.proof_note.empty() ? ".\n" : " (" + markdown_text(mep.proof_note) + ").\n";
  if (!mep.linked.empty()) text += "- " + markdown_text(mep.linked_text()) + ".\n";
  text +=
      mep.inputs == "capture"
          ? "- Inputs and answers: recorded from the running application on " + markdown_text(mep.captured_on) + ".\n"
          : "- Inputs: SYNTHESISED from the parameters' types; the application never gave these to the kernel.\n";
  if (mep.captured_on == "cpu" && mep.inputs == "capture")
    text +=
        "- The answers come from Kernelift's CPU device, with its mathematics library and order of operations. A GPU "
        "may differ in "
        "the last digits of floating-point results, and in any result that depends on the order of atomics.\n";
  for (auto& limit : program.limits) text += "- " + markdown_text(limit) + "\n";
  return text;
}

/// "clusters of 4 blocks, 98304 bytes of dynamic shared memory": how a launch was made, beyond its geometry.
std::string settings_text(const MepInstance& instance) {
  std::vector<std::string> words;
  auto& s = instance.settings;
  if (s.cluster.count() > 1) words.push_back("clusters of " + std::to_string(s.cluster.count()) + " blocks");
  if (instance.geometry.cooperative) words.push_back("all blocks resident at once (cooperative)");
  if (instance.geometry.shared_bytes > 0)
    words.push_back(std::to_string(instance.geometry.shared_bytes) + " bytes of dynamic shared memory" +
                    (instance.geometry.shared_bytes > kOrdinarySharedBytes ? ", which must be allowed" : ""));
  if (s.programmatic) words.push_back("programmatic stream serialisation");
  if (s.priority != 0) words.push_back("priority " + std::to_string(s.priority));
  if (s.carveout >= 0) words.push_back("a carve-out of " + std::to_string(s.carveout) + " % for shared memory");
  std::string text;
  for (auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// nvcc without -arch builds for an old GPU, which the driver translates: right, but not the code to be timed.
std::string architecture_advice(const Mep& mep, const LanguageWords& words) {
  if (words.cmake != "CUDA") return "";
  size_t at = mep.captured_on.find("sm_");
  std::string arch =
      at == std::string::npos ? "native" : mep.captured_on.substr(at, mep.captured_on.find(':', at) - at);
  if (arch == "native")
    return "For timings that mean something name the GPU: `nvcc -arch=native" + build_flags(mep, words) +
           " main.cu`.\n";
  auto target = TargetArchitecture::of(mep.architecture, arch);
  return "For timings that mean something name the GPU: `nvcc " + target.nvcc_flag() + build_flags(mep, words) +
         " main.cu` (it was recorded there" +
         (target.source == target.machine ? "; `-arch=native` is this machine's"
                                          : ", translated from code for " + target.source) +
         ").\n";
}

std::string readme_fidelity(const Mep& mep) {
  std::string text =
      "- Addresses: memory is put where the application had it; where the driver refuses an address, the program "
      "begins "
      "anew up to three times, since each process lies elsewhere; then memory does, what is known to point to it is "
      "rewritten, and the "
      "output says RELOCATED. `--relocate` tries that out.\n";
  size_t symbols = 0;
  for (auto& instance : mep.instances) symbols += instance.symbols.size();
  if (symbols > 0)
    text += "- " + std::to_string(symbols) + " recorded addresses of module variables are set to this program's own.\n";
  char line[64];
  std::snprintf(line, sizeof line, "%.3g relative", mep.tolerance.relative);
  text += "- Tolerance of floating-point buffers: " +
          (mep.tolerance.relative > 0
               ? std::string(line)
               : std::string("4e-3 for half, 3e-2 for bfloat16, 1e-5 for float, 1e-12 for double, relative")) +
          ", or a tenth of that of the buffer's largest value; integers and bytes exactly. `--tolerance R` changes it. "
          "Kernelift "
          "itself derives one per buffer from how far rounding alone moves the original's results.\n";
  for (auto& instance : mep.instances) {
    auto& vivo = instance.in_vivo;
    text += "- " + markdown_code(instance.id) + ": ";
    std::snprintf(line, sizeof line, "%.3f us", instance.microseconds);
    if (instance.microseconds <= 0) text += "its duration in the application is not known";
    else
      text += std::string(line) + " in the application (" +
              (vivo.how.empty() ? "as the recorder measured it" : markdown_text(vivo.how)) + "), compared with the " +
              (vivo.cache == "cold" ? "cold" : "warm") + " time here, chosen when it was extracted" +
              (vivo.why.empty() ? "" : ": " + markdown_text(vivo.why));
    if (std::string settings = settings_text(instance); !settings.empty()) text += "; launched with " + settings;
    text += ".\n";
  }
  if (!mep.compile_command.empty())
    text += "- The application's own compile command: " +
            markdown_code(without_secrets(join_command(mep.compile_command))) + "\n";
  return text;
}

/// The kernel as main.cu passes it. One that is made for a lambda, or another type within a function, has no name
/// there.
std::string kernel_handle(const Mep& mep) {
  std::string key = mep.kernel_key;
  constexpr std::string_view kAnonymous = "(anonymous)::";
  for (size_t at; (at = key.find(kAnonymous)) != key.npos;) key.erase(at, kAnonymous.size());
  for (auto* within : {")::", "<main::", ",main::"})
    if (key.find(within) != key.npos) return "kl_replay::kernel_named(" + quoted(mep.kernel_mangled) + ")";
  return "reinterpret_cast<const void*>(&" + mep.kernel_name + ")";
}

}  // namespace

uint64_t replay_checksum(std::span<const std::byte> bytes) {
  uint64_t sum = 14695981039346656037ull;
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    sum = (sum ^ word) * 1099511628211ull;
  }
  return sum ^ bytes.size();
}

Status write_mep_program(const MepProgram& program, const fs::path& templates, const fs::path& folder) {
  const Mep& mep = program.mep;
  if (mep.instances.empty()) return usage_error("a MEP of " + mep.kernel_key + " needs at least one launch");
  LanguageWords words = words_of(mep.language);
  std::string kernel_file = "kernel." + words.extension, main_file = "main." + words.extension;
  std::string header;
  for (const auto& piece :
       {fs::path("common/replay_core.h"), fs::path("common/replay_compare.h"),
        fs::path(words.prefix) / "replay_device.h", fs::path(words.prefix) / "replay_textures.h",
        fs::path(words.prefix) / "replay_launch.h", fs::path("common/replay_memory.h"), fs::path("common/replay_run.h"),
        fs::path("common/replay_time.h"), fs::path("common/replay_main.h")}) {
    KERNELIFT_ASSIGN(std::string text, read_text(templates / piece));
    header += (header.empty() ? "" : "\n") + text;
  }

  std::string writes, reads, addresses;
  // All instances list the same variables in the same order; the first one names them.
  if (!mep.instances.empty())
    for (size_t i = 0; i < mep.instances[0].variables.size(); ++i) {
      auto& variable = mep.instances[0].variables[i];
      std::string head = "    case " + std::to_string(i) + ": return kl_replay::call_ok(" + words.prefix;
      writes += head + "MemcpyToSymbol(" + variable.spelling + ", kl_bytes, kl_size));\n";
      reads += head + "MemcpyFromSymbol(kl_bytes, " + variable.spelling + ", kl_size));\n";
      addresses += "    case " + std::to_string(i) + ":\n      if (!kl_replay::call_ok(" + words.prefix +
                   "GetSymbolAddress(&kl_found, " + variable.spelling + "))) return false;\n      break;\n";
    }
  KERNELIFT_ASSIGN(std::string tables, Tables(mep, folder, program.sums).write());
  std::string flags = build_flags(mep, words), options;
  if (!flags.empty())
    options = "target_compile_options(replay PRIVATE \"SHELL:" + cmake_escaped(flags.substr(1)) + "\")\n";
  if (flags.find("rdc=true") != flags.npos || flags.find("relocatable-device-code=true") != flags.npos)
    options += "set_target_properties(replay PROPERTIES " + words.cmake + "_SEPARABLE_COMPILATION ON)\n";
  size_t count = mep.instances.size();
  char tolerance[32];
  std::snprintf(tolerance, sizeof tolerance, "%.9g", mep.tolerance.relative > 0 ? mep.tolerance.relative : -1);
  Marks marks = {
      {"LANGUAGE", words.cmake},
      {"MAIN", main_file},
      {"STANDARD", standard_of(mep.compile_flags)},
      {"OPTIONS", options},
      {"INSTANCE_COUNT", std::to_string(count) + (count == 1 ? " recorded launch" : " recorded launches")},
      {"KERNEL_NAME", comment_text(mep.kernel_name)},
      {"KERNEL_TITLE", markdown_text(mep.kernel_name)},
      {"BUILD", shown_line(words.compiler + flags + " " + main_file)},
      {"TABLES", tables},
      {"DEFINES", defines(mep.compile_flags)},
      {"KERNEL_FILE", kernel_file},
      {"WRITES", writes},
      {"READS", reads},
      {"ADDRESSES", addresses},
      {"KERNEL_TEXT", quoted(mep.kernel_key)},
      {"CAPTURED_ON", quoted(mep.inputs == "capture" ? mep.captured_on : "nothing: inputs are synthesised")},
      {"KERNEL", kernel_handle(mep)},
      {"COUNT", std::to_string(count)},
      {"TOOLKIT", words.toolkit},
      {"ORIGIN", "Kernel " + markdown_code(mep.kernel_key) + ", " + markdown_code(program.origin) + "."},
      {"INSTANCES", readme_instances(mep)},
      {"TRUST", readme_trust(program)},
      {"FIDELITY", fidelity_text({}) + readme_fidelity(mep)},
      {"ARCHITECTURE", architecture_advice(mep, words)},
      {"TOLERANCE", tolerance},
      {"CLOSURE", program.closure.empty()
                      ? ""
                      : "\n## What " + kernel_file + " was taken from\n" + markdown_block(program.closure)},
  };
  // All is put together before anything is written: templates that do not fit leave no half a MEP.
  KERNELIFT_ASSIGN(std::string main_text, filled(templates / "common/main.in", marks));
  KERNELIFT_ASSIGN(std::string readme_text, filled(templates / "common/README.md.in", marks));
  KERNELIFT_ASSIGN(std::string cmake_text, filled(templates / "common/CMakeLists.txt.in", marks));
  KERNELIFT_TRY(write_atomically(folder / kernel_file, program.kernel_text));
  KERNELIFT_TRY(write_atomically(folder / "kernelift_replay.h", header));
  KERNELIFT_TRY(write_atomically(folder / main_file, main_text));
  KERNELIFT_TRY(write_atomically(folder / "CMakeLists.txt", cmake_text));
  KERNELIFT_TRY(write_atomically(folder / "README.md", readme_text));
  KERNELIFT_TRY(forget_fidelity(folder));
  return mep.write(folder);
}

}  // namespace kernelift::templates
