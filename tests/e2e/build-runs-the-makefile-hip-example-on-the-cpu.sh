# A Makefile HIP application builds through the hipcc wrapper and passes its check.
. "$(dirname "$0")/common.sh" "$@"
example hip-filter
expect_exit 0 "$KL" build --device cpu -- make -j2
expect_exit 0 make check
expect_says PASSED
