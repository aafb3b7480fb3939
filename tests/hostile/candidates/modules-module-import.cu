// Imports a header unit.
//! kind modules
//! kernel map
//! devices both
//! must refused compile_failed
import "@SECRET@";
@KERNEL@