#!/bin/bash
# Prints a table in Markdown: llvm-mca's figures for the main loops of the NEON kernels,
# and for the loops that clang makes of neon-mca.h.
#
#	bench/neon-mca.sh > bench/neon-mca.md
#
# It fails if a loop of ours is slower than clang's, or if InsertEach is not faster. It
# needs Go and Debian's clang-19 and llvm-19.
set -euo pipefail
cd "$(dirname "$0")"

. ./neon-mca-common.sh

# loops prints the C loops for words of 32 and of 64 bits.
loops() {
	printf '#include <stddef.h>\n#include <stdint.h>\n'
	for bits in 32 64; do
		printf '#define T uint%d_t\n#define S int%d_t\n#define BITS %d\n#define NAME(f) f##_%d\n' $bits $bits $bits $bits
		printf '#include "neon-mca.h"\n#undef T\n#undef S\n#undef BITS\n#undef NAME\n'
	done
}

cat <<END
# NEON kernels, modelled

Each cell has the cycles that 16 lanes take in the main loop, ours / clang's. Our loops
are this library's assembly. Clang's loops are the code that clang -O3 makes of the plain
loops in neon-mca.h for that processor, with NEON. llvm-mca models the processors, with
all operands in the first-level cache. Nothing was measured.

The C loops have no branches, so clang can vectorize them. We chose the order of our
instructions among several by this model. If two figures differ by a few hundredths, take
them as equal: a loop that is unrolled further saves that much on counting.

The warp functions have no row, because clang leaves their loop scalar.

Made by bench/neon-mca.sh, with $(versions).

END
heading function
for cpu in $cpus; do loops | compile $cpu; done
status=0
while IFS=: read -r name ours length symbol; do
	for bits in 32 64; do
		printf '| %s, %d bits |' "$name" $bits
		for cpu in $cpus; do
			a=$(cycles $cpu "$tmp/ours.o" "${ours//BITS/$bits}NEON" $length $((bits / 8)))
			b=$(cycles $cpu "$tmp/$cpu.o" "${symbol}_$bits" longest $((bits / 8)))
			printf ' %s / %s |' $a $b
			if awk "BEGIN { exit !($a > $b || \"$name\" == \"InsertEach\" && $a >= $b) }"; then
				echo "$name of $bits bits on $cpu: $a cycles, want no more than clang's $b" >&2
				status=1
			fi
		done
		echo
	done
done <<END
Insert:insert:longest:insert
InsertEach:insertEachBITS:longest:insertEach
Fill:fill:longest:fill
Select:selectBits:longest:selectBits
Extract, unsigned:extractBITS:shortest:extractUnsigned
Extract, signed:extractBITS:longest:extractSigned
ExtractEach, unsigned:extractEachUnsignedBITS:longest:extractEachUnsigned
ExtractEach, signed:extractEachSignedBITS:longest:extractEachSigned
END
exit $status
