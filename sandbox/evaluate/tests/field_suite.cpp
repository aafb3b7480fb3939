// Runs kernels in the field, on arrays of its own, and prints what the runs say and how long they take.
//   field_suite [KERNEL]               the kernels of core/legality's suite, each against its rewrites: a line for each
//                                      kernel, and for each rewrite that is not judged as it is labelled; the sums
//   field_suite PROGRAM.cu [-FLAG …]   every kernel of a program against itself
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <regex>

#include "core/base/file.h"
#include "core/compiler/frontend.h"
#include "core/legality/tests/suite.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/evaluate/runner/field/field_conclusion.h"

namespace kernelift::sandbox {
namespace {

using legality::SuiteKernel;
using legality::Variant;

constexpr uint64_t kSeed = 12345;
constexpr size_t kBytes = 4 << 20, kFilled = 1 << 20;  // Of each array.

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;  // Of calloc: pages come with use.

struct Parameter {
  std::string name;
  bool pointer = false, floating = false;
};

/// Of the definition of kernel `name`; of the only kernel if that is empty.
std::vector<Parameter> parameters_of(const std::string& text, const std::string& name = "") {
  const std::regex head("__global__\\s+void\\s+" + (name.empty() ? "\\w+" : name) + "\\s*\\(([^)]*)\\)\\s*\\{");
  static const std::regex kOne(R"(([^,]*?)(\w+)\s*(?:,|$))");
  std::vector<Parameter> parameters;
  std::smatch found;
  if (!std::regex_search(text, found, head)) return parameters;
  const std::string inside = found[1];
  for (std::sregex_iterator at(inside.begin(), inside.end(), kOne), end; at != end; ++at) {
    const std::string type = (*at)[1];
    auto has = [&](const char* word) { return type.find(word) != type.npos; };
    const bool floating = has("float") || has("double") || has("Particle") || has("DATA_TYPE");
    parameters.push_back({(*at)[2], has("*"), floating});
  }
  return parameters;
}

/// What one launch left in each of its arrays, and met.
struct Left {
  std::vector<FieldObject> objects;
  std::vector<Memory> memory;
  FieldReport report;
  std::string failure;
  double seconds = 0;  ///< Of the processor.
  std::span<const uint64_t> states(size_t i) const {
    return {reinterpret_cast<const uint64_t*>(objects[i].states), objects[i].states_bytes() / sizeof(uint64_t)};
  }
};

Left launch(const cpu::LoadedImage& image, const kl_kernel& kernel, const std::vector<Parameter>& parameters,
            const std::function<int64_t(size_t)>& integer, const Geometry& geometry, bool meant) {
  Left left;
  if (kernel.parameter_count != parameters.size())
    return left.failure = "a struct among its parameters", std::move(left);
  FieldRequest request;
  request.seed = kSeed, request.constants_meant = meant;
  auto add = [&](void* begin, uint64_t bytes, bool integers) {
    FieldObject object;
    object.begin = reinterpret_cast<uint64_t>(begin), object.bytes = bytes, object.key = request.objects.size() + 1;
    object.integers = integers;
    object.states = reinterpret_cast<uint64_t>(left.memory.emplace_back(calloc(object.states_bytes(), 1)).get());
    request.objects.push_back(object);
  };
  std::vector<char> packed(kernel.parameter_bytes + 1);
  for (size_t p = 0; p < parameters.size(); ++p) {
    const kl_parameter& slot = kernel.parameters[p];
    auto put = [&](auto value) {
      std::memcpy(&packed[slot.offset], &value, std::min<size_t>(sizeof value, slot.size));
    };
    if (parameters[p].pointer) {
      auto* words = static_cast<uint32_t*>(left.memory.emplace_back(calloc(kBytes, 1)).get());
      for (uint32_t i = 0; i < kFilled / 4; ++i)
        words[i] = parameters[p].floating          ? 0x3f800000u + (i * 2654435761u >> 9)
                   : parameters[p].name == "begin" ? i * 3
                                                   : i % 61;
      add(words, kBytes, !parameters[p].floating);
      put(words);
    } else if (parameters[p].floating) {
      slot.size == 4 ? put(1.5f) : put(1.5);
    } else {
      put(integer(p));
    }
  }
  for (uint32_t v = 0; v < image.image().variable_count; ++v)
    add(image.image().variables[v].address, image.image().variables[v].size, false);
  left.objects = request.objects;
  cpu::FieldRun field(std::move(request));
  cpu::LaunchOptions options;
  options.field = &field;
  const std::clock_t begin = std::clock();
  const cpu::LaunchOutcome outcome = cpu::launch(kernel, geometry, packed.data(), options);
  left.seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!outcome.ok()) left.failure = outcome.detail;
  left.report = field.report();
  return left;
}

Result<std::shared_ptr<cpu::LoadedImage>> build(const std::string& text, const FrontendOptions& frontend = {}) {
  llvm::LLVMContext context;
  KERNELIFT_ASSIGN(auto compiled, compile_to_device_ir(context, text, frontend));
  cpu::LowerOptions options;
  options.field = true;
  KERNELIFT_ASSIGN(auto lowered, cpu::lower(std::move(compiled.module), options));
  return cpu::LoadedImage::load(lowered.elf, "field suite");
}

enum class Answer { Equal, EqualAsDecided, Differs, NotKnown, NoFloats, NotRun };
constexpr const char* kAnswers[] = {"equal",  "equal as recorded floats decide", "differs", "not known", "no floats",
                                    "not run"};
constexpr int kKinds = std::size(kAnswers);

struct Judged {
  Answer answer = Answer::NotRun;
  std::string why;
  double seconds = 0;  ///< Of both runs.
};

FieldNumbers compare(const Left& one, const Left& other) {
  FieldNumbers numbers{true, false, {}};
  for (size_t i = 0; i < one.objects.size() && !numbers.surely; ++i) {
    const auto found = cpu::first_difference(one.objects[i], kSeed, one.states(i), other.states(i));
    if (found && (numbers.equal || found->surely))
      numbers = {false, found->surely, "byte " + std::to_string(found->offset) + " of array " + std::to_string(i)};
  }
  return numbers;
}

Answer answer_of(const FieldEquality& field) {
  switch (field.found) {
    case FieldEquality::Found::Equal: return field.decided.empty() ? Answer::Equal : Answer::EqualAsDecided;
    case FieldEquality::Found::Differs: return Answer::Differs;
    case FieldEquality::Found::NotKnown: return Answer::NotKnown;
    default: return field.why == kNoFloats ? Answer::NoFloats : Answer::NotRun;
  }
}

/// `run(candidate, meant)`.
Judged judge(const std::function<Left(bool, bool)>& run) {
  Judged judged;
  for (bool meant : {false, true}) {
    const Left one = run(false, meant), other = one.failure.empty() ? run(true, meant) : Left();
    judged.seconds += one.seconds + other.seconds;
    judged.why = one.failure.empty() ? other.failure : "the original: " + one.failure;
    if (!judged.why.empty()) return judged.answer = Answer::NotRun, judged;
    const FieldEquality field = concluded(one.report, other.report, compare(one, other));
    judged.answer = answer_of(field);
    judged.why =
        field.why + field.decided + (field.decided.empty() || field.function.empty() ? "" : "; ") + field.function;
    if (judged.answer <= Answer::EqualAsDecided || judged.answer == Answer::NoFloats) return judged;
  }
  return judged;
}

Judged judge(const SuiteKernel& kernel, const Variant& variant) {
  const std::vector<Parameter> parameters = parameters_of(kernel.text);
  const auto integers = std::ranges::count_if(parameters, [](auto& one) { return !one.pointer && !one.floating; });
  auto name = [](size_t p) { return "arg.a" + std::to_string(p); };
  Bindings sizes;
  for (int64_t size : {96, 100, 64, 128, 256, 512, 1024}) {
    for (size_t p = 0; p < parameters.size(); ++p)
      sizes[name(p)] = parameters[p].name.starts_with("inc") ? 1 : integers > 2 ? size / 2 : size;
    auto holds = variant.holds_if ? variant.holds_if->evaluate(sizes) : Result<int64_t>(1);
    if (holds.ok() && *holds != 0) break;
  }
  auto one = build(kernel.text), other = build(variant.text);
  return judge([&](bool candidate, bool meant) {
    Left left;
    auto& image = candidate ? other : one;
    if (!image.ok()) return left.failure = image.error().message, std::move(left);
    const legality::LaunchShape& shape = candidate ? variant.launch : kernel.launch;
    Geometry geometry;
    geometry.block = shape.block;
    for (int axis = 0; axis < 3; ++axis) {
      auto blocks = shape.grid[axis] ? shape.grid[axis]->evaluate(sizes) : Result<int64_t>(1);
      if (!blocks.ok()) return left.failure = blocks.error().message, std::move(left);
      along(geometry.grid, axis) = uint32_t(*blocks);
    }
    return launch(
        **image, (*image)->image().kernels[0], parameters, [&](size_t p) { return sizes.at(name(p)); }, geometry,
        meant);
  });
}

void print(const std::string& name, const Judged& judged) {
  std::printf("%-24s %-32s %8.1f ms  %s\n", name.c_str(), kAnswers[int(judged.answer)], 1e3 * judged.seconds,
              judged.why.c_str());
}

int judge_suite(const std::string& only) {
  const char* const labels[] = {"right", "wrong", "values"};
  int sums[3][kKinds] = {}, kernels[kKinds] = {};
  double slowest = 0;
  for (auto& kernel : legality::read_suite(KERNELIFT_SUITE, only)) {
    Variant self;
    self.text = kernel.text, self.launch = kernel.launch;
    const Judged alone = judge(kernel, self);
    ++kernels[int(alone.answer)], slowest = std::max(slowest, alone.seconds);
    print(kernel.name, alone);
    for (auto& variant : kernel.variants) {
      if (variant.label == Variant::Label::Wrong) continue;  // They are wrong at other sizes, or by a race.
      const Judged judged = judge(kernel, variant);
      const bool right = variant.label == Variant::Label::Right;
      ++sums[int(variant.label)][int(judged.answer)], slowest = std::max(slowest, judged.seconds);
      if ((judged.answer <= Answer::EqualAsDecided) != right && alone.answer != Answer::NoFloats)
        std::printf("    %s %s: %s: %s\n", labels[int(variant.label)], variant.what.c_str(),
                    kAnswers[int(judged.answer)], judged.why.c_str());
    }
  }
  std::printf("\n%-34s %8s %8s %8s\n", "", "kernels", "right", "values");
  for (int i = 0; i < kKinds; ++i) std::printf("%-34s %8d %8d %8d\n", kAnswers[i], kernels[i], sums[0][i], sums[2][i]);
  std::printf("slowest pair of runs: %.0f ms\n", 1e3 * slowest);
  return 0;
}

/// Grids of 256 threads along x, and as many along y if the kernel asks for them; the first of everything else.
int judge_program(const std::string& file, const std::vector<std::string>& flags) {
  auto text = read_text(file);
  if (!text.ok()) return std::fprintf(stderr, "%s\n", text.error().message.c_str()), 1;
  FrontendOptions frontend;
  frontend.flags = flags, frontend.folder = std::filesystem::path(file).parent_path().string();
  auto image = build(*text, frontend);
  if (!image.ok()) return std::fprintf(stderr, "%s: %s\n", file.c_str(), image.error().message.c_str()), 1;
  const kl_image& table = (*image)->image();
  for (uint32_t k = 0; k < table.kernel_count; ++k) {
    const std::string mangled = table.kernels[k].name;
    std::smatch spelled;
    std::string name = mangled;
    if (std::regex_search(mangled, spelled, std::regex("_Z(\\d+)")))
      name = mangled.substr(2 + spelled[1].length(), std::stoul(spelled[1]));
    const std::vector<Parameter> parameters = parameters_of(*text, name);
    const size_t begin = text->find(name);
    const bool flat = text->find("blockIdx.y", begin) > text->find("__global__", begin + 1);
    Geometry geometry;
    geometry.block = flat ? Dim3{256, 1, 1} : Dim3{32, 8, 1}, geometry.grid = flat ? Dim3{16, 1, 1} : Dim3{16, 64, 1};
    print(name, judge([&](bool, bool meant) {
            return launch(
                **image, table.kernels[k], parameters,
                [&](size_t p) { return parameters[p].name.size() < 2 && parameters[p].name != "n" ? 1 : 512; },
                geometry, meant);
          }));
  }
  return 0;
}

}  // namespace
}  // namespace kernelift::sandbox

int main(int count, char** arguments) {
  const std::string first = count > 1 ? arguments[1] : "";
  if (first.ends_with(".cu")) return kernelift::sandbox::judge_program(first, {arguments + 2, arguments + count});
  return kernelift::sandbox::judge_suite(first);
}
