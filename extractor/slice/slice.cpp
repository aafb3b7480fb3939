// Three attempts, each proven on its own: cut exactly the declarations that are used; if that does not compile or
// differs, cut generously (every specialisation); if that fails too, or the kernel depends on host code by its nature
// (an extended lambda), take the whole unit. One parse serves all attempts.
#include "extractor/slice/slice.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "core/base/file.h"
#include "core/base/within.h"
#include "core/model/knob/template_arguments.h"
#include "extractor/scan/argument_finder.h"
#include "extractor/scan/kernel_finder.h"
#include "extractor/slice/linked_units.h"
#include "extractor/slice/proof.h"
#include "extractor/slice/slice_writer.h"

namespace kernelift::extractor {
namespace {

/// Everything that is taken from the one parse.
struct Parsed {
  bool found = false;
  std::vector<SliceText> slices;    ///< From exact to generous; empty if none can be cut.
  std::vector<SliceText> resolved;  ///< The same slices with only the active branches of their conditionals.
  SliceText whole;
  std::string device_only;  ///< The unit without host functions' bodies, for units whose host code clang rejects.
  std::string instantiation, expression, main_text, refusal;
  std::vector<std::string> constants;
  std::vector<SlicedFunction> functions;
  std::set<std::string> undefined;  ///< Mangled names of functions and variables that another unit defines.
};

/// "template __global__ void ::ns::k<float, 8>(const float *, int);" for an instance of a template. Named from the
/// outermost namespace: by a bare name a template of an unnamed namespace cannot be instantiated from outside it.
std::string instantiation_of(const ParsedUnit& unit, const clang::FunctionDecl* kernel, const std::string& name) {
  auto kind = kernel->getTemplateSpecializationKind();
  if (kind == clang::TSK_Undeclared || kind == clang::TSK_ExplicitSpecialization) return "";
  std::string line = "template __global__ void ::" + name + "(";
  for (unsigned i = 0; i < kernel->getNumParams(); ++i)
    line += (i ? ", " : "") + spelled_type(unit, kernel->getParamDecl(i)->getType().getUnqualifiedType());
  return line + ");";
}

/// Arguments of the kernel's template that launches give by the name of a constant that is a knob, by their numbers.
std::map<size_t, const clang::VarDecl*> named_arguments(const ParsedUnit& unit, const SourceItems& items,
                                                        const clang::FunctionDecl* kernel,
                                                        const std::vector<Knob>& knobs) {
  std::map<size_t, const clang::VarDecl*> named;
  for (auto& found :
       find_arguments(unit, items, kernel, close_over(unit, items, kernel), find_launches(unit, items).launches))
    if (found.constant && std::ranges::any_of(knobs, [&](auto& knob) {
          return knob.name == constant_name(found.constant) && knob.value == argument_value(kernel, found.index);
        }))
      named[found.index] = found.constant;
  return named;
}

/// The kernel's name in its instantiation, with a constant for each argument that is a knob, and their definitions, but
/// those of the application's own constants, which are `named`.
std::pair<std::string, std::string> with_constants(const ParsedUnit& unit, const clang::FunctionDecl* kernel,
                                                   const std::vector<Knob>& knobs,
                                                   const std::map<size_t, const clang::VarDecl*>& named) {
  std::string name = spelled_name(unit, kernel), definitions;
  auto* pattern = kernel->getPrimaryTemplate();
  const auto arguments = template_arguments(name);
  if (!pattern || pattern->getTemplateParameters()->size() != arguments.size()) return {name, ""};
  for (size_t i = arguments.size(); i-- > 0;) {
    if (auto own = named.find(i); own != named.end()) {
      name.replace(arguments[i].begin, arguments[i].end - arguments[i].begin, constant_name(own->second));
      continue;
    }
    auto* parameter = pattern->getTemplateParameters()->getParam(static_cast<unsigned>(i));
    const std::string constant = argument_constant(kernel->getNameAsString(), parameter->getNameAsString());
    const auto value = argument_value(kernel, i);
    auto is_it = [&](auto& knob) { return knob.name == constant && knob.value == value; };
    if (!value || std::ranges::none_of(knobs, is_it)) continue;
    name.replace(arguments[i].begin, arguments[i].end - arguments[i].begin, constant);
    definitions.insert(0, argument_definition(constant, *value) + "\n");
  }
  return {name, definitions};
}

/// The function that contains a lambda whose call operator `function` is; null for any other function.
const clang::FunctionDecl* around_lambda(const clang::FunctionDecl* function) {
  auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
  if (!method || !method->getParent()->isLambda()) return nullptr;
  return llvm::dyn_cast_or_null<clang::FunctionDecl>(method->getParent()->getParentFunctionOrMethod());
}

/// Instances of one template are listed once. A lambda is part of the function that contains it, unless that runs on
/// the host only.
std::vector<SlicedFunction> functions_of(const ParsedUnit& unit, const Closure& closure) {
  std::map<std::pair<std::string, unsigned>, SlicedFunction> found;
  for (auto* one : closure.functions) {
    const clang::FunctionDecl* function = nullptr;
    if (!one->isDefined(function) || function->isImplicit() || is_host_only(function)) continue;
    auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
    const bool lambda = method && method->getParent()->isLambda();
    auto* around = around_lambda(function);
    FileOffset begin = unit.place(function->getBeginLoc()), end = unit.place(function->getEndLoc());
    if ((lambda && !(around && is_host_only(around))) || !unit.is_user(begin.file) || begin.file != end.file) continue;
    found[{unit.path(begin.file), begin.offset}] = {
        lambda ? around->getQualifiedNameAsString() + "::(lambda)" : function->getQualifiedNameAsString(),
        unit.path(begin.file), unit.line(begin.file, begin.offset), unit.line(end.file, end.offset),
        function->hasAttr<clang::CUDAHostAttr>() || (function->isConstexpr() && !lambda)};
  }
  std::vector<SlicedFunction> functions;
  for (auto& [place, function] : found) functions.push_back(std::move(function));
  return functions;
}

/// `knobs`: the kernel's.
void take(const ParsedUnit& unit, const ScannedKernel& wanted, const std::vector<Knob>& knobs, Parsed& parsed) {
  SourceItems items(unit);
  auto kernels = find_kernels(unit, items);
  auto at = std::find_if(kernels.begin(), kernels.end(), [&](auto& one) {
    return one.kernel.mangled == wanted.mangled && one.kernel.definition.file == wanted.definition.file;
  });
  if (at == kernels.end()) return;
  parsed.found = true;
  parsed.expression = at->kernel.name;
  const auto named = at->function->getPrimaryTemplate() ? named_arguments(unit, items, at->function, knobs)
                                                        : std::map<size_t, const clang::VarDecl*>();
  const auto [name, constants] = with_constants(unit, at->function, knobs, named);
  parsed.instantiation = instantiation_of(unit, at->function, name);
  auto append_instantiation = [&](SliceText& text) {
    if (parsed.instantiation.empty()) return;
    for (size_t begin = 0, end = 0; begin < constants.size(); begin = end + 1)
      end = constants.find('\n', begin), append_line(text, constants.substr(begin, end - begin));
    append_line(text, parsed.instantiation);
  };
  parsed.main_text = unit.text(unit.sources.getMainFileID()).str();
  for (bool every : {false, true}) {
    ClosureOptions options{every};
    for (auto& [index, constant] : named) options.constants.insert(constant);
    Closure closure = close_over(unit, items, at->function, options);
    if (!every) {
      for (auto* variable : closure.variables)
        if (variable->getType().isConstant(unit.context)) parsed.constants.push_back(mangled_name(unit, variable));
      parsed.functions = functions_of(unit, closure);
      for (auto* name : closure.undefined) parsed.undefined.insert(mangled_name(unit, name));
    }
    if (!closure.refusals.empty()) {
      parsed.refusal = closure.refusals.front();
      break;
    }
    SliceText text = write_slice(unit, items, closure);
    append_instantiation(text);
    if (!parsed.slices.empty() && parsed.slices.back().text == text.text) continue;
    parsed.slices.push_back(std::move(text));
    parsed.resolved.push_back(write_slice(unit, items, closure, Conditionals::Resolved));
    append_instantiation(parsed.resolved.back());
  }
  parsed.whole = write_whole_unit(unit);
  SliceText device_only = write_whole_unit(unit, host_bodies(unit, items));
  append_instantiation(device_only);
  parsed.device_only = std::move(device_only.text);
  if (parsed.refusal.empty()) append_instantiation(parsed.whole);
}

/// Host code that clang rejects need not prevent a proof about device code: the slice is then compared with the unit
/// without the bodies of its host functions.
ProofOutcome prove_without_host(const Parsed& parsed, const SliceText& text, const ScannedKernel& kernel,
                                const FrontendOptions& frontend, const ProofOutcome& first) {
  if (!parsed.refusal.empty()) return first;
  auto proof = prove_equal(parsed.device_only, text.text, kernel.mangled, frontend);
  if (!proof.original_compiles) return first;
  if (proof.equal) proof.note += "; compared with the unit without its host functions' bodies, because " + first.note;
  return proof;
}

/// Those whose value is in the text.
std::vector<Knob> knobs_in(const std::vector<Knob>& knobs, const SliceText& text) {
  std::vector<Knob> found;
  for (auto& knob : knobs) {
    const bool written = knob.value_range.file.empty() ||  // By the writer, of a macro of the command line.
                         text.text.find(argument_definition(knob.name, knob.value) + "\n") != std::string::npos;
    if (written || std::ranges::any_of(text.origins, [&](auto& origin) {
          return origin.line == knob.value_range.line && origin.file == knob.value_range.file;
        }))
      found.push_back(knob);
  }
  return found;
}

HeaderSet headers_of(const ScannedUnit& unit) {
  return unit.headers == "toolkit" ? HeaderSet::Toolkit : HeaderSet::Lean;
}

/// Headers that the command includes are in the text, like those of #include directives; their files do not exist where
/// a MEP is compiled.
std::vector<std::string> without_forced_headers(std::vector<std::string> flags) {
  for (size_t i = 0; i + 1 < flags.size();)
    if (flags[i] == "-include" || flags[i] == "-imacros")
      flags.erase(flags.begin() + static_cast<ptrdiff_t>(i), flags.begin() + static_cast<ptrdiff_t>(i) + 2);
    else ++i;
  return flags;
}

/// The flags of `one` that `other` lacks, for a message.
std::string flags_only_in(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  std::string only;
  for (auto& flag : one)
    if (!flag.starts_with("-I") && std::ranges::find(other, flag) == other.end())
      only += (only.empty() ? "" : " ") + flag;
  return only.empty() ? "no further flag" : only;
}

std::vector<Knob> knobs_of(const ScanIndex& index, const ScannedKernel& kernel) {
  std::vector<Knob> found;
  for (auto& knob : index.knobs)
    if (std::ranges::find(knob.kernels, kernel.id) != knob.kernels.end()) found.push_back(knob);
  return found;
}

/// A sentence about other compiles of the unit's file, with other flags, that have the kernel too; or empty.
std::string other_compiles(const ScanIndex& index, const ScannedKernel& kernel, const ScannedUnit& taken,
                           const std::vector<std::string>& flags) {
  std::string others;
  const std::vector<Knob> knobs = knobs_of(index, kernel);
  for (auto& one : index.units) {
    if (one.file != taken.file || &one == &taken) continue;
    auto units = LinkedUnits::begin(index, one);
    if (!units.ok()) continue;
    auto theirs = units->command().parsed.frontend_flags();
    if (theirs == flags) continue;
    Parsed parsed;
    auto outcome = parse_unit(
        units->command(), index.root, [&](ParsedUnit& parse) { take(parse, kernel, knobs, parsed); }, headers_of(one));
    if (outcome.ok() && parsed.found)
      others +=
          (others.empty() ? "" : "; ") + flags_only_in(theirs, flags) + " (not " + flags_only_in(flags, theirs) + ")";
  }
  if (others.empty()) return "";
  return relative_to(taken.file, index.root) +
         " is also compiled with other flags, and has this kernel there under the same name: with " + others +
         ". If the program that ran was compiled so, replay finds other results, or the wrong kernel is tuned: build "
         "only the variant that runs, after a clean and without the old state folder";
}

}  // namespace

Result<Slice> slice_kernel(const ScanIndex& index, const ScannedKernel& kernel, const SliceOptions& options) {
  // A file may be compiled several times with different macros, and not every compile has the kernel.
  const ScannedUnit* unit = nullptr;
  const std::vector<Knob> knobs = knobs_of(index, kernel);
  std::optional<LinkedUnits> units;
  Parsed parsed;
  ParseOutcome outcome;
  for (auto& one : index.units) {
    if (one.file != kernel.tu) continue;
    unit = &one;
    KERNELIFT_ASSIGN(units, LinkedUnits::begin(index, one, options.ptx_version));
    for (bool more = true; more;) {
      parsed = {};
      KERNELIFT_ASSIGN(outcome, parse_unit(
                                    units->command(), index.root,
                                    [&](ParsedUnit& parse) { take(parse, kernel, knobs, parsed); }, headers_of(one)));
      KERNELIFT_ASSIGN(more, units->add_definers(parsed.undefined));
    }
    if (parsed.found) break;
  }
  if (!unit)
    return usage_error("the scan knows no unit " + kernel.tu + " for kernel " + kernel.name +
                       "; run `kernelift scan` again");
  if (!parsed.found)
    return environment_error("kernel " + kernel.name + " is no longer in " + kernel.tu +
                             (outcome.problems.empty() ? "" : " (" + outcome.problems.front() + ")") +
                             "; run `kernelift scan` again");
  const HeaderSet headers = headers_of(*unit);

  Slice slice;
  slice.unit = *unit;
  slice.kernel_expression = parsed.expression;
  slice.mangled = kernel.mangled;
  slice.instantiation = parsed.instantiation;
  slice.constants = std::move(parsed.constants), slice.functions = std::move(parsed.functions);
  FrontendOptions frontend = frontend_options(units->command(), headers);
  slice.compile_flags = without_forced_headers(frontend.flags), slice.architecture = units->command().arch;
  slice.headers = headers;
  slice.doubt = other_compiles(index, kernel, *unit, units->command().parsed.frontend_flags());
  auto fill = [&](SliceText& from, const char* mode, bool proven, const std::string& note) {
    slice.mode = mode;
    slice.knobs = knobs_in(knobs, from);
    slice.text = std::move(from.text), slice.origins = std::move(from.origins), slice.taken = std::move(from.taken);
    slice.proof = {proven, note};
  };
  if (!options.prove && !parsed.slices.empty()) {
    fill(parsed.slices.front(), "slice", false, "the proof was not requested");
    return slice;
  }
  std::string why = parsed.refusal;
  SliceText* unprovable = nullptr;
  for (auto& text : parsed.slices) {
    auto proof = prove_equal(parsed.main_text, text.text, kernel.mangled, frontend);
    if (proof.slice_compiles && !proof.original_compiles)
      proof = prove_without_host(parsed, text, kernel, frontend, proof);
    if (proof.equal) {
      // Declarations that only another GPU's branch or the host's branch uses are not in the slice. If a branch
      // therefore fails to compile, the branch is removed too.
      SliceText& resolved = parsed.resolved[static_cast<size_t>(&text - parsed.slices.data())];
      int failing = resolved.text == text.text ? 0 : passes_that_fail(text.text, frontend);
      if (failing > 0 && passes_that_fail(resolved.text, frontend) < failing &&
          prove_equal(text.text, resolved.text, kernel.mangled, frontend).equal)
        text = std::move(resolved);
      fill(text, "slice", true, proof.note);
      return slice;
    }
    if (why.empty()) why = proof.note;
    if (proof.slice_compiles && !proof.original_compiles && !unprovable) unprovable = &text, why = proof.note;
  }
  if (unprovable) {
    fill(*unprovable, "slice", false, why);
    return slice;
  }
  if (!options.whole_unit_on_failure) return refused("kernel " + kernel.name + " cannot be sliced: " + why);
  auto proof = prove_equal(parsed.main_text, parsed.whole.text, kernel.mangled, frontend);
  if (!proof.slice_compiles)
    return refused("kernel " + kernel.name + " cannot be lifted out of " + kernel.tu + ": " + why +
                   "; as a whole unit: " + proof.note);
  fill(parsed.whole, "whole-unit", proof.equal, proof.note);
  if (!proof.slice_mangled.empty()) slice.mangled = proof.slice_mangled;
  slice.note = why;
  return slice;
}

std::string closure_report(const Slice& slice, const std::string& root) {
  std::string report;
  for (auto& one : slice.taken) {
    report += relative_to(one.file, root) + ":" + std::to_string(one.line);
    if (one.end_line != one.line) report += "-" + std::to_string(one.end_line);
    report += "  " + one.what + "\n";
  }
  return report;
}

}  // namespace kernelift::extractor
