// See suite.h.
#include "core/legality/tests/suite.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "core/compiler/frontend.h"
#include "core/compiler/model/model_builder.h"

namespace kernelift::legality {
namespace {

[[noreturn]] void malformed_suite(const std::string& what) {
  std::fprintf(stderr, "suite: %s\n", what.c_str());
  std::exit(2);
}

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t") + 1);
  return text;
}

/// Cut at `by` where that stands outside parentheses and back quotes.
std::vector<std::string> cut(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '`') quoted = !quoted;
    if (!quoted) depth += (c == '(') - (c == ')');
    if (c == by && depth == 0 && !quoted) parts.emplace_back();
    else parts.back() += c;
  }
  for (auto& part : parts) part = trimmed(part);
  return parts;
}

struct LoadedKernel {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  llvm::Function* kernel = nullptr;
};

LoadedKernel load(const std::string& source) {
  LoadedKernel loaded;
  auto ir = compile_to_device_ir(*loaded.context, source, {});
  if (!ir.ok()) malformed_suite(ir.error().message + "\n" + source);
  loaded.module = std::move(ir->module);
  for (auto& function : *loaded.module)
    if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      loaded.kernel = &function;
  if (!loaded.kernel) malformed_suite("no kernel in\n" + source);
  return loaded;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) {
    kernel_.name = path.stem().string();
    std::ifstream file(path);
    std::vector<std::string> lines;
    std::string line, *into = &texts_["original"];
    while (std::getline(file, line)) {
      if (!line.starts_with("//! ")) *into += line + "\n";
      else if (line.starts_with("//! text ")) into = &texts_[trimmed(line.substr(9))];
      else lines.push_back(line.substr(4));
    }
    kernel_.text = texts_["original"];
    name_parameters();
    for (auto& [variable, name] : kernel_.names) variables_.emplace(name, Expression::variable(variable));
    for (auto& entry : lines) read(entry);
  }

  SuiteKernel take() { return std::move(kernel_); }

 private:
  /// The last words of the parameters in `__global__ void name(const float* x, int n)`.
  void name_parameters() {
    const size_t kernel = kernel_.text.find("__global__"), begin = kernel_.text.find('(', kernel);
    const size_t end = kernel_.text.find(')', begin);
    if (end == std::string::npos) malformed_suite(kernel_.name + " has no parameters");
    int number = 0;
    for (auto& parameter : cut(kernel_.text.substr(begin + 1, end - begin - 1), ','))
      kernel_.names["arg.a" + std::to_string(number++)] = parameter.substr(parameter.find_last_of(" *&") + 1);
  }

  Expression expression(const std::string& text) {
    auto parsed = Expression::parse(text);
    if (!parsed.ok()) malformed_suite(kernel_.name + ": " + parsed.error().message);
    return parsed->substitute(variables_);
  }

  static uint32_t threads(const std::string& text) { return static_cast<uint32_t>(std::stoul(text)); }

  void read(const std::string& line) {
    auto fields = cut(line, '|');
    if (fields[0] == "original") {
      for (int axis = 0; axis < 3; ++axis) kernel_.launch.grid[axis] = Expression::constant(1);
      Variant launch;
      for (size_t i = 1; i < fields.size(); ++i) read_field(fields[i], launch, kernel_.launch);
      if (!launch.at.empty()) kernel_.recorded = launch.at.front();
      return;
    }
    Variant variant;
    const std::string word = fields[0].substr(0, fields[0].find(' '));
    variant.label = word == "right"   ? Variant::Label::Right
                    : word == "wrong" ? Variant::Label::Wrong
                                      : Variant::Label::Values;
    const size_t colon = fields[0].find(": ");
    if ((variant.label == Variant::Label::Values) != (word == "values") || colon == std::string::npos)
      malformed_suite(kernel_.name + ": cannot read " + line);
    variant.kind = fields[0].substr(word.size() + 1, colon - word.size() - 1);
    variant.what = fields[0].substr(colon + 2);
    variant.text = kernel_.text;
    LaunchShape launch = kernel_.launch;
    for (size_t i = 1; i < fields.size(); ++i) read_field(fields[i], variant, launch);
    variant.launch = launch;
    variant.same_text = variant.text == kernel_.text;
    kernel_.variants.push_back(std::move(variant));
  }

  void read_field(const std::string& field, Variant& variant, LaunchShape& launch) {
    auto rest = [&](const char* word) { return trimmed(field.substr(std::string(word).size())); };
    if (field.starts_with("block ")) {
      auto sizes = cut(rest("block "), ',');
      launch.block = {};
      for (size_t axis = 0; axis < sizes.size(); ++axis) along(launch.block, axis) = threads(sizes[axis]);
    } else if (field.starts_with("grid ")) {
      auto sizes = cut(rest("grid "), ',');
      for (size_t axis = 0; axis < 3; ++axis)
        launch.grid[axis] = axis >= sizes.size() ? std::optional(Expression::constant(1))
                            : sizes[axis] == "?" ? std::nullopt
                                                 : std::optional(expression(sizes[axis]));
    } else if (field.starts_with("text ")) {
      auto found = texts_.find(rest("text "));
      if (found == texts_.end()) malformed_suite(kernel_.name + " has no text " + field);
      variant.text = found->second;
    } else if (field == "unordered") {
      kernel_.unordered = true;
    } else if (field.starts_with("permuted ")) {
      for (auto& name : cut(rest("permuted "), ',')) kernel_.permuted.insert(name);
    } else if (field.starts_with("fixed ")) {
      for (auto& name : cut(rest("fixed "), ',')) kernel_.fixed.insert(*expression(name).as_variable());
    } else if (field.starts_with("if ")) {
      variant.holds_if = expression(rest("if "));
    } else if (field.starts_with("at ")) {
      Bindings sizes;
      for (auto& entry : cut(rest("at "), ',')) {
        const size_t equal = entry.find('=');
        Expression name = expression(entry.substr(0, equal));
        if (!name.as_variable()) malformed_suite(kernel_.name + ": " + field);
        sizes[*name.as_variable()] = std::stoll(entry.substr(equal + 1));
      }
      variant.at.push_back(std::move(sizes));
    } else if (field.starts_with("`")) {
      const size_t end = field.find("` -> `");
      if (end == std::string::npos || field.back() != '`') malformed_suite(kernel_.name + ": cannot read " + field);
      const std::string from = field.substr(1, end - 1), to = field.substr(end + 6, field.size() - end - 7);
      size_t at = variant.text.find(from);
      if (from.empty() || at == std::string::npos) malformed_suite(kernel_.name + " has no text to replace: " + field);
      for (; at != std::string::npos; at = variant.text.find(from, at + to.size()))
        variant.text.replace(at, from.size(), to);
    } else {
      malformed_suite(kernel_.name + ": cannot read " + field);
    }
  }

  SuiteKernel kernel_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, Expression> variables_;
};

double processor_milliseconds() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

bool holds(const Expression& condition, const Bindings& sizes) {
  auto value = condition.evaluate(sizes);
  return value.ok() && *value != 0;
}

void assess(Judged& judged) {
  auto& variant = *judged.variant;
  auto& answer = judged.memory;
  using Kind = Answer::Kind;
  const bool proven = answer.kind == Kind::Proven || answer.kind == Kind::UnderPremise;
  auto allowed = [&](const Bindings& sizes) {
    return answer.kind == Kind::Proven || (answer.kind == Kind::UnderPremise && holds(*answer.premise, sizes));
  };
  switch (variant.label) {
    case Variant::Label::Right:
      judged.settled = proven;
      if (answer.kind == Kind::Refuted) judged.fault = "right, and refuted";
      if (variant.holds_if && answer.kind == Kind::Proven) judged.fault = "right under a condition, and proven without";
      break;
    case Variant::Label::Wrong:
      judged.settled = answer.kind == Kind::Refuted || answer.kind == Kind::UnderPremise;
      if (answer.kind == Kind::Proven) judged.fault = "wrong, and proven";
      if (variant.at.empty() && answer.kind == Kind::UnderPremise)
        judged.fault = "a wrong one under a premise needs `at`";
      break;
    case Variant::Label::Values:
      judged.settled = proven;
      if (answer.kind == Kind::Refuted) judged.fault = "touches the same memory, and refuted";
      break;
  }
  if (variant.label != Variant::Label::Values)
    for (auto& sizes : variant.at)
      if (allowed(sizes)) judged.fault = "its premise holds for sizes for which it is wrong";
  if (judged.values) {
    const bool right = variant.label == Variant::Label::Right;
    if (right && judged.values->kind == Kind::Refuted) judged.fault = "right, and its values refuted";
    if (!right && judged.values->kind == Kind::Proven) judged.fault = "wrong, and its values proven";
  }
  if (!judged.fault.empty()) judged.settled = false;
}

struct Count {
  int proven = 0, premise = 0, refuted = 0, not_known = 0, settled = 0, faults = 0;
  int all() const { return proven + premise + refuted + not_known; }
  void add(const Judged& judged) {
    switch (judged.memory.kind) {
      case Answer::Kind::Proven: ++proven; break;
      case Answer::Kind::UnderPremise: ++premise; break;
      case Answer::Kind::Refuted: ++refuted; break;
      case Answer::Kind::NotKnown: ++not_known; break;
    }
    settled += judged.settled, faults += !judged.fault.empty();
  }
};

std::string row(const std::string& name, const Count& count) {
  char line[200];
  std::snprintf(line, sizeof line, "%-34s %5d %7d %8d %8d %10d %8.1f %%  %s\n", name.c_str(), count.all(), count.proven,
                count.premise, count.refuted, count.not_known, 100.0 * count.settled / std::max(1, count.all()),
                count.faults > 0 ? (std::to_string(count.faults) + " FAULTS").c_str() : "");
  return line;
}

const char* word(Variant::Label label) {
  return label == Variant::Label::Right ? "right" : label == Variant::Label::Wrong ? "wrong" : "values";
}

}  // namespace

std::vector<SuiteKernel> read_suite(const std::filesystem::path& folder, const std::string& only) {
  std::vector<std::filesystem::path> paths;
  for (auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".cu" && (only.empty() || entry.path().stem() == only))
      paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<SuiteKernel> kernels;
  for (auto& path : paths) kernels.push_back(Reader(path).take());
  return kernels;
}

KernelModel suite_model(const std::string& source, const Dim3& block) {
  auto loaded = load(source);
  auto model = build_kernel_model(*loaded.module, loaded.kernel->getName().str(), block);
  if (!model.ok()) malformed_suite(model.error().message);
  return std::move(*model);
}

std::vector<Judged> judge_suite(const std::vector<SuiteKernel>& kernels) {
  std::vector<Judged> all;
  for (auto& kernel : kernels) {
    const KernelModel original = suite_model(kernel.text, kernel.launch.block);
    for (auto& variant : kernel.variants) {
      Judged judged;
      judged.kernel = &kernel, judged.variant = &variant;
      auto loaded = load(variant.text);
      const double start = processor_milliseconds();
      auto model = build_kernel_model(*loaded.module, loaded.kernel->getName().str(), variant.launch.block);
      if (!model.ok()) malformed_suite(model.error().message);
      const Side before{original, kernel.launch}, after{*model, variant.launch};
      judged.memory = compare_memory(before, after, kernel.names);
      judged.milliseconds = processor_milliseconds() - start;
      if (variant.same_text) judged.values = compare_values_of_launches(before, after, kernel.names);
      assess(judged);
      all.push_back(std::move(judged));
    }
  }
  return all;
}

std::string table(const std::vector<Judged>& judged) {
  std::map<std::string, Count> by_kernel, by_kind, by_label;
  std::vector<double> times;
  for (auto& one : judged) {
    const std::string label = word(one.variant->label);
    by_kernel[one.kernel->name + " " + label].add(one);
    by_kind[label + " " + one.variant->kind].add(one);
    by_label[label].add(one);
    times.push_back(one.milliseconds);
  }
  std::string text = "                                     all  proven  premise  refuted  not known  settled\n";
  for (auto* part : {&by_kernel, &by_kind, &by_label}) {
    for (auto& [name, count] : *part) text += row(name, count);
    text += "\n";
  }
  std::map<std::string, Count> values;
  for (auto& one : judged)
    if (one.values) {
      Judged of_values = one;
      of_values.memory = *one.values, of_values.fault.clear();
      of_values.settled = one.values->kind != Answer::Kind::NotKnown;
      values["values under a launch, " + std::string(word(one.variant->label))].add(of_values);
    }
  for (auto& [name, count] : values) text += row(name, count);
  std::ranges::sort(times);
  char line[200];
  if (!times.empty()) {
    std::snprintf(line, sizeof line, "model and comparison, ms of processor time: median %.1f, 95 %% %.1f, most %.1f\n",
                  times[times.size() / 2], times[times.size() * 95 / 100], times.back());
    text += line;
  }
  return text;
}

}  // namespace kernelift::legality
