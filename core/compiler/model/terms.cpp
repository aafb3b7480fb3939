// Terms of ValueReader (value_reader.h): what a value that is no expression is made of.
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "core/base/hash.h"
#include "core/compiler/model/instruction_details.h"
#include "core/compiler/model/source_line.h"
#include "core/compiler/model/value_reader.h"

namespace kernelift {
namespace {

using Object = KernelModel::Object;
using Kind = TermValue::Kind;

constexpr int kDeepestTerm = 100;  ///< Nesting of values.
constexpr int kLargestTerm = 200;  ///< Nodes.
constexpr int kMostWords = 20;     ///< Nodes of what does not determine a value.

/// A function of its arguments alone: mathematics.
bool is_pure(const llvm::CallBase& call) {
  auto* callee = call.getCalledFunction();
  if (!callee) return false;
  if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call))
    return !callee->isConvergent() && intrinsic->doesNotAccessMemory() && !callee->getName().contains("sreg");
  return is_libdevice(*callee) &&
         std::ranges::none_of(call.args(), [](auto& argument) { return argument->getType()->isPointerTy(); });
}

std::string printed(const llvm::Constant& constant) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  constant.print(stream);
  return text;
}

std::string printed(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

}  // namespace

Expression ValueReader::unknown_term(const std::string& what, unsigned line) {
  Description description;
  description.known = false;
  return add_term(TermValue::opaque(what), std::move(description), line);
}

Expression ValueReader::add_term(TermValue value, Description description, unsigned line) {
  const bool changes = std::ranges::any_of(description.read, [&](size_t object) { return changed_.contains(object); });
  if (description.known && !changes)
    for (auto& term : model_.terms)
      if (term.repeats && term.value == value && std::ranges::equal(term.arguments, description.arguments)) {
        merged_.insert(description.read.begin(), description.read.end());
        return Expression::variable(term.name);
      }
  // Words for people: what does not determine the value is compared with nothing.
  if (!description.known && description.nodes > kMostWords && value.kind == Kind::Operation)
    value = TermValue::opaque("the result of " + value.what), description.arguments.clear();
  std::string name = "term.t" + std::to_string(model_.terms.size() + 1);
  model_.terms.push_back({name, std::move(value), std::move(description.arguments), description.known, line});
  read_by_.push_back(std::move(description.read));
  return Expression::variable(name);
}

bool ValueReader::is_written(size_t object) const {
  return written_.contains(object) ||
         std::ranges::any_of(written_, [&](size_t one) { return model_.objects[one].kind == Object::Kind::Unknown; });
}

std::set<size_t> ValueReader::settle_terms() {
  // Terms in a term's arguments come before it.
  for (size_t i = 0; i < model_.terms.size(); ++i) {
    auto& term = model_.terms[i];
    for (size_t object : read_by_[i])
      if (is_written(object)) term.repeats = false;
    for (auto& argument : term.arguments)
      for (auto& name : argument.variables())
        if (name.starts_with("term.")) term.repeats &= model_.term(name)->repeats;
  }
  std::set<size_t> merged_in_vain;
  for (size_t object : merged_)
    if (is_written(object)) merged_in_vain.insert(object);
  return merged_in_vain;
}

Expression ValueReader::term(llvm::Value* value, const llvm::Loop* scope) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  Description description;
  TermValue described = describe(value, scope, description);
  return add_term(std::move(described), std::move(description), instruction ? line_of(*instruction) : 0);
}

std::string ValueReader::made_of(llvm::Value* value, llvm::BasicBlock* block) {
  Description description;
  const TermValue made = describe_operand(value, loops_.getLoopFor(block), description);
  if (!description.known || std::ranges::any_of(description.read, [&](size_t object) { return is_written(object); }))
    return "";
  std::string text = compact(to_json(made));
  bool by_thread = false;
  for (auto& argument : description.arguments) {
    text += ", " + argument.text();
    by_thread |= std::ranges::any_of(argument.variables(), [](auto& name) { return !name.starts_with("arg."); });
  }
  return (by_thread ? KernelModel::kByThread : "") + hash_text(text).hex();
}

size_t ValueReader::Description::argument(const Expression& expression) {
  auto found = std::ranges::find(arguments, expression);
  if (found == arguments.end()) found = arguments.insert(found, expression);
  return static_cast<size_t>(found - arguments.begin());
}

TermValue ValueReader::describe_operand(llvm::Value* value, const llvm::Loop* scope, Description& into) {
  if (!value->getType()->isIntegerTy()) return describe(value, scope, into);
  // An integer expression without terms is an argument; one with terms is described by what it is made of. Reading it
  // describes that, too: done again at each level, it would double the work at each.
  if (has_terms_.contains({value, scope})) return describe(value, scope, into);
  Expression plain = integer(value, scope);
  if (std::ranges::any_of(plain.variables(), [](auto& name) { return name.starts_with("term."); })) {
    has_terms_.insert({value, scope});
    return describe(value, scope, into);
  }
  if (plain.as_constant()) return {.kind = Kind::Constant, .what = plain.text()};
  return {.kind = Kind::Argument, .argument = into.argument(plain)};
}

TermValue ValueReader::describe(llvm::Value* value, const llvm::Loop* scope, Description& into) {
  auto unknown = [&](std::string why) {
    into.known = false;
    return TermValue::opaque(std::move(why));
  };
  if (++into.nodes > kLargestTerm || depth_ > kDeepestTerm) return unknown("a long computation");
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value))
    return {.kind = Kind::Constant, .what = printed(*constant)};
  if (auto named = parameter(value)) return {.kind = Kind::Parameter, .what = *named->as_variable()};
  if (auto part = part_of_parameter(value)) return {.kind = Kind::Parameter, .what = std::move(*part)};
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || llvm::isa<llvm::PHINode>(instruction)) return unknown("a value that depends on the way here");
  struct Nest {
    int& depth;
    explicit Nest(int& d) : depth(d) { ++depth; }
    ~Nest() { --depth; }
  } nest(depth_);
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    // Of the last iteration, whichever that was.
    if (auto* own = loops_.getLoopFor(load->getParent()); own && !own->contains(scope))
      return unknown("a value that a loop leaves");
    Address from = address(load->getPointerOperand(), instruction->getParent());
    auto& object = model_.objects[from.object];
    into.read.insert(from.object);
    // Another thread may have written shared memory, and this one its own.
    into.known &=
        !load->isVolatile() && (object.kind == Object::Kind::Argument || object.kind == Object::Kind::Variable);
    // The same bytes are another value as another type.
    return {.kind = Kind::Element,
            .what = printed(*load->getType()),
            .argument = into.argument(from.offset),
            .object = object};
  }
  TermValue made{.kind = Kind::Operation, .what = instruction->getOpcodeName()};
  auto take = [&](auto&& operands) {
    for (auto& operand : operands) made.operands.push_back(describe_operand(operand, scope, into));
  };
  if (auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
    into.known &= is_pure(*call);
    made.what = call->getCalledFunction() ? call->getCalledFunction()->getName().str() : "a call";
    take(call->args());
  } else {
    // What an atomic operation returns is another value each time.
    into.known &= !instruction->mayReadOrWriteMemory();
    made.detail = instruction_details(*instruction);
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(instruction))
      made.what += " " + llvm::CmpInst::getPredicateName(compare->getPredicate()).str();
    take(instruction->operands());
  }
  return made;
}

}  // namespace kernelift
