# A few of the kills of scripts/kill-test, which says what is checked after each. The whole is run by hand.
. "$(dirname "$0")/common.sh" "$@"
TMPDIR=$WORK "$SRC/scripts/kill-test" --bin "$BIN" --kills 5 --seed 3 --verbs apply,record || fail "see above"
