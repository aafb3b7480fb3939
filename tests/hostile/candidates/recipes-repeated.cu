// A pass repeated a billion times.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"passes": "repeat<1000000000>(function(instcombine))"}
@KERNEL@