# Usage errors exit with 2 and name what was wrong; --help shows an example for every verb.
. "$(dirname "$0")/common.sh" "$@"
expect_exit 2 "$KL"
expect_exit 2 "$KL" nonsense
expect_exit 2 "$KL" tune
expect_exit 2 "$KL" scan --device gameboy
expect_says "gameboy"
for verb in doctor scan build record extract replay tune apply optimize report simulate export; do
  expect_exit 0 "$KL" $verb --help
  expect_says "Example:"
done
