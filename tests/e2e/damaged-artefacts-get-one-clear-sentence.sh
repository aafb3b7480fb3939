# Captures, MEPs and runs that are truncated, corrupted or of a newer version: one sentence that names the file, and no crash.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody 1024 6
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out mep
expect_exit_in "0 1" "$KL" tune mep --evals 4 --device cpu
RUN=$(ls .kernelift/runs/*.klrun | head -1)

cp -r mep cut && truncate -s 100 cut/mep.json
expect_exit 3 "$KL" replay cut; expect_says "mep.json"; expect_brief
cp -r mep flip && for f in flip/data/*.bin; do printf '\xff' | dd of="$f" bs=1 seek=5 conv=notrunc status=none; done
expect_exit 3 "$KL" replay flip; expect_says "data/"; expect_brief
cp -r mep future && sed -i 's/"version": *[0-9]*/"version": 99/; s/"oldest_reader": *1/"oldest_reader": 99/' future/mep.json
expect_exit 3 "$KL" replay future; expect_says "newer Kernelift"; expect_brief

cp -r .kernelift/capture saved
truncate -s 64 .kernelift/capture/blobs.klb
expect_exit 3 "$KL" extract "$KERNEL" --out other; expect_says "blobs.klb"; expect_brief
rm -rf .kernelift/capture && cp -r saved .kernelift/capture
echo garbage > .kernelift/capture/manifest.json
# The damaged file is named, and with it is lost which of several launches are held out.
expect_exit 3 "$KL" extract "$KERNEL" --out other; expect_says "warning: the capture is damaged"; expect_says "manifest.json"
expect_says "held out for verification is lost"
# Without one, as after a kill, the launches are used.
rm .kernelift/capture/manifest.json
expect_exit 0 "$KL" extract "$KERNEL" --out other

head -c 3000 "$RUN" > cut.klrun
expect_exit 3 "$KL" report cut.klrun -o x.html; expect_says "cut.klrun"; expect_brief
echo "not a database" > text.klrun
expect_exit 3 "$KL" export text.klrun --to json; expect_says "text.klrun"; expect_brief

# A value that was changed is damage, whatever it says; so is a checksum that was taken away. A MEP that is asked for by its
# kernel's name is not called missing.
sed 's/"microseconds": [0-9.]*/"microseconds": 1/' mep/mep.json > changed.json
cp -r mep changed && cp changed.json changed/mep.json
expect_exit 3 "$KL" replay changed; expect_says "mep.json is damaged: its checksum does not match; extract the MEP again"; expect_brief
cp -r mep unsummed && sed -i '/"checksum"/d' unsummed/mep.json
expect_exit 3 "$KL" replay unsummed; expect_says "is damaged: its checksum is missing"; expect_brief
cp -r mep before && sed -i '/"checksum"/d; s/"version": *[0-9]*/"version": 1/' before/mep.json
expect_exit 0 "$KL" replay before --device cpu
mkdir -p .kernelift/mep && rm -rf .kernelift/mep/* && cp -r changed .kernelift/mep/lost-1
expect_exit 3 "$KL" replay "$KERNEL"; expect_says "lost-1/mep.json is damaged: its checksum does not match"; expect_brief 3
expect_exit 3 "$KL" replay lost-1; expect_says "lost-1/mep.json is damaged: its checksum does not match"; expect_brief 1
for wrong in '"block": *\[[^]]*\]/"block": [0,1,1]' '"grid": *\[[^]]*\]/"grid": [-1,1,1]' '"size": *[0-9]*/"size": -1'; do
  python3 - "$wrong" <<'P'
import json, re, sys
document = json.load(open("mep/mep.json"))
del document["checksum"]
document["version"] = 1
pattern, value = sys.argv[1].split("/")
json.dump(json.loads(re.sub(pattern, value, json.dumps(document), count=1)), open("before/mep.json", "w"))
P
  expect_exit 3 "$KL" replay before; expect_says "before/mep.json"; expect_brief 1
done
sed -i '0,/"line": [0-9]*/s//"line": 1/' .kernelift/scan.json
expect_exit 3 "$KL" extract "$KERNEL" --out other; expect_says "scan.json is damaged: its checksum does not match; run kernelift scan again"; expect_brief
expect_exit 0 "$KL" scan
# Which launches are held out for verification is in the manifest: where that is lost, none would be.
rm -rf .kernelift/capture && cp -r saved .kernelift/capture
sed -i 's/"held_out": true/"held_out": false/' .kernelift/capture/manifest.json
cmp -s saved/manifest.json .kernelift/capture/manifest.json && fail "no launch is held out in this capture"
expect_exit 3 "$KL" extract "$KERNEL" --out other; expect_says "held out for verification is lost"; expect_says "its checksum does not match"; expect_says "record again"
