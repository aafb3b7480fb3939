// A pass that writes drawings into the working folder.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"passes": "function(dot-cfg),dot-callgraph"}
@KERNEL@