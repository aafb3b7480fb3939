// The runtime API, for C and C++, for host and device compilers.
#pragma once
#include "kernelift/version.h"
#include "kernelift/qualifiers.h"
#include "kernelift/runtime/device.h"
#include "kernelift/runtime/execution.h"
#include "kernelift/runtime/graph.h"
#include "kernelift/runtime/memory.h"
#include "kernelift/runtime/stream.h"
#include "kernelift/runtime/texture.h"
