// A pipeline that does not end.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"passes": "function(loop(function(loop(cgscc(module("}
@KERNEL@