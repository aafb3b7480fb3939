// A macro named std.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define std evil
namespace evil { using namespace ::std; }
