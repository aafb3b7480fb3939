# Usage errors exit with code 2 and name what is wrong; --help shows an example for every verb.
. "$(dirname "$0")/common.sh" "$@"
expect_exit 2 "$KL"
expect_exit 2 "$KL" nonsense
expect_says "there is no verb 'nonsense'"; expect_brief 1
expect_exit 2 "$KL" tune
expect_says "MEP"; expect_brief 1
expect_exit 2 "$KL" scan --device gameboy
expect_says "gameboy"; expect_brief 1
# Options that the last step of optimize would refuse are refused before the first step.
expect_exit 2 "$KL" optimize --build 'touch built' --run ./app --embed perhaps
expect_says "--embed is never, auto or only, not 'perhaps'"
expect_exit 2 "$KL" optimize --device cpu --build 'touch built' --run ./app --embed only
expect_says "this is the CPU device"
expect_exit 2 "$KL" optimize --device cpu --build 'touch built' --run ./app --time 4
expect_says "at least 5 s"
expect_exit 2 "$KL" optimize --device cpu --build 'touch built' --run ''
expect_says "--run needs a command"
[ ! -e built ] || fail "the application was built in spite of the usage error"
for verb in doctor scan build record extract replay evaluate tune apply optimize report simulate export; do
  expect_exit 0 "$KL" $verb --help
  expect_says "Example:"
done
