// A pipeline that leaves code that no longer verifies.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"passes": "strip-dead-prototypes,globalopt,internalize,globaldce"}
@KERNEL@