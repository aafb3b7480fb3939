// Which source file something in the host program came from, as its own symbol table says: every object file's local
// symbols stand behind the name of the file that was compiled. nvcc puts each file's GPU code into such a local symbol,
// so two modules with a kernel of one name can be told apart. A program without symbols says nothing.
#pragma once
#include <string>
#include <string_view>

namespace kernelift::record {

/// "tmpxft_00001304_00000000-6_plain.cudafe1.cpp": the file whose local symbol lies exactly at `address` of this
/// process, or empty.
std::string symbol_file_of(const void* address);

/// "libcublas.so.13": the name of the program's or library's file that lies at `address` of this process; kInMemory if
/// none does: code that the program made or read while it ran.
std::string object_at(const void* address);
inline constexpr const char* kInMemory = "(memory)";

/// "plain", of the source that such a name was made from; empty if it was made from none ("link.stub").
std::string source_stem(std::string_view symbol_file);

}  // namespace kernelift::record
