#!/bin/bash
# Prints a table in Markdown: what NEON's masked kernels pay for the jump over 64 inactive
# lanes, as llvm-mca models it.
#
#	bench/neon-masked-mca.sh > bench/neon-masked-mca.md
#
# It fails if the test costs more than 3 %. It needs Go and Debian's clang-19 and llvm-19.
set -euo pipefail
cd "$(dirname "$0")"

. ./neon-mca-common.sh
turns=200 # of hundreds of instructions each

# turn SYMBOL TESTS prints the instructions of a masked kernel for one word of the mask that has
# active lanes. If TESTS is 0, it leaves out the jump that tests the word.
turn() {
	llvm-objdump-19 -d --no-show-raw-insn --no-print-imm-hex --disassemble-symbols="$1" "$tmp/ours.o" | awk -v tests=$2 '
		/^ *[0-9a-f]+:/ {
			address = $1; sub(/:/, "", address)
			text = $0; sub(/^ *[0-9a-f]+:[ \t]*/, "", text); sub(/ *<.*>/, "", text)
			at[address] = ++n; line[n] = text
			if (text ~ /^ldr[ \t]+x[0-9]+, \[x[0-9]+\], #8$/) { word = n; split(text, part, /[ \t,]+/); active = part[2] }
		}
		function target(i) { match(line[i], /0x[0-9a-f]+/); return at[substr(line[i], RSTART + 2, RLENGTH - 2)] }
		function show(from, to,    i, s) {
			for (i = from; i <= to; i++) {
				s = line[i]; sub(/ 0x[0-9a-f]+$/, " word", s)
				if (i != test || tests) print s
			}
		}
		END {
			for (i = word; i <= n && !last; i++) {
				if (!test && line[i] ~ "^cbz[ \t]+" active ",") test = i
				if (test && !lanes && line[i] ~ /^subs/) { lanes = line[i]; sub(/.*#/, "", lanes) }
				if (test && line[i] ~ /^b\.ge/ && target(i) < i) { head = target(i); back = i }
				if (line[i] ~ /^cbnz/ && target(i) == word) last = i
			}
			if (!word || !test || !last || lanes < 64 && !back) exit 1
			print "word:"
			if (!back) show(word, last)
			else {
				show(word, head - 1)
				for (t = 0; t < 64 / lanes; t++) show(head, back)
				show(back + 1, last)
			}
		}'
}

# cost CPU SYMBOL TESTS prints the cycles of a word of the mask.
cost() {
	turn "$2" $3 > "$tmp/turn" || { echo "no loop over words of a mask in $2" >&2; return 1; }
	llvm-mca-19 -mtriple=aarch64-linux-gnu -mcpu="$1" -iterations=$turns "$tmp/turn" |
		awk -v turns=$turns '/^Total Cycles:/ { printf "%.2f", $3 / turns }'
}

cat <<END
# The jump over inactive lanes in NEON's masked kernels, modelled

Each cell has the cycles that 64 lanes take in the main loop, with / without the jump over
inactive lanes. Some of the 64 lanes are active, so nothing is jumped over. llvm-mca models
the processors, with all operands in the first-level cache and every jump predicted.
Nothing was measured.

Made by bench/neon-masked-mca.sh, with $(versions).

END
heading function
status=0
while IFS=: read -r name symbol; do
	for bits in 8 16 32 64; do
		printf '| %s, %d bits |' "$name" $bits
		for cpu in $cpus; do
			with=$(cost $cpu "$symbol${bits}NEON" 1)
			without=$(cost $cpu "$symbol${bits}NEON" 0)
			printf ' %s / %s |' $with $without
			if awk "BEGIN { exit !($with > 1.03 * $without) }"; then
				echo "$name of $bits bits on $cpu: $with cycles, want at most 3 % more than $without" >&2
				status=1
			fi
		done
		echo
	done
done <<END
InsertMasked:insertMasked
InsertEachMasked:insertEachMasked
FillMasked:fillMasked
SelectMasked:selectMasked
ExtractMasked:extractMasked
ExtractEachMasked, unsigned:extractEachMaskedUnsigned
ExtractEachMasked, signed:extractEachMaskedSigned
END
exit $status
