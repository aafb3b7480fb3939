// A pass that starts a viewer.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"passes": "function(view-cfg)"}
@KERNEL@