#!/usr/bin/env bash
# Records the spaces of tilewright-recordings on this machine, some minutes each, for a quiet hour:
#
#     benchmarks/record_spaces.sh FOLDER            # all of them; what is there already is left as it is
#     benchmarks/record_spaces.sh FOLDER softmax    # those whose name begins so
#     COUNT=1 benchmarks/record_spaces.sh FOLDER    # how many configs each has
#     PASSES=3 benchmarks/record_spaces.sh FOLDER   # on a host that others share
#
# Then `uv run tilewright bench tuners --spaces FOLDER`, and the files `*.space.json` and `*.records.jsonl.gz` may be moved to
# plugins/recordings/src/tilewright_recordings/data. Names end in the machine's, so that two machines' spaces lie side by side.
set -euo pipefail
folder=$1 wanted=${2:-} machine=${MACHINE:-$(uname -m)}

record() { # NAME TASK OPTIONS...
    local name=$1-$machine
    case $name in "$wanted"*) ;; *) return 0 ;; esac
    if [ -e "$folder/$name.space.json" ]; then return 0; fi
    shift
    uv run tilewright bench record "$1" "$name" --target x86:threads=1 --out "$folder" ${COUNT:+--count} --passes "${PASSES:-1}" "${@:2}"
}

few=(--keep prefetch_bytes=1 --keep order=2 --keep unroll=2) # what matters least, so that tiles may have more values

record conv3x3 'conv2d(1x128x28x28, 128x128x3x3, padding=1)' --strategies 'conv2d_*.x86*'
record conv3x3-derived 'conv2d(1x64x28x28, 128x64x3x3, padding=1, strides=2)' --strategies 'derived.x86/fused-1' \
    "${few[@]}" --keep layouts=2 --keep tile_oc=6 --keep tile_oh=5 --keep tile_ow=6 --keep tile_ic=3 \
    --keep tile_kh=1 --keep tile_kw=2 --keep pad.at=1
record pointwise 'conv2d(1x64x56x56, 256x64x1x1)' --strategies 'conv2d_direct.x86'
record pointwise-derived 'conv2d(1x256x14x14, 1024x256x1x1)' --strategies 'derived.x86/fused-1' \
    "${few[@]}" --keep layouts=3 --keep tile_oc=10 --keep tile_oh=5 --keep tile_ow=5 --keep tile_ic=4
record winograd 'conv2d(1x64x56x56, 256x64x3x3, padding=1)' --strategies 'conv2d_winograd.x86*'
record depthwise3x3 'conv2d(1x128x28x28, 128x1x3x3, padding=1, groups=128)' \
    "${few[@]}" --keep layouts=2 --keep tile_oc=4 --keep tile_oh=4 --keep tile_ow=5 --keep tile_kh=1
record depthwise5x5 'conv2d(1x96x56x56, 96x1x5x5, padding=2, strides=2, groups=96)' \
    "${few[@]}" --keep layouts=2 --keep tile_oc=4 --keep tile_oh=4 --keep tile_ow=5 --keep tile_kh=1
record product 'matmul(384x384, 384x384)' --strategies 'derived.x86/fused-1' \
    --keep tile_n=14 --keep tile_c=9 --keep tile_k=6
record batch-product 'matmul(12x128x64, 12x64x128)' --strategies 'derived.x86/fused*' \
    --keep tile_n=10 --keep tile_c=8 --keep tile_w=2 --keep tile_k=6 --keep unroll=2
record dense 'dense(128x768, 768x768)' \
    --keep tile_n=12 --keep tile_o=10 --keep tile_k=4 --keep prefetch_bytes=2 --keep unroll=2 --keep order=1
record softmax 'softmax(1x64x28x28, axis=1)' --strategies 'derived.x86*' --keep layouts=6
record max-pool 'max_pool2d(1x64x112x112, pool_size=3, strides=2, padding=1)' \
    --keep layouts=4 --keep tile_c=5 --keep tile_oh=9 --keep tile_ow=9 --keep unroll=2 --keep pad.at=1
