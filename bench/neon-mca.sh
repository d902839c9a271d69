#!/bin/bash
# Prints a table in Markdown: the main loops of the NEON kernels, as llvm-mca models
# them, next to what clang makes of the loops in neon-mca.h.
#
#	bench/neon-mca.sh > bench/neon-mca.md
#
# It fails if one of ours is slower, or if InsertEach is not faster. It needs Go and
# Debian's clang-19 and llvm-19.
set -euo pipefail
cd "$(dirname "$0")"

cpus="neoverse-n1 neoverse-v1 neoverse-v2 apple-m1"
turns=1000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The assembled kernels, as an object file that LLVM reads.
GOARCH=arm64 go tool asm -p bfi -I "$(go env GOROOT)/pkg/include" -o "$tmp/go.o" ../bfi_arm64.s
go tool objdump "$tmp/go.o" | awk '
	/^TEXT/ { name = $2; sub(/\(SB\)/, "", name); sub(/.*\./, "", name); printf ".type %s, %%function\n%s:\n", name, name }
	length($3) == 8 && $2 ~ /^0x/ { print ".inst 0x" $3 }' |
	clang-19 --target=aarch64-linux-gnu -x assembler -c -o "$tmp/ours.o" -

# compile CPU compiles the C loops.
compile() {
	# NEON is compared with NEON, so processors with SVE must not use it.
	local flags=-mcpu=$1
	case $1 in neoverse-v*) flags+=+nosve ;; esac
	{
		printf '#include <stddef.h>\n#include <stdint.h>\n'
		for bits in 32 64; do
			printf '#define T uint%d_t\n#define S int%d_t\n#define BITS %d\n#define NAME(f) f##_%d\n' $bits $bits $bits $bits
			printf '#include "neon-mca.h"\n#undef T\n#undef S\n#undef BITS\n#undef NAME\n'
		done
	} | clang-19 --target=aarch64-linux-gnu -ffreestanding -O3 "$flags" -I. -x c -c -o "$tmp/$1.o" -
}

# loop FILE SYMBOL LENGTH prints the function's innermost loop that stores most in one
# turn. The first line is the number of bytes that it stores. If several loops store
# as much, LENGTH says whether to print the longest or the shortest: clang has shorter
# loops for empty fields, and ours has shorter loops for unsigned fields.
loop() {
	llvm-objdump-19 -d --no-show-raw-insn --no-print-imm-hex --disassemble-symbols="$2" "$1" | awk -v which=$3 '
		/^ *[0-9a-f]+:/ {
			address = $1; sub(/:/, "", address)
			text = $0; sub(/^ *[0-9a-f]+:[ \t]*/, "", text); sub(/ *\/\/.*/, "", text)
			at[address] = ++n; line[n] = text
		}
		END {
			for (i = 1; i <= n; i++) {
				if (line[i] !~ /^(b|b\.[a-z]+|cbn?z|tbn?z)[ \t]/) continue
				match(line[i], /0x[0-9a-f]+/)
				start = at[substr(line[i], RSTART + 2, RLENGTH - 2)]
				if (start == 0 || start > i || start <= previous) { previous = i; continue }
				previous = i
				bytes = 0
				for (j = start; j < i; j++) {
					if (line[j] !~ /^(str|stp|stur)[ \t]/) continue
					split(line[j], part, /[ \t,]+/)
					size = substr(part[2], 1, 1) == "q" ? 16 : substr(part[2], 1, 1) ~ /[dx]/ ? 8 : 4
					bytes += part[1] == "stp" ? 2 * size : size
				}
				longer = which == "longest" ? i - start > to - from : i - start < to - from
				if (bytes > best || bytes == best && longer) { best = bytes; from = start; to = i }
			}
			if (!best) exit 1
			print best
			print "loop:"
			for (i = from; i < to; i++) print line[i]
			branch = line[to]; sub(/0x.*/, "loop", branch); print branch
		}'
}

# cycles CPU FILE SYMBOL LENGTH BYTES prints the cycles that 16 lanes take.
cycles() {
	local bytes total
	loop "$2" "$3" $4 > "$tmp/loop" || { echo "no loop in $3" >&2; return 1; }
	bytes=$(head -1 "$tmp/loop")
	total=$(tail -n +2 "$tmp/loop" | llvm-mca-19 -mtriple=aarch64-linux-gnu -mcpu="$1" -iterations=$turns |
		awk '/^Total Cycles:/ { print $3 }')
	awk -v total="$total" -v turns=$turns -v lanes=$((bytes / $5)) 'BEGIN { printf "%.2f", total / turns * 16 / lanes }'
}

cat <<END
# NEON kernels, modelled

The table has cycles per 16 lanes of the main loop, ours / clang's. Ours are
llvm-mca's figures for this library's assembly. Clang's are its figures for what
clang -O3 makes of the plain loops in neon-mca.h for that processor, with NEON.
llvm-mca models the processors, with all operands in the first-level cache.
Nothing was measured.

The C has no branches, so clang can vectorize it. The order of our instructions was
chosen among several by this model. Take rows that differ by a few hundredths as
equal: a longer unrolled loop saves that much on its own counting.

The warp functions have no row, because clang leaves their loop scalar.

Made by bench/neon-mca.sh, with $(clang-19 --version | sed -n '1s/.*version \([0-9.]*\).*/clang \1/p') and $(llvm-mca-19 --version | sed -n 's/.*LLVM version \([0-9.]*\).*/llvm-mca \1/p').

END
printf '| function |'; for cpu in $cpus; do printf ' %s |' $cpu; done
printf '\n| --- |'; for cpu in $cpus; do printf ' ---: |'; done
echo
for cpu in $cpus; do compile $cpu; done
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
