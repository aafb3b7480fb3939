// See recipe_passes.h.
#include "core/compiler/recipe_passes.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LazyCallGraph.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <optional>

namespace kernelift {
namespace {

/// The module, function or loop on which a pass is about to run, for messages.
std::string unit_name(const llvm::Any& unit) {
  if (llvm::any_cast<const llvm::Module*>(&unit)) return "the module";
  if (auto* function = llvm::any_cast<const llvm::Function*>(&unit)) return (*function)->getName().str();
  if (auto* component = llvm::any_cast<const llvm::LazyCallGraph::SCC*>(&unit)) return (*component)->getName();
  if (auto* loop = llvm::any_cast<const llvm::Loop*>(&unit))
    return "a loop of " + (*loop)->getHeader()->getParent()->getName().str();
  return "?";
}

Result<llvm::OptimizationLevel> level_of(const std::string& name) {
  using Level = llvm::OptimizationLevel;
  const std::pair<const char*, Level> levels[] = {{"O0", Level::O0}, {"O1", Level::O1}, {"O2", Level::O2},
                                                  {"O3", Level::O3}, {"Os", Level::Os}, {"Oz", Level::Oz}};
  for (auto& [known, level] : levels)
    if (name == known) return level;
  return refused("'" + name + "' is not an optimisation level (O0 O1 O2 O3 Os Oz)");
}

}  // namespace

bool leaves_traces(const Recipe& recipe) {
  return recipe.unroll_threshold >= 0 || recipe.inline_threshold >= 0 || !recipe.options.empty();
}

Status set_options(const Recipe& recipe) {
  std::vector<std::string> words{"kernelift"};
  if (recipe.unroll_threshold >= 0) words.push_back("-unroll-threshold=" + std::to_string(recipe.unroll_threshold));
  if (recipe.inline_threshold >= 0) words.push_back("-inline-threshold=" + std::to_string(recipe.inline_threshold));
  auto& registered = llvm::cl::getRegisteredOptions();
  for (auto& option : recipe.options) {
    llvm::StringRef name = llvm::StringRef(option).ltrim('-').split('=').first;
    // Checked first, because the parser would exit the process at an unknown option.
    if (!option.starts_with("-") || !registered.contains(name))
      return refused("'" + option + "' is not an LLVM option");
    words.push_back(option);
  }
  std::vector<const char*> argv;
  for (auto& word : words) argv.push_back(word.c_str());
  std::string complaint;
  llvm::raw_string_ostream errors(complaint);
  if (argv.size() > 1 && !llvm::cl::ParseCommandLineOptions(static_cast<int>(argv.size()), argv.data(), "", &errors))
    return refused(llvm::StringRef(complaint).trim().str());
  return done();
}

namespace {

bool is_of_libdevice(const llvm::Function& function) { return function.getName().starts_with("__nv_"); }

/// True for an infinity or NaN, and for an aggregate with such an element.
bool has_infinite(const llvm::Constant& constant) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(&constant)) return number->isInfinity() || number->isNaN();
  if (auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&constant)) {
    if (!data->getElementType()->isFloatingPointTy()) return false;
    for (unsigned k = 0; k < data->getNumElements(); ++k)
      if (!data->getElementAsAPFloat(k).isFinite()) return true;
    return false;
  }
  if (!llvm::isa<llvm::ConstantAggregate>(constant)) return false;
  return std::any_of(constant.op_begin(), constant.op_end(),
                     [](const llvm::Use& part) { return has_infinite(*llvm::cast<llvm::Constant>(&part)); });
}

/// True for isnan(x), x != x, isinf(x), x > FLT_MAX, and for constants such as the -INFINITY with which a search for a
/// maximum begins.
bool tests_for_finite(const llvm::Instruction& instruction) {
  auto with_itself = [&] {  // In unoptimised IR `x != x` loads x twice.
    auto *left = instruction.getOperand(0), *right = instruction.getOperand(1);
    auto *one = llvm::dyn_cast<llvm::LoadInst>(left), *other = llvm::dyn_cast<llvm::LoadInst>(right);
    return left == right || (one && other && one->getPointerOperand() == other->getPointerOperand());
  };
  if (auto* comparison = llvm::dyn_cast<llvm::FCmpInst>(&instruction)) {
    const auto predicate = comparison->getPredicate();
    if (predicate == llvm::CmpInst::FCMP_ORD || predicate == llvm::CmpInst::FCMP_UNO || with_itself()) return true;
    for (auto& operand : comparison->operands())  // `x > FLT_MAX`
      if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(&operand); number && number->getValueAPF().isLargest())
        return true;
  }
  if (instruction.getOpcode() == llvm::Instruction::FSub && with_itself()) return true;
  // Code that reads a number's bits may test for those of an infinity or NaN.
  if (llvm::isa<llvm::BitCastInst>(instruction) && instruction.getType()->getPrimitiveSizeInBits() >= 32 &&
      instruction.getType()->isFloatingPointTy() != instruction.getOperand(0)->getType()->isFloatingPointTy())
    return true;
  if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
    if (auto* callee = call->getCalledFunction())
      for (auto* word :
           {"isnan", "isinf", "finite", "is.fpclass", "float_as_", "double_as_", "int_as_float", "longlong_as_double"})
        if (callee->getName().contains(word)) return true;
  return std::any_of(instruction.op_begin(), instruction.op_end(), [](const llvm::Use& operand) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(&operand);
    return constant && !llvm::isa<llvm::GlobalValue>(constant) && has_infinite(*constant);
  });
}

/// The function that tests for finite numbers, or the table that holds an infinity or NaN; nullptr if there is none.
const llvm::GlobalValue* find_test_for_finite(const llvm::Module& module) {
  for (auto& table : module.globals())
    if (table.hasInitializer() && has_infinite(*table.getInitializer())) return &table;
  for (auto& function : module)
    for (auto& block : function)
      for (auto& instruction : block)
        if (!is_of_libdevice(function) && tests_for_finite(instruction)) return &function;
  return nullptr;
}

}  // namespace

Status add_fast_math(llvm::Module& module, const Recipe& recipe) {
  if (recipe.fast_math.empty()) return done();
  llvm::FastMathFlags flags;
  for (auto& name : recipe.fast_math) {
    if (name == "nnan") flags.setNoNaNs();
    else if (name == "ninf") flags.setNoInfs();
    else if (name == "nsz") flags.setNoSignedZeros();
    else if (name == "arcp") flags.setAllowReciprocal();
    else if (name == "contract") flags.setAllowContract(true);
    else if (name == "afn") flags.setApproxFunc();
    else if (name == "reassoc") flags.setAllowReassoc();
    else return refused("'" + name + "' is not a fast-math flag (nnan ninf nsz arcp contract afn reassoc)");
  }
  if (flags.noNaNs() || flags.noInfs())
    if (auto* found = find_test_for_finite(module))
      return refused("'" + found->getName().str() +
                     "' tests whether a number is finite, or holds one that is not, but " +
                     (flags.noNaNs() ? "nnan" : "ninf") + " assumes that all numbers are finite");
  for (auto& function : module) {
    llvm::FastMathFlags here = flags;
    if (is_of_libdevice(function)) here.setNoNaNs(false), here.setNoInfs(false);
    for (auto& block : function)
      for (auto& instruction : block)
        if (llvm::isa<llvm::FPMathOperator>(instruction))
          instruction.setFastMathFlags(instruction.getFastMathFlags() | here);
  }
  return done();
}

static int round_separately(llvm::Module& module) {
  std::vector<llvm::IntrinsicInst*> fusible;
  int count = 0;
  for (auto& function : module)
    for (auto& block : function)
      for (auto& instruction : block) {
        if (!llvm::isa<llvm::FPMathOperator>(instruction)) continue;
        llvm::FastMathFlags flags = instruction.getFastMathFlags();
        count += flags.allowContract();
        flags.setAllowContract(false);
        instruction.copyFastMathFlags(flags);
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call && call->getIntrinsicID() == llvm::Intrinsic::fmuladd) fusible.push_back(call);
      }
  for (auto* call : fusible) {
    llvm::IRBuilder<> builder(call);
    llvm::Value* product = builder.CreateFMul(call->getArgOperand(0), call->getArgOperand(1));
    call->replaceAllUsesWith(builder.CreateFAdd(product, call->getArgOperand(2)));
    call->eraseFromParent();
  }
  return count + static_cast<int>(fusible.size());
}

namespace {

/// A sum of two products, a * b + c * d, or their difference.
struct SumOfProducts {
  llvm::Value *a, *b, *c, *d;
  bool difference;
};

std::optional<SumOfProducts> sum_of_products(const llvm::Instruction& sum) {
  auto product = [](llvm::Value* value) -> llvm::BinaryOperator* {
    auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
    return operation && operation->getOpcode() == llvm::Instruction::FMul ? operation : nullptr;
  };
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&sum);
  if (call && call->getIntrinsicID() == llvm::Intrinsic::fmuladd) {
    llvm::Value* added = call->getArgOperand(2);
    auto* minus = llvm::dyn_cast<llvm::UnaryOperator>(added);
    if (minus) added = minus->getOperand(0);
    if (auto* other = product(added))
      return SumOfProducts{call->getArgOperand(0), call->getArgOperand(1), other->getOperand(0), other->getOperand(1),
                           minus != nullptr};
  }
  bool adds = sum.getOpcode() == llvm::Instruction::FAdd, subtracts = sum.getOpcode() == llvm::Instruction::FSub;
  if ((!adds && !subtracts) || !sum.hasAllowContract()) return std::nullopt;
  auto *one = product(sum.getOperand(0)), *other = product(sum.getOperand(1));
  if (!one || !other) return std::nullopt;
  return SumOfProducts{one->getOperand(0), one->getOperand(1), other->getOperand(0), other->getOperand(1), subtracts};
}

}  // namespace

int fuse(llvm::Module& module, Fusing fusing) {
  if (fusing == Fusing::AsCompiled) return 0;
  if (fusing == Fusing::Never) return round_separately(module);
  std::vector<llvm::Instruction*> found;
  for (auto& function : module)
    for (auto& block : function)
      for (auto& instruction : block)
        if (sum_of_products(instruction)) found.push_back(&instruction);
  for (llvm::Instruction* sum : found) {
    // Read again, because the previous replacement may have changed a factor of this sum.
    auto [a, b, c, d, difference] = *sum_of_products(*sum);
    llvm::IRBuilder<> builder(sum);
    bool first = fusing == Fusing::First;
    if (difference) c = builder.CreateFNeg(c);
    llvm::Value* rounded = first ? builder.CreateFMul(c, d) : builder.CreateFMul(a, b);
    llvm::Value* fused =
        builder.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {first ? a : c, first ? b : d, rounded});
    sum->replaceAllUsesWith(fused);
    sum->eraseFromParent();
  }
  return static_cast<int>(found.size());
}

Status run_passes(llvm::Module& module, const Recipe& recipe, llvm::TargetMachine* machine, const Announce& announce) {
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerBeforeNonSkippedPassCallback([&](llvm::StringRef pass, llvm::Any unit) {
    // Looked up here, because names of passes are registered only when one is looked up.
    llvm::StringRef name = callbacks.getPassNameForClassName(pass);
    announce((name.empty() ? pass : name).str() + " on " + unit_name(unit));
  });
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = recipe.vectorize;
  if (recipe.inline_threshold >= 0) tuning.InlinerThreshold = recipe.inline_threshold;
  llvm::PassBuilder builder(machine, tuning, std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::ModulePassManager passes;
  if (!recipe.passes.empty()) {
    if (auto error = builder.parsePassPipeline(passes, recipe.passes))
      return refused("not a pass pipeline: " + llvm::toString(std::move(error)));
  } else {
    KERNELIFT_ASSIGN(auto level, level_of(recipe.level));
    passes = builder.buildPerModuleDefaultPipeline(level);
  }
  passes.run(module, modules);
  announce("verifier");
  std::string broken;
  llvm::raw_string_ostream text(broken);
  if (llvm::verifyModule(module, &text))
    return environment_error("the pipeline leaves invalid IR: " + llvm::StringRef(broken).split('\n').first.str());
  return done();
}

}  // namespace kernelift
