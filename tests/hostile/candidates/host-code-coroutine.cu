// A coroutine.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@struct Hidden { struct promise_type {}; };
Hidden hidden() { co_return; }
