// Terms of ValueReader (value_reader.h): what a value that is no expression is made of.
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "core/compiler/model/source_line.h"
#include "core/compiler/model/value_reader.h"

namespace kernelift {
namespace {

using Object = KernelModel::Object;

constexpr int kDeepest = 100;      ///< Nesting of values.
constexpr int kLargestTerm = 200;  ///< Nodes.

/// A function of its arguments alone: mathematics.
bool is_pure(const llvm::CallBase& call) {
  auto* callee = call.getCalledFunction();
  if (!callee) return false;
  if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call))
    return !callee->isConvergent() && intrinsic->doesNotAccessMemory() && !callee->getName().contains("sreg");
  return callee->getName().starts_with("__nv_") &&
         std::ranges::none_of(call.args(), [](auto& argument) { return argument->getType()->isPointerTy(); });
}

std::string printed(const llvm::Constant& constant) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  constant.print(stream);
  return text;
}

}  // namespace

Expression ValueReader::unknown_term(const std::string& what, unsigned line) {
  Description description;
  description.text = what, description.known = false;
  return add_term(std::move(description), line);
}

Expression ValueReader::add_term(Description description, unsigned line) {
  if (description.known)
    for (size_t i = 0; i < model_.terms.size(); ++i)
      if (auto& term = model_.terms[i];
          term.repeats && term.text == description.text && std::ranges::equal(term.arguments, description.arguments))
        return Expression::variable(term.name);
  std::string name = "term.t" + std::to_string(model_.terms.size() + 1);
  model_.terms.push_back(
      {name, std::move(description.text), std::move(description.arguments), description.known, line});
  read_by_.push_back(std::move(description.read));
  return Expression::variable(name);
}

void ValueReader::settle_terms() {
  bool unknown = std::ranges::any_of(
      written_, [&](size_t object) { return model_.objects[object].kind == Object::Kind::Unknown; });
  // Terms in a term's arguments come before it.
  for (size_t i = 0; i < model_.terms.size(); ++i) {
    auto& term = model_.terms[i];
    for (size_t object : read_by_[i])
      if (unknown || written_.contains(object)) term.repeats = false;
    for (auto& argument : term.arguments)
      for (auto& name : argument.variables())
        if (name.starts_with("term.")) term.repeats &= model_.term(name)->repeats;
  }
}

Expression ValueReader::term(llvm::Value* value, const llvm::Loop* scope) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  Description description;
  describe(value, scope, description);
  return add_term(std::move(description), instruction ? line_of(*instruction) : 0);
}

void ValueReader::describe_operand(llvm::Value* value, const llvm::Loop* scope, Description& into) {
  if (value->getType()->isIntegerTy() && !into.text.empty()) {
    // An integer expression without terms is an argument; one with terms is described by what it is made of.
    Expression plain = integer(value, scope);
    const bool simple = std::ranges::none_of(plain.variables(), [](auto& name) { return name.starts_with("term."); });
    if (simple && !plain.as_constant()) {
      auto found = std::ranges::find(into.arguments, plain);
      if (found == into.arguments.end()) found = into.arguments.insert(found, plain);
      into.text += "#" + std::to_string(found - into.arguments.begin());
      return;
    }
    if (simple) {
      into.text += plain.text();
      return;
    }
  }
  describe(value, scope, into);
}

void ValueReader::describe(llvm::Value* value, const llvm::Loop* scope, Description& into) {
  if (++into.nodes > kLargestTerm || depth_ > kDeepest) {
    into.text += "…", into.known = false;
    return;
  }
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    into.text += printed(*constant);
    return;
  }
  if (auto named = parameter(value)) {
    into.text += *named->as_variable();
    return;
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction) {
    into.text += "?", into.known = false;
    return;
  }
  ++depth_;
  auto all_operands = [&](auto&& operands) {
    into.text += "(";
    bool first = true;
    for (auto& operand : operands) {
      if (!std::exchange(first, false)) into.text += ", ";
      describe_operand(operand, scope, into);
    }
    into.text += ")";
  };
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    Address from = address(load->getPointerOperand(), instruction->getParent());
    auto& object = model_.objects[from.object];
    into.read.insert(from.object);
    // Another thread may have written shared memory, and this one its own.
    into.known &=
        !load->isVolatile() && (object.kind == Object::Kind::Argument || object.kind == Object::Kind::Variable);
    auto found = std::ranges::find(into.arguments, from.offset);
    if (found == into.arguments.end()) found = into.arguments.insert(found, from.offset);
    // The same bytes are another value as another type.
    llvm::raw_string_ostream text(into.text);
    text << "load " << *load->getType() << " " << object.name << "[#" << found - into.arguments.begin() << "]";
  } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
    into.known &= is_pure(*call);
    into.text += call->getCalledFunction() ? call->getCalledFunction()->getName().str() : "a call";
    all_operands(call->args());
  } else if (llvm::isa<llvm::PHINode>(instruction)) {
    into.known = false, into.text += "a value that depends on the way here";
  } else {
    into.text += instruction->getOpcodeName();
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(instruction))
      into.text += " " + llvm::CmpInst::getPredicateName(compare->getPredicate()).str();
    all_operands(instruction->operands());
  }
  --depth_;
}

}  // namespace kernelift
