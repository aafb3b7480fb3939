// Includes a file, the directive spelled by a digraph.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
%:include "@SECRET@"
@KERNEL@