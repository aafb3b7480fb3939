// A compiler option that reads a profile.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-pgo-test-profile-file=@SECRET@"], "passes": "pgo-instr-use"}
@KERNEL@