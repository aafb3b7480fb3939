// What stands before the C library's dlsym and NVRTC's functions.
#pragma once

namespace kernelift::record {

using Dlsym = void* (*)(void*, const char*);

/// The C library's own; all of its versions have this one.
Dlsym real_dlsym();
/// Our function of that name, or nullptr.
void* stand_for(const char* name);

}  // namespace kernelift::record
