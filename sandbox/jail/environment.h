// The environment of processes that work for candidates: a fixed list of variables, none of which holds a secret. A
// forked process inherits its parent's whole memory, the strings of its environment included, so these are overwritten.
#pragma once
#include <span>
#include <string_view>

namespace kernelift::sandbox {

/// The variables that a worker keeps: where programs, toolkits and libraries are, and which GPUs it may use.
std::span<const char* const> kept_variables();

/// For a process that was just forked: overwrites its environment, wherever the process has a copy of it that may hold
/// a secret, and its command line; keeps kept_variables(). `name` becomes its command line. Pointers that getenv()
/// returned before are then invalid.
void forget_environment(std::string_view name);

/// For a forked process that will start a program: the program gets kept_variables() and `further` only.
void narrow_environment(std::span<const char* const> further = {});

}  // namespace kernelift::sandbox
