#!/bin/bash
# Prints a table in Markdown: llvm-mca's figures for the main loops of NEON's kernels for bytes and for single bits, and
# for the loops that clang makes of neon-permute.h.
#
#	bench/neon-permute-mca.sh > bench/neon-permute-mca.md
#
# It needs Go and Debian's clang-19 and llvm-19.
set -euo pipefail
cd "$(dirname "$0")"

. ./neon-mca-common.sh

for cpu in $cpus; do compile $cpu < neon-permute.h; done

cat <<END
# NEON's kernels for bytes and single bits, modelled

Each cell has the cycles that 16 pixels, samples, words or bytes of bits take, ours / clang's. Our loop is the loop of
permuteNEON, gatherOnesNEON or scatterOnesNEON that does the job. Clang's loop is the code that clang -O3 makes of the plain
loop in neon-permute.h for that processor, with NEON. llvm-mca models the processors, with all operands in the first-level
cache. Nothing was measured. The figures leave out the tables that Go makes for each call.

Made by bench/neon-permute-mca.sh, with $(versions).

END
heading job
# Name, C function, bytes that it stores for a group; of our loop the bytes that it stores for a group, then the
# kernel. For permuteNEON also the sources of a step, and of a turn the single loads and the paired stores.
while IFS=: read -r name symbol bytes stored kernel sources loads pairs; do
	printf '| %s |' "$name"
	for cpu in $cpus; do
		ours=$(cycles $cpu "$tmp/ours.o" $kernel longest $stored $sources $loads $pairs)
		clang=$(cycles $cpu "$tmp/$cpu.o" $symbol longest $bytes)
		printf ' %s / %s |' $ours $clang
	done
	echo
done <<END
RGB24 to RGBA:rgbToRGBA:4:4:permuteNEON:2:4:2
RGBA to RGB24:rgbaToRGB:3:4:permuteNEON:1:4:0
BGRA to RGBA, in place:swapRedBlue:4:4:permuteNEON:1:0:2
24-bit samples to 32 bits:samples24:4:4:permuteNEON:1:4:2
big-endian 64-bit words:swap64:8:8:permuteNEON:1:0:2
stereo apart, 16 bits, one side:stereoLeft:2:2:permuteNEON:2:8:2
four planes to 32-bit words:planesToWords:4:4:permuteNEON:4:4:2
[]bool to bits:boolsToBits:1:1:gatherOnesNEON
bits to []bool:bitsToBools:8:8:scatterOnesNEON
END
