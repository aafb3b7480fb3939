# No compile database, an empty one, a damaged one, one that names a missing file, one whose source does not parse.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
expect_exit 3 "$KL" scan
expect_says "kernelift build"
expect_brief
echo '[]' > empty.json
expect_exit 3 "$KL" scan -p empty.json
expect_says "empty.json"; expect_brief
echo '[{"directory": "/", "fi' > broken.json
expect_exit 3 "$KL" scan -p broken.json
expect_says "broken.json"; expect_brief
echo "[{\"directory\":\"$PWD\",\"file\":\"gone.cu\",\"arguments\":[\"nvcc\",\"-c\",\"gone.cu\"]}]" > stale.json
expect_exit 3 "$KL" scan -p stale.json
expect_says "gone.cu"
printf '__global__ void good(int* p) { *p = 1; }\n' > good.cu
printf '__global__ void bad(int* p) { *p = ; }\n' > bad.cu
echo "[{\"directory\":\"$PWD\",\"file\":\"good.cu\",\"arguments\":[\"nvcc\",\"-c\",\"good.cu\"]},
       {\"directory\":\"$PWD\",\"file\":\"bad.cu\",\"arguments\":[\"nvcc\",\"-c\",\"bad.cu\"]}]" > half.json
expect_exit 0 "$KL" scan -p half.json
expect_says "good"
expect_says "bad.cu"
