// Asks whether a file exists, in a directive spelled by a digraph.
//! kind probes
//! kernel map
//! devices both
//! must refused compile_failed
%:if __has_include("@SECRET@")
%:error there
%:endif
@KERNEL@